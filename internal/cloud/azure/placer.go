package azure

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

var _ cloud.Placer = Provider{}

// Inherits names the cluster of Cluster API Provider Azure.
func (Provider) Inherits() schema.GroupKind {
	return schema.GroupKind{Group: "infrastructure.cluster.x-k8s.io", Kind: "AzureCluster"}
}

// Resolve fills in from the AzureCluster what the spec leaves out.
func (Provider) Resolve(m *infrav1.WindowsMachine, azureCluster *unstructured.Unstructured) (err error) {
	if !m.DeletionTimestamp.IsZero() {
		m.Status.Azure, err = rightsOf(azureCluster)
		return err
	}
	resolved, err := placement.Resolve(m.Spec.Azure, m.Spec.ProviderID, azureCluster)
	if err != nil {
		return err
	}
	identity, err := placement.IdentityOf(azureCluster)
	if err != nil {
		return err
	}
	resolved.Identity = infrav1.AzureIdentity{Namespace: identity.Namespace, Name: identity.Name}
	m.Status.Azure = &resolved
	return nil
}

// rightsOf is the cloud and the identity that an AzureCluster, which may have lost all else, names for a machine that lost its
// status.
func rightsOf(azureCluster *unstructured.Unstructured) (*infrav1.AzurePlacement, error) {
	identity, err := placement.IdentityOf(azureCluster)
	if err != nil {
		return nil, err
	}
	cloudName, err := placement.CloudOf(azureCluster)
	return &infrav1.AzurePlacement{
		Cloud: cloudName, Identity: infrav1.AzureIdentity{Namespace: identity.Namespace, Name: identity.Name},
	}, err
}

// placementOf is where the VM goes, as its status has it; a complete spec needs no status.
func placementOf(m cloud.Machine) (infrav1.AzurePlacement, error) {
	if m.Status.Azure != nil {
		return *m.Status.Azure, nil
	}
	return placement.Resolve(m.Spec.Azure, m.ProviderID, nil)
}

// IsTenantID reports whether a text names a tenant by its ID and not by a domain, as a file for the cloud's programs needs it.
func IsTenantID(text string) bool { return login.IsID(text) }

// Lend lets namespaces use identities that the manager proves by itself, as the operator's entries allow.
func (p Provider) Lend(entries []string) (Provider, error) {
	loans, err := placement.ReadLoans(entries)
	if err != nil {
		return p, err
	}
	for _, name := range loans.Clouds() {
		if _, ok := p.Book.Named(name); !ok {
			return p, fmt.Errorf("the cloud %s is not defined; use one of %s", name, strings.Join(p.Book.Names(), ", "))
		}
	}
	p.loans = loans
	return p, nil
}

// Allow returns whose credentials a machine may use.
func (p Provider) Allow(asker cloud.Asker, identity *unstructured.Unstructured) (cloud.Grant, error) {
	grant, err := placement.OwnIdentity(asker, &placement.Allowed{List: append([]string{}, p.Namespaces...)})
	if identity != nil {
		var parsed placement.Identity
		if parsed, err = placement.ReadIdentity(identity); err == nil {
			grant, err = placement.Use(asker, parsed, p.loans)
		}
	}
	if err != nil {
		return cloud.Grant{}, err
	}
	return cloud.Grant(grant), nil
}

// As is the provider with the rights of a grant.
func (p Provider) As(grant cloud.Grant) cloud.Provider {
	p.grant = grant
	return p
}

// signIn makes a principal of the Secret of the grant, or of nothing if the proof is the manager's own. Without a grant it is a
// Secret of the machine's own namespace.
func (p Provider) signIn(secret map[string][]byte) (*login.Principal, error) {
	if p.login != nil {
		return p.login(secret)
	}
	grant := placement.Grant(p.grant)
	if grant.Proof == "" {
		grant = placement.OwnSecret(cloud.Asker{}, "")
	}
	return login.Open(login.Request{Grant: grant, Secret: secret, Cloud: cmp.Or(p.grant.Cloud, p.Cloud), Book: p.Book})
}

// begin begins with what counts of the machine at this account's server, if its namespace may have its group and its location. A
// machine that may have a VM, or is deleted, is not refused: of its location nothing is remembered then, and for its group there
// is room for as many again, for which it waits.
func (a *account) begin(m cloud.Machine, vm arm.ID, want next.Goal) (*pursuit, error) {
	m = a.atServer(m)
	user := lists.User{
		Namespace: m.Key.Namespace, Holds: a.mayHold(m, want), Limits: a.limits, Notices: a.notices, Instant: a.now(),
		Busy: func(scope string) bool { return len(a.ledger.keys(scope)) > 0 },
	}
	scope, ok := a.lists.Enter(vm.Parent(), user)
	switch {
	case !ok && user.Holds:
		return nil, cloud.LaterIn(lists.PassedFor, "waiting until machines in other resource groups are gone")
	case !ok:
		return nil, a.tooMany(user.Namespace, tenants.Groups, "resource groups")
	}
	p := &pursuit{account: a, m: m, vm: vm, scope: scope}
	if p.cache, ok = a.sizes.enter(p.region(), user); !ok && !user.Holds {
		return nil, a.tooMany(user.Namespace, tenants.Locations, "locations")
	}
	return p, nil
}

// mayHold reports whether a machine may have a VM, or is deleted.
func (a *account) mayHold(m cloud.Machine, want next.Goal) bool {
	w := a.ledger.recall(m)
	asked := w.Put.Answer == next.Accepted || w.Put.Answer == next.Lost || w.existed
	return want == next.Gone || m.Asked != cloud.NeverAsked || asked || m.Record.Azure.VMID != ""
}

func (a *account) tooMany(namespace string, kind tenants.Kind, things string) *cloud.Error {
	return cloud.Errorf(cloud.Exhausted, infrav1.TooManyPlacesReason,
		"the machines of namespace %s already use %d %s of one cloud account, the limit of a namespace: use one of these for this "+
			"machine, or delete all machines of another; the operator may allow more by the manager's flag --tenants",
		namespace, a.limits.Allowed(namespace, kind), things)
}
