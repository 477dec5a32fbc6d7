// Package azure makes the VMs of WindowsMachines in Azure, with one request for each.
//
// An account is a principal in a cloud. It lists the VMs of each resource group for all machines, and asks about a single VM only
// when it is missing or failed. Which machine a VM belongs to is written on it; what this process remembers only saves calls, or
// makes it more careful. To follow one machine, read:
//
//	provider.go    Identify, Check, Connect: the door
//	account.go     Observe, Ensure, Delete: gather, decide, do; Server
//	survey.go      pursuit, which has the machine, and gather: what is known of it; the looks at one VM, and the search for one
//	               that was moved
//	next/          decide: all rules, from what is known to the next step
//	calls/         what we ask of Azure, one call at a time, and what its answers mean
//
// The rooms arm, placement, request, fault, limiter and skus need no visit: their package comments have their promises. Beneath
// are:
//
//	lists/         what the lists that all machines share have shown, and what deletions left of whose VM
//	refresh.go     asks for these lists and removes what is left; watch.go decides when, and sends keys
//	record.go      what is known of a machine's VM, by Azure's own IDs
//	adapters.go    adapters that are made before their VM
//	ledger.go      what this process began for each machine
//	choices.go     the sizes that Azure has no room for, and what the others can do, through the room skus
//	console.go     what a guest wrote to its console, for people
//	inspect.go     compares a spec with Azure for a person, before a machine is made, through the room inspect
//	placer.go      where a VM goes and with whose rights, through the rooms placement, clouds and login
package azure

