package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// address asks the pools of the spec for an address each and waits until all are there. What was found is never looked up
// again: the user data is made of it.
func (r *Reconciler) address(ctx context.Context, f *facts) error {
	if hadVM(f) {
		if err := r.readBack(ctx, f); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Addresses not read back") // and this VM needs nothing of them
		}
		return nil
	}
	if bootstrap.Addressed(f.machine) {
		f.networks = f.machine.Status.Networks
		return nil
	}
	var claims []ipamv1.IPAddressClaim
	for _, wanted := range claimsOf(f) {
		claim, err := r.ensureClaim(ctx, wanted)
		if err != nil {
			return err
		}
		claims = append(claims, *claim)
	}
	for _, claim := range claims {
		if err := given(f, &claim); err != nil {
			return err
		}
	}
	return r.readAddresses(ctx, f, claims)
}

// readBack fills the status of a machine that has its VM and lost its status in a move: there others look for MACs that are
// taken. Nothing is claimed for that. Only a claim that is held is sure to have the address that the VM has.
func (r *Reconciler) readBack(ctx context.Context, f *facts) error {
	if bootstrap.Addressed(f.machine) {
		return nil
	}
	var claims []ipamv1.IPAddressClaim
	for _, claim := range claimsOf(f) {
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get ipaddressclaim %s: %w", claim.Name, err)
		}
		if given(f, claim) != nil || !controllerutil.ContainsFinalizer(claim, infrav1.AddressFinalizer) {
			return nil // its watch wakes us
		}
		claims = append(claims, *claim)
	}
	return phase.Of(r.readAddresses(ctx, f, claims)).Err
}

// claimsOf are a claim for each pool that an adapter names, in their order.
func claimsOf(f *facts) []*ipamv1.IPAddressClaim {
	if f.machine.Spec.VSphere == nil {
		return nil
	}
	var all []*ipamv1.IPAddressClaim
	for i, network := range f.machine.Spec.VSphere.Networks {
		for j, pool := range network.AddressesFromPools {
			all = append(all, claimOf(f, fmt.Sprintf("%s-%d-%d", f.machine.Name, i, j), pool))
		}
	}
	return all
}

func claimOf(f *facts, name string, pool infrav1.IPPoolReference) *ipamv1.IPAddressClaim {
	claim := &ipamv1.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.machine.Namespace, Name: name, Labels: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f.machine, infrav1.GroupVersion.WithKind("WindowsMachine"))},
		},
		Spec: ipamv1.IPAddressClaimSpec{PoolRef: ipamv1.IPPoolReference{APIGroup: pool.APIGroup, Kind: pool.Kind, Name: pool.Name}},
	}
	if f.cluster != nil {
		claim.Spec.ClusterName = f.cluster.Name
		claim.Labels[clusterv1.ClusterNameLabel] = f.cluster.Name
	}
	if filter, ok := f.machine.Labels[clusterv1.WatchLabel]; ok {
		claim.Labels[clusterv1.WatchLabel] = filter // or its changes would not wake us
	}
	return claim
}

