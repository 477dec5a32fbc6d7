// Package addresses gives the adapters of a WindowsMachine addresses from IP pools. claims.go claims them, hold.go holds them
// while there may be a VM and frees them afterwards, reclaim.go frees what was left behind, and mac.go
// keeps two VMs with one MAC out of a network. The MACs themselves come from the room adapters.
package addresses

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/addresses/adapters"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// Pools are the IP pools of the management cluster.
type Pools struct {
	Client client.Client
	// Live reads from the API server itself: the cache may not show yet what a pool gave, or what we hold.
	Live client.Reader
	// Now is the clock.
	Now func() time.Time
	// WatchFilter is the value of the watch-filter label, if this manager has one.
	WatchFilter string
}

// Pooled reports whether any adapter has an address from a pool.
func Pooled(windows *infrav1.WindowsMachine) bool {
	return windows.Spec.VSphere != nil && slices.ContainsFunc(windows.Spec.VSphere.NetworkInterfaces, isPooled)
}

// OnlyPooled reports whether no adapter has its address from elsewhere, such as DHCP.
func OnlyPooled(windows *infrav1.WindowsMachine) bool {
	return windows.Spec.VSphere != nil && !slices.ContainsFunc(windows.Spec.VSphere.NetworkInterfaces,
		func(adapter infrav1.VSphereNetworkInterface) bool { return !isPooled(adapter) })
}

func isPooled(adapter infrav1.VSphereNetworkInterface) bool {
	return len(adapter.AddressesFromPools) > 0
}

// byAddress finds the IPAddresses in the cache by what they are.
const byAddress = "spec.address"

// Index lets Others find addresses, and Distinct find MACs.
func (p *Pools) Index(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.WindowsMachine{}, byMAC, macsOf); err != nil {
		return fmt.Errorf("index windowsmachines: %w", err)
	}
	return mgr.GetFieldIndexer().IndexField(ctx, &ipamv1.IPAddress{}, byAddress, ipOf)
}

func ipOf(o client.Object) []string {
	address, _ := o.(*ipamv1.IPAddress)
	ip, err := netip.ParseAddr(address.Spec.Address)
	if err != nil {
		return nil
	}
	return []string{ip.Unmap().String()}
}

// Others returns those of the addresses that a pool gave to another machine in the namespace, of whatever kind.
func (p *Pools) Others(ctx context.Context, windows *infrav1.WindowsMachine, ips []netip.Addr) ([]netip.Addr, error) {
	ownClaims := map[string]bool{}
	for _, claim := range claimsOf(windows, nil) {
		ownClaims[claim.Name] = true
	}
	var foreign []netip.Addr
	for _, ip := range ips {
		var found ipamv1.IPAddressList
		err := p.Client.List(ctx, &found, client.InNamespace(windows.Namespace), client.MatchingFields{byAddress: ip.String()})
		if err != nil {
			return nil, fmt.Errorf("list ipaddresses: %w", err)
		}
		if slices.ContainsFunc(found.Items, func(address ipamv1.IPAddress) bool { return !ownClaims[address.Spec.ClaimRef.Name] }) {
			foreign = append(foreign, ip)
		}
	}
	return foreign, nil
}

// Claim asks each pool of the spec for an address and stops until all are there. It returns them as status.networkInterfaces will
// have them, together with the MACs. It never looks up what is in the status already, because the user data is made from it.
func (p *Pools) Claim(
	ctx context.Context, windows *infrav1.WindowsMachine, cluster *clusterv1.Cluster,
) ([]infrav1.MachineNetworkInterface, error) {
	if bootstrap.Addressed(windows) {
		return windows.Status.NetworkInterfaces, nil
	}
	return p.claim(ctx, windows, claimsOf(windows, cluster))
}

func (p *Pools) claim(
	ctx context.Context, windows *infrav1.WindowsMachine, claims []*ipamv1.IPAddressClaim,
) ([]infrav1.MachineNetworkInterface, error) {
	for _, claim := range claims {
		if err := p.ensure(ctx, claim); err != nil {
			return nil, err
		}
	}
	for _, claim := range claims {
		if err := waitsForAddress(windows, claim); err != nil {
			return nil, err
		}
	}
	return p.interfaces(ctx, windows, claims)
}

// claimsOf returns a claim for each pool of each adapter, in their order. Only a claim that is created needs the Cluster.
func claimsOf(windows *infrav1.WindowsMachine, cluster *clusterv1.Cluster) []*ipamv1.IPAddressClaim {
	if windows.Spec.VSphere == nil {
		return nil
	}
	var claims []*ipamv1.IPAddressClaim
	for i, adapter := range windows.Spec.VSphere.NetworkInterfaces {
		for j, pool := range adapter.AddressesFromPools {
			claim := newClaim(windows, fmt.Sprintf("%s-%d-%d", windows.Name, i, j), pool)
			if cluster != nil {
				claim.Spec.ClusterName = cluster.Name
				claim.Labels[clusterv1.ClusterNameLabel] = cluster.Name
			}
			claims = append(claims, claim)
		}
	}
	return claims
}