import (
	"cmp"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// Provider is Azure.
type Provider struct {
	// Book has the clouds, and Cloud is the name of the one for the manager's own proofs; empty for the public one.
	Book  clouds.Book
	Cloud string
	// Namespaces are those that may use the manager's own identity.
	Namespaces []string
	// Manager is the UID of the management cluster.
	Manager types.UID
	// Now is the clock and Ticks is when a watch looks at what is due, with a way to stop; both of benchmarks, nil for the real
	// ones.
	Now   func() time.Time
	Ticks func() (<-chan time.Time, func())
	// Bounds are those of the lists of all accounts, which are those of each account without them. Limits are how many groups and
	// locations a namespace may have in an account, and Notices get how many it has.
	Bounds  *Bounds
	Limits  tenants.Limits
	Notices *tenants.Notices

	loans placement.Loans // who may use the others that the manager proves by itself
	grant cloud.Grant
	login func(secret map[string][]byte) (*login.Principal, error) // of tests
}

var _ cloud.Provider = Provider{}

// Bounds are those of the lists of all accounts of a process.
type Bounds = calls.Bounds

// NewBounds returns them, with the count of what is kept.
func NewBounds(kept *tenants.Bytes) *Bounds { return calls.NewBounds(kept) }

// Name is that of the part of a spec that is for it.
func (Provider) Name() string { return infrav1.CloudAzure }

// Registration registers a provider for the part of a spec that is for Azure. By the chart of cloud-provider-azure v1.36.6
// cloud-node-manager initializes Nodes, and needs no credentials; the controller reads them from a file of the machine or a
// Secret.
func Registration(p cloud.Provider) cloud.Registration {
	return cloud.Registration{
		Provider: p, Part: partOf, Show: show, ReportsInCluster: true,
		Chosen: func(spec infrav1.WindowsMachineSpec) bool { return spec.Azure != nil },
		Initializer: cloud.Initializer{
			Reads: "where cloud-node-manager initializes Nodes, and cloud-controller-manager reads /etc/kubernetes/azure.json of the " +
				"control plane's machines or Secret kube-system/azure-cloud-provider",
			Brings: "HelmChartProxy %s-azure-ccm of the management cluster brings both",
		},
	}
}

// partOf is what the controllers read of the part for Azure. The tenant comes last, with the machine's identity. The public cloud
// is an AzureCluster's default, and so leaves it to the manager which one a Secret is for.
func partOf(m *infrav1.WindowsMachine) cloud.Part {
	part := cloud.Part{Setup: m.Spec.Azure.Image.Setup, Lacks: "status.azure.tenantID"}
	placed := m.Status.Azure
	if placed == nil {
		return part
	}
	if placed.TenantID != "" {
		part.Lacks = ""
	}
	part.Place = &cloud.Place{
		Cloud: string(placed.Cloud), SecretCloud: string(placed.Cloud),
		Identity: cloud.Key{Namespace: placed.Identity.Namespace, Name: placed.Identity.Name},
	}
	if placed.Cloud == infrav1.AzurePublicCloud {
		part.Place.SecretCloud = ""
	}
	return part
}

// show keeps the version of the image that Azure has made a VM of.
func show(status *infrav1.WindowsMachineStatus, vm cloud.VM) {
	if placed := status.Azure; placed != nil {
		placed.ImageVersion = cmp.Or(vm.ImageVersion, placed.ImageVersion)
	}
}

var computerName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,13}[a-z0-9]$`)

// Identify derives the VM's name from the machine's UID, once. From then on spec.providerID holds name, group and subscription.
func (Provider) Identify(m *infrav1.WindowsMachine) (cloud.Identity, error) {
	if m.Spec.ProviderID != "" {
		return readIdentity(m.Spec.ProviderID)
	}
	if m.UID == "" {
		return cloud.Identity{}, cloud.Errorf(cloud.Transient, "", "the API server has not given the machine a UID yet")
	}
	resolved, err := placementOf(cloud.Machine{Spec: m.Spec, Status: m.Status})
	if err != nil {
		return cloud.Identity{}, err
	}
	name, group := cloud.ComputerName(m.Name, string(m.UID)), arm.GroupID(resolved.SubscriptionID, resolved.ResourceGroup)
	return cloud.Identity{Name: name, ProviderID: arm.ProviderID(group.VM(name))}, nil
}

func readIdentity(providerID string) (cloud.Identity, error) {
	vm, err := placement.Home(providerID)
	if err != nil {
		return cloud.Identity{}, err
	}
	if !computerName.MatchString(vm.Name()) {
		return cloud.Identity{}, cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason,
			"spec.providerID %q does not end with the name of a Windows computer: delete the Machine, no VM was made for it; in a new "+
				"one leave the field out, because the controller sets it", cloud.Clean(providerID, 256))
	}
	return cloud.Identity{Name: vm.Name(), ProviderID: providerID}, nil
}

// Check wants an image, and what Azure would take: the spec together with the tags of the machine's place, if that is known.
func (Provider) Check(m *infrav1.WindowsMachine) error {
	if m.Spec.Azure == nil {
		return nil
	}
	want := request.Want{Machine: cloud.Machine{Spec: m.Spec}}
	if m.Status.Azure != nil {
		want.Placement = *m.Status.Azure
	}
	return request.Check(want)
}

// Principal is cloud, tenant, client and proof.
func (p Provider) Principal(credentials map[string][]byte) (string, error) {
	principal, err := p.signIn(credentials)
	if err != nil {
		return "", err
	}
	return principal.Name(), nil
}

// Connect checks the form of the credentials. The first call asks for a token.
func (p Provider) Connect(_ string, credentials map[string][]byte) (cloud.Cloud, error) {
	principal, err := p.signIn(credentials)
	if err != nil {
		return nil, err
	}
	now := p.Now
	if now == nil {
		now = time.Now
	}
	a, err := open(principal, now)
	if err != nil {
		return nil, err
	}
	a.manager, a.limits, a.notices = p.Manager, p.Limits, p.Notices
	if p.Bounds != nil {
		a.bound(p.Bounds)
	}
	if p.Ticks != nil {
		a.ticks = p.Ticks
	}
	return a, nil
}

// open opens the account of a principal.
func open(principal *login.Principal, now func() time.Time) (*account, error) {
	c, err := calls.New(principal, now)
	if err != nil {
		return nil, err
	}
	a := &account{calls: c, now: now, ticks: everySecond, opened: now()}
	a.bound(c.Bounds)
	return a, nil
}

// bound has the lists of the account count among those of others.
func (a *account) bound(bounds *calls.Bounds) {
	a.calls.Bounds, a.lists.Kept, a.sizes.kept = bounds, bounds.Kept, bounds.Kept
}

// homeOf is the ID of a machine's VM, whose providerID was read before.
func homeOf(m cloud.Machine) arm.ID {
	id, _ := arm.ReadProviderID(m.ProviderID)
	return id
}
