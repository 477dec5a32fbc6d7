package machine

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/controllers/addresses"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// How much time lies between two reports of a guest that are published: whoever is in the guest can make new ones without end,
// and each is a write. A guest whose bootstrap has ended has little to report.
const (
	pace     = 10 * time.Second
	slowPace = time.Minute
)

// readGuest decodes what the guest reports to its cloud or, where the cloud carries no reports, to its object in the workload
// cluster. A guest that reports anything there runs, long before its cloud shows it.
func (r *Reconciler) readGuest(f *facts, inCluster bool) {
	vm := f.vm
	if strings.HasPrefix(vm.Report, plan.Mark) && !strings.HasPrefix(vm.Report, plan.Mark+string(f.machine.UID)+"|") {
		vm.Report = "" // from the image's own agent, of the machine that it was made from
	}
	if inCluster {
		f.guest, f.unread = r.readObject(f)
	}
	if vm.Report != "" && !f.guest.isIn(plan.StateSucceeded, plan.StateFailed) { // the guest reached its host and not its cluster
		f.guest, f.unread = readReport(vm.Report)
	}
	switch {
	case !inCluster, vm.State != cloud.Creating:
	case f.guest != nil:
		vm.State, vm.Detail = cloud.Running, vm.Doubt
	case hadVM(f):
		vm.State = cloud.Running
	}
}

// readObject decodes what the guest's object in the workload cluster had when it was read last. When the machine has joined and
// the bootstrap has ended, each look at the machine has the object read once.
func (r *Reconciler) readObject(f *facts) (guest *guestReport, err error) {
	cluster, machine := client.ObjectKeyFromObject(f.cluster), client.ObjectKeyFromObject(f.windows)
	r.Ears.Report(cluster, f.config.Status.GuestReport, machine, func(text string) (boots bool) {
		guest, err = readReport(text)
		return !joined(f) || guest.isIn(plan.StateRunning, plan.StateRebooting)
	})
	return guest, err
}

// reportGuest publishes what the guest reports, if that is due: else the status stays as it is, as far as the guest makes it.
func reportGuest(f *facts) {
	published, reported := f.windows.Status, f.windows.Status
	if len(f.vm.Addresses) > 0 {
		previous, current := guestIPs(published.Addresses), guestIPs(f.vm.Addresses)
		if len(previous) > 0 && f.vm.State == cloud.Running {
			current = stillThere(previous, current)
		}
		published.Addresses, reported.Addresses = addressesOf(f, previous), addressesOf(f, current)
	}
	second := metav1.NewTime(f.now.Truncate(time.Second))
	if f.guest != nil {
		takeOver(&reported, *f.guest, second)
	}
	f.windows.Status = reported
	if equality.Semantic.DeepEqual(published, reported) && !rewords(f) {
		return
	}
	if f.heldBack = untilDue(f, published); f.heldBack > 0 {
		f.windows.Status = published
		return
	}
	f.windows.Status.LastGuestTime = second
}

// rewords reports whether the sentence about the guest changes while its reason stays. If nothing else of the guest changes, its
// report has become one that we do not understand, or is understood again.
func rewords(f *facts) bool {
	published, reported := conditions.Get(f.windows, infrav1.BootstrapSucceededCondition), bootstrapCondition(f)
	if published == nil {
		return f.unread != nil
	}
	return published.Reason == reported.Reason && published.Message != reported.Message
}

// untilDue is how long the guest's news must wait. A first report does not wait, nor does the end of what was under way: both
// come once, as the next beginning waits.
func untilDue(f *facts, published infrav1.WindowsMachineStatus) time.Duration {
	reported := f.windows.Status
	if published.Bootstrap == nil && reported.Bootstrap != nil || published.LastBoot == nil && reported.LastBoot != nil ||
		underWay(published) && !underWay(reported) {
		return 0
	}
	wait := pace
	if joined(f) || !underWay(published) {
		wait = slowPace
	}
	wait /= time.Duration(max(1, f.speed))
	if published.LastGuestTime.After(f.now) { // the clock was set back, perhaps by years
		return 0
	}
	return max(0, published.LastGuestTime.Add(wait).Sub(f.now))
}

// underWay reports whether a bootstrap or a start has not ended, or not begun.
func underWay(status infrav1.WindowsMachineStatus) bool {
	bootstrap, boot := status.Bootstrap, status.LastBoot
	bootstraps := bootstrap == nil || bootstrap.State == string(plan.StateRunning) || bootstrap.State == string(plan.StateRebooting)
	return bootstraps || boot != nil && boot.State == string(plan.StateRunning)
}