func newClaim(windows *infrav1.WindowsMachine, name string, pool infrav1.IPPoolReference) *ipamv1.IPAddressClaim {
	claim := &ipamv1.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: windows.Namespace, Name: name, Labels: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(windows, infrav1.GroupVersion.WithKind("WindowsMachine"))},
		},
		Spec: ipamv1.IPAddressClaimSpec{PoolRef: ipamv1.IPPoolReference{APIGroup: pool.APIGroup, Kind: pool.Kind, Name: pool.Name}},
	}
	if filter, ok := windows.Labels[clusterv1.WatchLabel]; ok {
		claim.Labels[clusterv1.WatchLabel] = filter // or its changes would not wake us
	}
	return claim
}

// ensure reads the claim, or creates it if there is none of that name.
func (p *Pools) ensure(ctx context.Context, claim *ipamv1.IPAddressClaim) error {
	found := &ipamv1.IPAddressClaim{}
	err := p.Client.Get(ctx, client.ObjectKeyFromObject(claim), found)
	if err == nil {
		found.DeepCopyInto(claim)
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("get ipaddressclaim %s: %w", claim.Name, err)
	}
	err = p.Client.Create(ctx, claim)
	if apierrors.IsAlreadyExists(err) {
		return nil // the claim has no UID, because the cache does not show it yet
	}
	if err != nil {
		return fmt.Errorf("create ipaddressclaim %s: %w", claim.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Address claimed", "claim", claim.Name, "pool", claim.Spec.PoolRef.Name)
	return nil
}

// waitsForAddress stops until the claim has an address for this machine.
func waitsForAddress(windows *infrav1.WindowsMachine, claim *ipamv1.IPAddressClaim) error {
	if claim.UID == "" {
		return phase.Poll(infrav1.WaitingForIPAddressReason,
			"IPAddressClaim %s was created a moment ago; waiting for it to appear in the cache", claim.Name)
	}
	if !metav1.IsControlledBy(claim, windows) || !claim.DeletionTimestamp.IsZero() {
		return phase.Poll(infrav1.WaitingForIPAddressReason,
			"IPAddressClaim %s is being deleted or has another owner; when it is gone, this machine creates its own", claim.Name)
	}
	if claim.Status.AddressRef.Name != "" {
		return nil
	}
	reason := ""
	if ready := conditions.Get(claim, ipamv1.IPAddressClaimReadyCondition); ready != nil && ready.Status != metav1.ConditionTrue {
		reason = fmt.Sprintf(": %s %s", ready.Reason, ready.Message)
	}
	pool := claim.Spec.PoolRef
	return phase.Wait(phase.Claim, infrav1.WaitingForIPAddressReason,
		"IPAddressClaim %s has no address of %s %s yet%s", claim.Name, pool.Kind, pool.Name, reason)
}

// interfaces returns the adapters of the spec with the addresses of their claims and their MACs.
func (p *Pools) interfaces(
	ctx context.Context, windows *infrav1.WindowsMachine, claims []*ipamv1.IPAddressClaim,
) ([]infrav1.MachineNetworkInterface, error) {
	return adapters.Of(windows, func(adapters.Pool) (infrav1.NetworkAddress, error) {
		claim := claims[0] // they are in the order of the pools
		claims = claims[1:]
		return p.networkAddress(ctx, claim)
	})
}

func (p *Pools) networkAddress(ctx context.Context, claim *ipamv1.IPAddressClaim) (infrav1.NetworkAddress, error) {
	name := claim.Status.AddressRef.Name
	address, err := p.read(ctx, claim)
	if apierrors.IsNotFound(err) {
		return infrav1.NetworkAddress{}, phase.Poll(infrav1.WaitingForIPAddressReason,
			"IPAddressClaim %s refers to IPAddress %s, which does not exist", claim.Name, name)
	}
	if err != nil {
		return infrav1.NetworkAddress{}, err
	}
	found, problem := parse(address)
	if problem != "" {
		return found, phase.Stall(infrav1.SpecInvalidReason,
			"IPAddress %s: %s; correct pool %s, then delete IPAddressClaim %s, and the machine creates a new one",
			name, problem, claim.Spec.PoolRef.Name, claim.Name)
	}
	return found, nil
}

// read reads the address of a claim.
func (p *Pools) read(ctx context.Context, claim *ipamv1.IPAddressClaim) (*ipamv1.IPAddress, error) {
	address := &ipamv1.IPAddress{}
	key := client.ObjectKey{Namespace: claim.Namespace, Name: claim.Status.AddressRef.Name}
	if err := p.Live.Get(ctx, key, address); err != nil {
		return nil, fmt.Errorf("get ipaddress %s: %w", key.Name, err)
	}
	return address, nil
}

// parse returns an address as the status will show it, or what is wrong with it.
func parse(address *ipamv1.IPAddress) (found infrav1.NetworkAddress, problem string) {
	ip, _ := netip.ParseAddr(address.Spec.Address) // what does not parse has no valid prefix either
	prefix := netip.PrefixFrom(ip, int(ptr.Deref(address.Spec.Prefix, -1)))
	if !prefix.IsValid() || ip.Zone() != "" {
		return infrav1.NetworkAddress{}, "no valid address with a prefix length"
	}
	found = infrav1.NetworkAddress{Address: prefix.String(), Gateway: address.Spec.Gateway}
	if err := bootstrap.CheckAddress(found); err != nil {
		return found, err.Error()
	}
	return found, ""
}