// ensureClaim makes a claim, unless there is one of that name.
func (r *Reconciler) ensureClaim(ctx context.Context, wanted *ipamv1.IPAddressClaim) (*ipamv1.IPAddressClaim, error) {
	have := &ipamv1.IPAddressClaim{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(wanted), have)
	if err == nil {
		return have, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get ipaddressclaim %s: %w", wanted.Name, err)
	}
	err = r.Client.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		return wanted, nil // without a UID, which says that the cache does not show it yet
	}
	if err != nil {
		return nil, fmt.Errorf("create ipaddressclaim %s: %w", wanted.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Address claimed", "claim", wanted.Name, "pool", wanted.Spec.PoolRef.Name)
	return wanted, nil
}

// given says what a claim waits for.
func given(f *facts, claim *ipamv1.IPAddressClaim) error {
	if claim.UID == "" {
		return phase.Poll(infrav1.WaitingForIPAddressReason, "IPAddressClaim %s was made a moment ago, by this machine or by somebody else", claim.Name)
	}
	if !metav1.IsControlledBy(claim, f.machine) || !claim.DeletionTimestamp.IsZero() {
		return phase.Poll(infrav1.WaitingForIPAddressReason,
			"IPAddressClaim %s is being deleted, or of another owner; once it is gone, one is made for this machine", claim.Name)
	}
	if claim.Status.AddressRef.Name != "" {
		return nil
	}
	why := ""
	if ready := conditions.Get(claim, ipamv1.IPAddressClaimReadyCondition); ready != nil && ready.Status != metav1.ConditionTrue {
		why = fmt.Sprintf(": %s %s", ready.Reason, ready.Message)
	}
	pool := claim.Spec.PoolRef
	return phase.Wait(infrav1.WaitingForIPAddressReason, "IPAddressClaim %s has no address of %s %s yet%s", claim.Name, pool.Kind, pool.Name, why)
}

// readAddresses writes down what the pools gave, and which MACs follow from it.
func (r *Reconciler) readAddresses(ctx context.Context, f *facts, claims []ipamv1.IPAddressClaim) error {
	var found []infrav1.MachineNetwork
	for i, network := range f.machine.Spec.VSphere.Networks {
		one := infrav1.MachineNetwork{Name: network.Name}
		var parsed []netip.Addr
		for range network.AddressesFromPools {
			_, address, err := r.readAddress(ctx, &claims[0])
			if err != nil {
				return err
			}
			one.Addresses = append(one.Addresses, address)
			parsed = append(parsed, netip.MustParsePrefix(address.Address).Addr())
			claims = claims[1:]
		}
		if len(parsed) > 0 {
			one.MACAddress = macOf(i, parsed)
		}
		found = append(found, one)
	}
	f.networks = found
	return nil
}

// readAddress reads the address of a claim from the API server itself: the cache may not have it yet.
func (r *Reconciler) readAddress(ctx context.Context, claim *ipamv1.IPAddressClaim) (*ipamv1.IPAddress, infrav1.NetworkAddress, error) {
	address := &ipamv1.IPAddress{}
	key := client.ObjectKey{Namespace: claim.Namespace, Name: claim.Status.AddressRef.Name}
	err := r.Secrets.Get(ctx, key, address)
	if apierrors.IsNotFound(err) {
		return nil, infrav1.NetworkAddress{}, phase.Poll(infrav1.WaitingForIPAddressReason,
			"IPAddressClaim %s refers to IPAddress %s, which is not there", claim.Name, key.Name)
	}
	if err != nil {
		return nil, infrav1.NetworkAddress{}, fmt.Errorf("get ipaddress %s: %w", key.Name, err)
	}
	parsed, err := netip.ParseAddr(address.Spec.Address)
	prefix := netip.PrefixFrom(parsed, int(ptr.Deref(address.Spec.Prefix, -1)))
	if err != nil || !prefix.IsValid() || parsed.Zone() != "" {
		return nil, infrav1.NetworkAddress{}, phase.Stall(infrav1.SpecInvalidReason,
			"IPAddress %s has no address with a prefix length: look at pool %s", key.Name, claim.Spec.PoolRef.Name)
	}
	found := infrav1.NetworkAddress{Address: prefix.String(), Gateway: address.Spec.Gateway}
	if err := bootstrap.CheckAddress(found); err != nil {
		return nil, found, phase.Stall(infrav1.SpecInvalidReason,
			"IPAddress %s: %s; mend pool %s and then delete IPAddressClaim %s, which is made again", key.Name, err, claim.Spec.PoolRef.Name, claim.Name)
	}
	return address, found, nil
}

// macOf is the MAC of adapter number i: of the range that VMware keeps for those that are chosen, 00:50:56:00:00:00 to
// 00:50:56:3f:ff:ff, with i and the last 18 bits of the adapter's first IPv4 address, or else of its first one. The
// adapters of a VM differ by i, and those in a network by their addresses, or else distinct tells.
func macOf(i int, addresses []netip.Addr) string {
	first := addresses[max(0, slices.IndexFunc(addresses, netip.Addr.Is4))].As16()
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", i<<2|int(first[13]&3), first[14], first[15])
}

// What became of an address, of its prefix length or of its gateway.
var (
	errTaken   = errors.New("taken away")
	errChanged = errors.New("changed")
)

// keep holds the addresses for as long as there may be a VM with them. An IPAM provider takes an address back as soon as
// its claim is deleted, which may be before the VM is: with the namespace, in the foreground, or by hand. With our finalizer
// on it the address is in use to every provider; that on the claim lets us find it again.
func (r *Reconciler) keep(ctx context.Context, f *facts) error {
	var known []infrav1.NetworkAddress
	for _, network := range f.networks {
		known = append(known, network.Addresses...)
	}
	for i, wanted := range claimsOf(f) {
		err := r.keepOne(ctx, f, wanted, known[i])
		if errors.Is(err, errTaken) || errors.Is(err, errChanged) {
			return phase.Stall(infrav1.AddressLostReason,
				"address %s of IPAddressClaim %s was %s before the VM was made, and is in its user data; delete the Machine to get another one",
				known[i].Address, wanted.Name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) keepOne(ctx context.Context, f *facts, claim *ipamv1.IPAddressClaim, known infrav1.NetworkAddress) error {
	if err := r.Secrets.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return taken(fmt.Errorf("get ipaddressclaim %s: %w", claim.Name, err))
	}
	if !metav1.IsControlledBy(claim, f.machine) || claim.Status.AddressRef.Name == "" {
		return errTaken
	}
	address, have, err := r.readAddress(ctx, claim)
	switch {
	case phase.Of(err).Err != nil:
		return err
	case err != nil:
		return errTaken
	case controllerutil.ContainsFinalizer(claim, infrav1.AddressFinalizer) && controllerutil.ContainsFinalizer(address, infrav1.AddressFinalizer):
		return nil
	case !claim.DeletionTimestamp.IsZero() || !address.DeletionTimestamp.IsZero():
		return errTaken
	case have != known:
		return errChanged
	}
	// In this order a claim is there for as long as its address is held, so that it leads there.
	if err := r.setFinalizer(ctx, claim, controllerutil.AddFinalizer); err != nil {
		return taken(err)
	}
	return taken(r.setFinalizer(ctx, address, controllerutil.AddFinalizer))
}

func taken(err error) error {
	if apierrors.IsNotFound(err) {
		return errTaken
	}
	return err
}

// setFinalizer adds or removes ours. The lists are written as a whole, and others have theirs in them: hence the lock.
func (r *Reconciler) setFinalizer(ctx context.Context, o client.Object, set func(client.Object, string) bool) error {
	before, _ := o.DeepCopyObject().(client.Object)
	if !set(o, infrav1.AddressFinalizer) {
		return nil
	}
	if err := r.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch finalizers of %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// free lets the addresses go, now that no VM has them: their provider takes them back when the claims are deleted, which
// they are with their owner. The API server itself is asked, for the cache may not show yet what we hold.
func (r *Reconciler) free(ctx context.Context, f *facts) error {
	return r.freeAll(ctx, claimsOf(f))
}

// freeOne does not ask for the claim's owner: a restore from backup may have given the machine another UID. Nobody but a
// machine of this name ever put our finalizer on a claim of this name.
func (r *Reconciler) freeOne(ctx context.Context, claim *ipamv1.IPAddressClaim) error {
	if err := r.Secrets.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return fmt.Errorf("get ipaddressclaim %s: %w", claim.Name, err)
	}
	if !controllerutil.ContainsFinalizer(claim, infrav1.AddressFinalizer) {
		return nil // and so its address is not held either, or is a stray
	}
	address := &ipamv1.IPAddress{}
	name := cmp.Or(claim.Status.AddressRef.Name, claim.Name) // a restore or a move loses status; providers use the claim's name
	err := r.Secrets.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: name}, address)
	if err == nil && (claim.Status.AddressRef.Name != "" || address.Spec.ClaimRef.Name == claim.Name) {
		err = r.setFinalizer(ctx, address, controllerutil.RemoveFinalizer)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("free ipaddress of %s: %w", claim.Name, err)
	}
	return r.setFinalizer(ctx, claim, controllerutil.RemoveFinalizer)
}