// sooner is the first of two times to look again; one that is not positive is none.
func sooner(delay, candidate time.Duration) time.Duration {
	if candidate > 0 && (delay == 0 || candidate < delay) {
		return candidate
	}
	return delay
}

// How many addresses the API takes, and how many we look at; a guest may report any number.
const (
	maxAddresses = 32
	maxReported  = 64
)

// stillThere are the addresses that the guest reports, and those that it reported before and has not replaced. An adapter that
// becomes part of a vSwitch keeps its address, but VMware Tools no longer report it: image-builder has them leave out all
// vEthernet adapters. A lease that ends is replaced, so an address stands until the running guest reports a new one of its
// family.
func stillThere(previous, current []netip.Addr) []netip.Addr {
	isNew := func(ip netip.Addr) bool { return !slices.Contains(previous, ip) }
	isGone := func(ip netip.Addr) bool {
		replaced := func(successor netip.Addr) bool { return isNew(successor) && successor.Is4() == ip.Is4() }
		return !slices.Contains(current, ip) && slices.ContainsFunc(current, replaced)
	}
	kept := slices.DeleteFunc(slices.Clone(previous), isGone)
	unseen := func(ip netip.Addr) bool { return !slices.Contains(current, ip) }
	if !slices.ContainsFunc(kept, unseen) {
		return current
	}
	return append(kept, slices.DeleteFunc(current, func(ip netip.Addr) bool { return !isNew(ip) })...)
}

// addressesOf are the machine's name, its addresses from pools, and then what else the guest reports: a guest cannot take the
// place of what we know. If all its adapters have their addresses from pools, it has no other.
func addressesOf(f *facts, reported []netip.Addr) []clusterv1.MachineAddress {
	ips := fromPools(f.windows.Status.NetworkInterfaces)
	if len(reported) > 0 && (len(ips) == 0 || !addresses.OnlyPooled(f.windows)) {
		ips = append(ips, ownOf(f, ips, reported)...)
	}
	published := []clusterv1.MachineAddress{
		{Type: clusterv1.MachineHostName, Address: f.identity.Name},
		{Type: clusterv1.MachineInternalDNS, Address: f.identity.Name},
	}
	for _, ip := range ips {
		published = append(published, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip.String()})
	}
	return published[:min(len(published), maxAddresses)]
}

// ownOf are the addresses that a guest reports, each once, without those from pools and those that belong to another machine or
// to the Cluster's endpoint.
func ownOf(f *facts, pooled, reported []netip.Addr) (ips []netip.Addr) {
	excluded := slices.Concat(pooled, f.rivals)
	if f.cluster != nil {
		endpoint, _ := netip.ParseAddr(f.cluster.Spec.ControlPlaneEndpoint.Host) // a name is no address
		excluded = append(excluded, endpoint.Unmap())
	}
	for _, ip := range reported {
		if !slices.Contains(excluded, ip) {
			ips, excluded = append(ips, ip), append(excluded, ip)
		}
	}
	return ips
}

// fromPools are the addresses that the pools gave.
func fromPools(interfaces []infrav1.MachineNetworkInterface) []netip.Addr {
	var ips []netip.Addr
	for _, adapter := range interfaces {
		for _, address := range adapter.Addresses {
			if prefix, err := netip.ParsePrefix(address.Address); err == nil {
				ips = append(ips, prefix.Addr())
			}
		}
	}
	return ips
}

// guestIPs are the IP addresses that a guest may be reached at.
func guestIPs(addresses []clusterv1.MachineAddress) []netip.Addr {
	var ips []netip.Addr
	for _, address := range addresses[:min(len(addresses), maxReported)] {
		ip, _ := netip.ParseAddr(address.Address) // what does not parse is no address of any kind
		ip = ip.Unmap()
		if address.Type == clusterv1.MachineInternalIP && ip.Zone() == "" && ip.IsGlobalUnicast() {
			ips = append(ips, ip)
		}
	}
	return ips
}

// findRivals reads which of the addresses that the guest reports belong to others.
func (r *Reconciler) findRivals(ctx context.Context, f *facts) (err error) {
	if f.vm == nil {
		return nil
	}
	if reported := slices.Concat(guestIPs(f.vm.Addresses), guestIPs(f.windows.Status.Addresses)); len(reported) > 0 {
		f.rivals, err = r.Pools.Others(ctx, f.windows, reported)
	}
	return err
}
