package machine

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// How much time lies between two words of a guest that are taken over: whoever is in the guest can make new ones without end, and
// each is a write. A guest that is through has little to tell.
const (
	pace     = 10 * time.Second
	slowPace = time.Minute
)

// hear reads what the guest of a cloud that carries no reports has told its object in the workload cluster. One that tells
// anything runs, long before its cloud says so. When the machine has joined and its guest is through, each look at the machine
// has the object read once.
func (r *Reconciler) hear(f *facts, vm cloud.VM) *cloud.VM {
	if strings.HasPrefix(vm.Report, plan.Mark) && !strings.HasPrefix(vm.Report, plan.Mark+string(f.machine.UID)+"|") {
		vm.Report = "" // the image's own agent, of the machine that it was made from
	}
	if f.config == nil || f.config.Status.GuestReport == "" {
		return &vm
	}
	heard := r.Ears.Report(client.ObjectKeyFromObject(f.cluster), f.config.Status.GuestReport, client.ObjectKeyFromObject(f.windows),
		func(text string) bool { return !joined(f) || slices.Contains(goesOn, toldState(text)) })
	if vm.Report == "" || slices.Contains(ends, toldState(heard)) {
		vm.Report = heard
	}
	switch {
	case vm.State != cloud.Creating:
	case toldState(vm.Report) != "":
		vm.State, vm.Detail = cloud.Running, vm.Doubt
	case hadVM(f):
		vm.State = cloud.Running
	}
	return &vm
}

// ends are the states in which a guest says more than what its cloud's host has heard, and goesOn are the others.
var (
	ends   = []plan.State{plan.StateSucceeded, plan.StateFailed}
	goesOn = []plan.State{plan.StateRunning, plan.StateRebooting}
)

// toldState is how far a guest says that it is; empty if it has told nothing that we understand.
func toldState(report string) plan.State {
	if told, err := readReport(report); err == nil && told != nil {
		return plan.State(told.Bootstrap.State)
	}
	return ""
}

// reportGuest takes over what the guest tells, if it is time for that: else the status says what it would say if the guest told
// the same as last time.
func reportGuest(f *facts, stop phase.Stop) {
	silent := *f
	silent.windows = f.windows.DeepCopy()
	repeat(&silent)
	summarize(&silent, stop)
	listen(f, *f.vm)
	summarize(f, stop)
	if equality.Semantic.DeepEqual(silent.windows.Status, f.windows.Status) {
		return
	}
	if rest := untilHeard(f, silent.windows.Status); rest > 0 {
		f.windows, f.unread, f.unheard = silent.windows, silent.unread, rest
		return
	}
	f.windows.Status.LastGuestTime = metav1.NewTime(f.now.Truncate(time.Second))
}

// repeat has the guest tell what it told before.
func repeat(f *facts) {
	if len(f.vm.Addresses) > 0 {
		f.windows.Status.Addresses = addressesOf(f, toldIPs(f.windows.Status.Addresses))
	}
	if strings.Contains(conditions.GetMessage(f.windows, infrav1.BootstrapSucceededCondition), notUnderstood) {
		f.unread = errors.New("not understood before")
	}
}

// listen has the guest tell what it tells now.
func listen(f *facts, vm cloud.VM) {
	if len(vm.Addresses) > 0 {
		f.windows.Status.Addresses = addressesOf(f, stillThere(f, vm))
	}
	told, err := readReport(vm.Report)
	f.unread = err
	if told != nil {
		takeOver(&f.windows.Status, *told, metav1.NewTime(f.now.Truncate(time.Second)))
	}
}

// untilHeard is how long the guest's new word must wait. A first report does not wait, nor does the end of what was under way:
// both come once, as the next beginning waits.
func untilHeard(f *facts, known infrav1.WindowsMachineStatus) time.Duration {
	now := f.windows.Status
	if known.Bootstrap == nil && now.Bootstrap != nil || known.LastBoot == nil && now.LastBoot != nil ||
		underWay(known) && !underWay(now) {
		return 0
	}
	wait := pace
	if joined(f) || !underWay(known) {
		wait = slowPace
	}
	wait /= time.Duration(max(1, f.speed))
	if known.LastGuestTime.After(f.now) { // the clock was set back, perhaps by years
		return 0
	}
	return known.LastGuestTime.Add(wait).Sub(f.now)
}

// underWay says whether a bootstrap or a start has not ended, or not begun.
func underWay(status infrav1.WindowsMachineStatus) bool {
	bootstrap, boot := status.Bootstrap, status.LastBoot
	bootstraps := bootstrap == nil || bootstrap.State == string(plan.StateRunning) || bootstrap.State == string(plan.StateRebooting)
	return bootstraps || boot != nil && boot.State == string(plan.StateRunning)
}

