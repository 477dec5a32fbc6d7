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
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

var _ cloud.Placer = Provider{}

// Inherits names the cluster of Cluster API Provider Azure.
func (Provider) Inherits() schema.GroupKind {
	return schema.GroupKind{Group: "infrastructure.cluster.x-k8s.io", Kind: "AzureCluster"}
}

// Resolve fills in from the AzureCluster what the spec leaves out.
func (Provider) Resolve(m *infrav1.WindowsMachine, azureCluster *unstructured.Unstructured) (*infrav1.AzurePlacement, error) {
	if !m.DeletionTimestamp.IsZero() {
		return rightsOf(azureCluster)
	}
	where, err := placement.Resolve(m.Spec.Azure, m.Spec.ProviderID, azureCluster)
	if err != nil {
		return nil, err
	}
	identity, err := placement.IdentityOf(azureCluster)
	if err != nil {
		return nil, err
	}
	return &infrav1.AzurePlacement{
		Cloud: where.Cloud, SubscriptionID: where.Group.Subscription, ResourceGroup: where.Group.Group, Location: where.Location,
		SubnetIDs: where.Subnets, SecurityGroupID: where.SecurityGroup, RouteTableID: where.RouteTable,
		LoadBalancerName: where.Balancer, OutboundPoolID: where.OutboundPool, FailureDomains: where.FailureDomains,
		Tags:     tagsOf[infrav1.AzureTagValue](where.Tags),
		Identity: infrav1.AzureIdentity{Namespace: identity.Namespace, Name: identity.Name},
	}, nil
}

// rightsOf is what an AzureCluster, which may have lost all else, says of a machine that lost its status.
func rightsOf(azureCluster *unstructured.Unstructured) (*infrav1.AzurePlacement, error) {
	identity, err := placement.IdentityOf(azureCluster)
	if err != nil {
		return nil, err
	}
	at, err := placement.CloudOf(azureCluster)
	return &infrav1.AzurePlacement{
		Cloud: at, Identity: infrav1.AzureIdentity{Namespace: identity.Namespace, Name: identity.Name},
	}, err
}

// placementOf is where the VM goes, as its status says; a spec that says all needs no status.
func placementOf(m cloud.Machine) (placement.Placement, error) {
	at := m.Place.Azure
	if at == nil {
		return placement.Resolve(m.Spec.Azure, m.ProviderID, nil)
	}
	return placement.Placement{
		Cloud: at.Cloud, Group: arm.GroupID(at.SubscriptionID, at.ResourceGroup), Location: at.Location, Subnets: at.SubnetIDs,
		SecurityGroup: at.SecurityGroupID, RouteTable: at.RouteTableID, Balancer: at.LoadBalancerName,
		OutboundPool: at.OutboundPoolID, FailureDomains: at.FailureDomains, Tags: tagsOf[string](at.Tags),
	}, nil
}

// tagsOf are the same tags with values of another type.
func tagsOf[T, S ~string](tags map[string]S) map[string]T {
	if tags == nil {
		return nil
	}
	all := make(map[string]T, len(tags))
	for name, value := range tags {
		all[name] = T(value)
	}
	return all
}

// IsTenantID says whether a text names a tenant by its ID and not by a domain, as a file for the cloud's programs needs it.
func IsTenantID(text string) bool { return login.IsID(text) }

// Lend has namespaces use identities that the manager proves by itself, as the operator's entries say.
func (p Provider) Lend(entries []string) (Provider, error) {
	loans, err := placement.ReadLoans(entries)
	if err != nil {
		return p, err
	}
	for _, name := range loans.Clouds() {
		if _, known := p.Book.Named(name); !known {
			return p, fmt.Errorf("the cloud %s is not known; use one of %s", name, strings.Join(p.Book.Names(), ", "))
		}
	}
	p.loans = loans
	return p, nil
}

// Allow says whose credentials a machine may use.
func (p Provider) Allow(by cloud.Asker, identity *unstructured.Unstructured) (cloud.Grant, error) {
	grant, err := placement.Own(by, &placement.Allowed{List: append([]string{}, p.Namespaces...)})
	if identity != nil {
		var of placement.Identity
		if of, err = placement.ReadIdentity(identity); err == nil {
			grant, err = placement.Use(by, of, p.loans)
		}
	}
	if err != nil {
		return cloud.Grant{}, err
	}
	return cloud.Grant{
		Proof: string(grant.Proof), ClientID: grant.ClientID, TenantID: grant.TenantID,
		Secret: cloud.Key{Namespace: grant.SecretNamespace, Name: grant.SecretName}, Cloud: grant.Cloud,
		AskedBy: grant.AskedBy, AskedCloud: grant.AskedCloud,
	}, nil
}

// As is the provider with the rights of a grant.
func (p Provider) As(grant cloud.Grant) cloud.Provider {
	p.grant = grant
	return p
}

// signIn makes a principal of the Secret of the grant, or of nothing if the proof is the manager's own. Without a grant it is a
// Secret of the machine's own namespace.
func (p Provider) signIn(secret map[string][]byte) (calls.Principal, error) {
	if p.login != nil {
		return p.login(secret)
	}
	grant := placement.OwnSecret(cloud.Asker{}, "")
	if p.grant.Proof != "" {
		grant = placement.Grant{
			Proof: placement.Proof(p.grant.Proof), ClientID: p.grant.ClientID, TenantID: p.grant.TenantID,
			SecretNamespace: p.grant.Secret.Namespace, SecretName: p.grant.Secret.Name,
			AskedBy: p.grant.AskedBy, AskedCloud: p.grant.AskedCloud,
		}
	}
	who, err := login.Open(login.Request{Grant: grant, Secret: secret, Cloud: cmp.Or(p.grant.Cloud, p.Cloud), Book: p.Book})
	if err != nil {
		return calls.Principal{}, err
	}
	return calls.Principal{
		Credential: who.Credential, Cloud: who.Cloud.Configuration(), Transport: who.Transport, Name: who.Name(), Tenant: who.TenantID,
		Chosen: who.Cloud.Chosen(), ComputeVersion: who.Cloud.ComputeAPIVersion, BootLog: who.BootLog, Caller: who.Caller,
	}, nil
}
