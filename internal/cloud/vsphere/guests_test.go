package vsphere

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// through connects by way of guards, and counts the calls by method.
func through(t *testing.T, v *stage, guards ...vcenter.Guard) (a *account, calls func(method string) int) {
	t.Helper()
	var count [3]atomic.Int32
	methods := []string{"", "WaitForUpdatesEx", "ModifyListView"}
	door := v.Open(append([]vcenter.Guard{func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		for n, one := range methods {
			if one == "" || one == method {
				count[n].Add(1)
			}
		}
		next.ServeHTTP(w, r)
	}}, guards...)...)
	t.Cleanup(door.Close)
	a = lateConnect(t, door.Credentials())
	return a, func(method string) int {
		for n, one := range methods {
			if one == method {
				return int(count[n].Load())
			}
		}
		return 0
	}
}

// crowdOf is what a vCenter has of a VM of ours that runs.
func crowdOf(m cloud.Machine) string {
	return vcenter.Property("name", "xsd:string", m.Name) +
		vcenter.Property("config.instanceUuid", "xsd:string", seen.IDOf(m)) +
		vcenter.Property("runtime.powerState", "VirtualMachinePowerState", "poweredOn") +
		vcenter.Property("runtime.connectionState", "VirtualMachineConnectionState", "connected") +
		vcenter.Property("guest.ipAddress", "xsd:string", "10.0.0.1") +
		vcenter.Extra(seen.MarkOwner, m.Key.String()) + vcenter.Extra(seen.MarkProviderID, m.ProviderID)
}

// TestSyncedAmongMany: among 10,000 VMs of others, of which 60 are Linux nodes with 2,000 addresses each, as kube-proxy's mode
// ipvs gives them (guest.net has those of kube-ipvs0), an account is up to date soon, and asks for no more than a page of 100 VMs
// each.
func TestSyncedAmongMany(t *testing.T) {
	t.Parallel()
	const others = 10_000
	addresses := strings.Repeat("<ipAddress>10.96.100.100</ipAddress>", 2000)
	net := vcenter.Property("guest.net", "ArrayOfGuestNicInfo", "<GuestNicInfo><network>n</network>"+addresses+"</GuestNicInfo>")
	v := newStage(t)
	m := v.machine("m")
	a, calls := through(t, v, vcenter.Crowd(others+1, func(n int) string {
		if n == others {
			return crowdOf(m)
		}
		vm := vcenter.Property("name", "xsd:string", fmt.Sprintf("production-europe-database-%08d", n)) +
			vcenter.Property("config.instanceUuid", "xsd:string", fmt.Sprintf("5023a1b4-9c0d-6b8e-2f11-8a7c66%06d", n)) +
			vcenter.Property("runtime.powerState", "VirtualMachinePowerState", "poweredOn")
		if 5000 <= n && n < 5060 {
			vm += net
		}
		return vm
	}))
	start := time.Now()
	watched(t, a)
	t.Logf("synced among %d VMs after %s, %d waits, %d calls",
		others, time.Since(start).Round(time.Millisecond), calls("WaitForUpdatesEx"), calls(""))
	if n, most := calls("WaitForUpdatesEx"), others/100+6; n > most {
		t.Errorf("%d waits, want at most %d", n, most)
	}
	expect.Same(t, "the VM of the machine", cloud.Ours, found(a, m).Whose)
	expect.Same(t, "its address", "10.0.0.1", found(a, m).VM.Address)
	expect.Same(t, "all VMs are known", true, a.inventory.Lacks(v.machine("another")))
	for _, n := range []int{0, 5000, others - 1} {
		other := v.machine("another")
		other.Name = fmt.Sprintf("production-europe-database-%08d", n)
		expect.Same(t, "a machine with the name of a VM of others has none", false, a.inventory.Lacks(other))
	}
}

// TestSyncedWithAddresses: no machine is woken for the list of all VMs before the addresses of its VM are known, however many
// there are; then each is woken once. It takes one change of the list of ours.
func TestSyncedWithAddresses(t *testing.T) {
	t.Parallel()
	const count = 1000
	v := newStage(t)
	machines := make([]cloud.Machine, count)
	for n := range machines {
		machines[n] = v.machine(fmt.Sprint("m", n))
	}
	a, calls := through(t, v, vcenter.Crowd(count, func(n int) string { return crowdOf(machines[n]) }))
	w := watchOn(t, a)
	w.awaitTimes(t, machines, 1)
	for _, m := range machines {
		f := found(a, m)
		if f.Whose != cloud.Ours || f.VM.Address != "10.0.0.1" {
			t.Fatalf("%s is %s, %+v, when it is woken", m.Name, f.Whose, f.VM)
		}
		expect.Same(t, "keys", 1, w.times(m.Key))
	}
	expect.Same(t, "changes of the list", 1, calls("ModifyListView"))
}