// sooner looks again no later than what a guest told may be taken over.
func sooner(result ctrl.Result, unheard time.Duration) ctrl.Result {
	if unheard > 0 && (result.RequeueAfter == 0 || unheard < result.RequeueAfter) {
		result.RequeueAfter = unheard
	}
	return result
}

// How many addresses the API takes, and how many we look at; a guest may tell any number.
const (
	maxAddresses = 32
	maxTold      = 64
)

// stillThere are the addresses that the guest tells, and those that it told before and has not replaced. An adapter that becomes
// part of a vSwitch keeps its address, but VMware Tools do not tell it any more: image-builder has them leave out all vEthernet
// adapters. A lease that ends is replaced, so an address stands until the running guest tells a new one of its family.
func stillThere(f *facts, vm cloud.VM) []netip.Addr {
	before, now := toldIPs(f.windows.Status.Addresses), toldIPs(vm.Addresses)
	isNew := func(ip netip.Addr) bool { return !slices.Contains(before, ip) }
	isGone := func(ip netip.Addr) bool {
		replaced := func(by netip.Addr) bool { return isNew(by) && by.Is4() == ip.Is4() }
		return !slices.Contains(now, ip) && slices.ContainsFunc(now, replaced)
	}
	kept := slices.DeleteFunc(slices.Clone(before), isGone)
	unseen := func(ip netip.Addr) bool { return !slices.Contains(now, ip) }
	if vm.State != cloud.Running || !slices.ContainsFunc(kept, unseen) {
		return now
	}
	return append(kept, slices.DeleteFunc(now, func(ip netip.Addr) bool { return !isNew(ip) })...)
}

// addressesOf are the machine's name, its addresses from pools, and then what else the guest tells: a guest cannot take the place
// of what we know, and it has no address that belongs to another machine or to the Cluster's endpoint. If all its adapters have
// their addresses from pools, it has no other.
func addressesOf(f *facts, told []netip.Addr) []clusterv1.MachineAddress {
	all := []clusterv1.MachineAddress{
		{Type: clusterv1.MachineHostName, Address: f.identity.Name},
		{Type: clusterv1.MachineInternalDNS, Address: f.identity.Name},
	}
	known := fromPools(f.windows.Status.NetworkInterfaces)
	for _, ip := range known {
		all = append(all, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip.String()})
	}
	if len(known) > 0 && onlyPools(f.windows.Spec.VSphere) {
		return all
	}
	not := append(slices.Concat(known, f.rivals), endpoint(f.cluster))
	for _, ip := range told {
		if !slices.Contains(not, ip) {
			all = append(all, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip.String()})
			not = append(not, ip)
		}
	}
	return all[:min(len(all), maxAddresses)]
}

// fromPools are the addresses that the pools gave.
func fromPools(interfaces []infrav1.MachineNetworkInterface) []netip.Addr {
	var all []netip.Addr
	for _, adapter := range interfaces {
		for _, address := range adapter.Addresses {
			if prefix, err := netip.ParsePrefix(address.Address); err == nil {
				all = append(all, prefix.Addr())
			}
		}
	}
	return all
}

// onlyPools says whether no adapter has its address from elsewhere, such as DHCP.
func onlyPools(vm *infrav1.VSphereVM) bool {
	return vm != nil && !slices.ContainsFunc(vm.NetworkInterfaces, func(adapter infrav1.VSphereNetworkInterface) bool {
		return len(adapter.AddressesFromPools) == 0
	})
}

// toldIPs are the IP addresses that a guest may be reached at.
func toldIPs(told []clusterv1.MachineAddress) []netip.Addr {
	var all []netip.Addr
	for _, one := range told[:min(len(told), maxTold)] {
		ip, _ := netip.ParseAddr(one.Address) // what does not parse is no address of any kind
		ip = ip.Unmap()
		if one.Type == clusterv1.MachineInternalIP && ip.Zone() == "" && ip.IsGlobalUnicast() {
			all = append(all, ip)
		}
	}
	return all
}

func endpoint(cluster *clusterv1.Cluster) netip.Addr {
	if cluster == nil {
		return netip.Addr{}
	}
	ip, _ := netip.ParseAddr(cluster.Spec.ControlPlaneEndpoint.Host) // a name is no address
	return ip.Unmap()
}

// findRivals reads which of the addresses that the guest tells belong to others.
func (r *Reconciler) findRivals(ctx context.Context, f *facts) (err error) {
	if f.vm != nil {
		told := slices.Concat(toldIPs(f.vm.Addresses), toldIPs(f.windows.Status.Addresses))
		f.rivals, err = r.Pools.Others(ctx, f.windows, told)
	}
	return err
}