// TestBurst: many VMs of ours that appear at once are listed with a few requests, and nothing is asked while nothing changes.
func TestBurst(t *testing.T) {
	t.Parallel()
	const count = 200
	v := newStage(t)
	m := v.machine("m")
	running(t, v.account(), m)
	a, calls := through(t, v)
	gathersAsMade(a)
	keys := watched(t, a)
	for len(keys) > 0 {
		<-keys
	}
	before := calls("ModifyListView")
	expect.Same(t, "changes of the list at first", 1, before)
	all := make([]cloud.Machine, count)
	v.Copy(m.Name, count, func(n int, vm *mo.VirtualMachine) {
		all[n] = v.machine(fmt.Sprint("copy-", n))
		vm.Name, vm.Config.InstanceUuid = all[n].Name, seen.IDOf(all[n])
		marks := map[string]string{seen.MarkOwner: all[n].Key.String(), seen.MarkProviderID: all[n].ProviderID}
		for _, option := range vm.Config.ExtraConfig {
			if o := option.GetOptionValue(); marks[o.Key] != "" {
				o.Value = marks[o.Key]
			}
		}
	})
	awaitGuests(t, a, m)
	awaitGuests(t, a, all...)
	used := calls("ModifyListView") - before
	t.Logf("%d new VMs: %d changes of the list", count, used)
	if used > 3 {
		t.Errorf("%d changes of the list for %d VMs, want at most 3", used, count)
	}
	for len(keys) > 0 {
		<-keys
	}
	others := func() int { return calls("") - calls("WaitForUpdatesEx") }
	made := others()
	for n := range 3 {
		v.SetExtra(m.Name, seen.ReportKey, fmt.Sprint(n))
		wait.Until(t, "the report", func() (any, bool) {
			got := found(a, m).VM
			return got, got.Report == fmt.Sprint(n)
		})
	}
	expect.Same(t, "calls for changes, besides the wait for them", made, others())
}

// awaitGuests waits until the guests of the machines' VMs are known.
func awaitGuests(t *testing.T, a *account, all ...cloud.Machine) {
	t.Helper()
	for _, m := range all {
		wait.Until(t, "the guest of "+m.Name, func() (any, bool) { return found(a, m), isGuestKnown(a, m) })
	}
}

// isGuestKnown reports whether the guest of the machine's VM is known: only such a VM is found of a settled machine.
func isGuestKnown(a *account, m cloud.Machine) bool {
	m.Settled = true
	return found(a, m).Whose == cloud.Ours
}

// found is what the inventory has of a machine without a record.
func found(a *account, m cloud.Machine) seen.Found {
	return a.inventory.Find(m, types.ManagedObjectReference{})
}

// TestGuestsDoNotCome: an account is up to date although the vCenter reports nothing of a VM's guest. Who needs it asks.
func TestGuestsDoNotCome(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	running(t, v.account(), m)
	a, _ := through(t, v, func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method == "ModifyListView" {
			_, _ = fmt.Fprint(w, `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>`+
				`<ModifyListViewResponse xmlns="urn:vim25"/></s:Body></s:Envelope>`)
			return
		}
		next.ServeHTTP(w, r)
	})
	w := watchOn(t, a)
	w.awaitTimes(t, []cloud.Machine{m}, 1)
	m.Asked = cloud.Existed
	expect.Same(t, "what the inventory has, for a machine that had a VM", cloud.Unseen, found(a, m).Whose)
	expect.Same(t, "state", cloud.Running, expect.Got(a.Observe(t.Context(), m))(t).State)
}

// TestListedAgain: a VM that could not be listed when it appeared is listed soon after, although no other VM appears.
func TestListedAgain(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	var refuses atomic.Bool
	a, calls := through(t, v, func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method == "ModifyListView" && refuses.CompareAndSwap(true, false) {
			vcenter.Abort()
		}
		next.ServeHTTP(w, r)
	})
	watched(t, a)
	refuses.Store(true)
	m := v.machine("m")
	running(t, v.account(), m)
	awaitGuests(t, a, m)
	expect.Same(t, "a request was refused, and made again", []bool{false, true}, []bool{refuses.Load(), calls("ModifyListView") > 1})
}
