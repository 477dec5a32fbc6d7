package armsim_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// A whole life with Azure's SDK: one PUT makes VM, NIC and disk, one DELETE takes all of them away.
func TestLifeOfAVM(t *testing.T) {
	c := armsim.New(t)
	s := sdk(t, c)
	poller := expect.Got(s.vms.BeginCreateOrUpdate(t.Context(), armsim.Group, "win-1", good("win-1"),
		&armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions{IfNoneMatch: new("*")}))(t)
	equal(t, vmStates(t, s, "win-1"), []string{"ProvisioningState/creating"})
	c.Advance(time.Minute)
	equal(t, vmStates(t, s, "win-1"), []string{
		"ProvisioningState/creating", "ProvisioningState/creating/OSProvisioningInProgress", "PowerState/running",
	})
	polled(t, poller)
	if poller.Done() {
		t.Error("the operation has ended before the guest reported")
	}
	c.Advance(4 * time.Minute)
	polled(t, poller)
	vm := expect.Got(poller.Result(t.Context()))(t).VirtualMachine
	equal(t, *vm.Properties.ProvisioningState, "Succeeded")
	equal(t, vm.Properties.OSProfile.AdminPassword == nil, true)
	equal(t, vm.Properties.OSProfile.CustomData == nil, true)
	equal(t, *vm.Properties.StorageProfile.ImageReference.ExactVersion, "1.36.3")

	h := newByHand(t, c)
	nics := "/subscriptions/" + armsim.Subscription + "/resourceGroups/" + armsim.Group +
		"/providers/Microsoft.Network/networkInterfaces"
	nic := only(t, doc.List(h.get(t, nics).body, "value"))
	if name := doc.Text(nic, "name"); !strings.HasPrefix(name, "win-1-") {
		t.Errorf("the NIC is %s", name)
	}
	equal(t, doc.Text(nic, "properties", "virtualMachine", "id"), *vm.ID)
	equal(t, doc.Text(nic, "id"), *vm.Properties.NetworkProfile.NetworkInterfaces[0].ID)
	equal(t, doc.Text(doc.List(nic, "properties", "ipConfigurations")[0], "properties", "privateIPAddress"), "10.1.0.4")
	equal(t, c.Names(armsim.Group, "Microsoft.Compute/disks"), []string{"win-1-os"})
	deleteWhole(t, c, s)
}

func deleteWhole(t *testing.T, c *armsim.Cloud, s clients) {
	t.Helper()
	poller := expect.Got(s.vms.BeginDelete(t.Context(), armsim.Group, "win-1",
		&armcompute.VirtualMachinesClientBeginDeleteOptions{ForceDeletion: new(true)}))(t)
	equal(t, vmStates(t, s, "win-1")[0], "ProvisioningState/deleting")
	c.Advance(time.Minute)
	polled(t, poller)
	if !poller.Done() {
		t.Error("the deletion has not ended")
	}
	for _, kind := range []string{
		"Microsoft.Compute/virtualMachines", "Microsoft.Compute/disks", "Microsoft.Network/networkInterfaces",
	} {
		if left := c.Names(armsim.Group, kind); len(left) > 0 {
			t.Errorf("%s are left: %s", kind, left)
		}
	}
	equal(t, c.ByClass()["PUT vm"], 1)
	equal(t, c.ByClass()["DELETE vm"], 1)
	equal(t, newByHand(t, c).do(t, http.MethodDelete, armsim.VMID("win-1").String(), nil).status, http.StatusNoContent)
}

func polled[T any](t *testing.T, poller *runtime.Poller[T]) {
	t.Helper()
	_, err := poller.Poll(t.Context()) //nolint:bodyclose // because the poller has read it
	expect.OK(t, err)
}

func vmStates(t *testing.T, s clients, name string) []string {
	t.Helper()
	view := expect.Got(s.vms.InstanceView(t.Context(), armsim.Group, name, nil))(t)
	var codes []string
	for _, status := range view.Statuses {
		codes = append(codes, *status.Code)
	}
	return codes
}

func list[P, T any](t *testing.T, pager *runtime.Pager[P], items func(P) []T) []T {
	t.Helper()
	var all []T
	for pager.More() {
		all = append(all, items(expect.Got(pager.NextPage(t.Context()))(t))...)
	}
	return all
}

func only[T any](t *testing.T, all []T) T {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%d items, want 1", len(all))
	}
	return all[0]
}

// Lists have pages, whose size and tokens are not the client's; the list of statuses has the power states, and the plain one has
// not.
func TestLists(t *testing.T) {
	c := armsim.New(t)
	s := sdk(t, c)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		expect.Got(s.vms.BeginCreateOrUpdate(t.Context(), armsim.Group, name, good(name), nil))(t)
	}
	c.Advance(10 * time.Minute)
	c.Change(func(w *armsim.Inside) { w.Faults.PageSize = 2 })
	c.Forget()
	vms := list(t, s.vms.NewListPager(armsim.Group, nil),
		func(p armcompute.VirtualMachinesClientListResponse) []*armcompute.VirtualMachine {
			return p.Value
		})
	var names []string
	for _, vm := range vms {
		names = append(names, *vm.Name)
		if vm.Properties.InstanceView != nil {
			t.Errorf("the list shows the instance view of %s", *vm.Name)
		}
	}
	equal(t, names, []string{"a", "b", "c", "d", "e"})
	equal(t, c.ByClass(), map[string]int{"GET vm list": 3})

	all := list(t, s.vms.NewListAllPager(&armcompute.VirtualMachinesClientListAllOptions{StatusOnly: new("true")}),
		func(p armcompute.VirtualMachinesClientListAllResponse) []*armcompute.VirtualMachine { return p.Value })
	running := slices.IndexFunc(all, func(vm *armcompute.VirtualMachine) bool {
		return *vm.Properties.InstanceView.Statuses[1].Code != "PowerState/running"
	}) < 0
	if len(all) != 5 || !running {
		t.Errorf("%d statuses, all running: %v", len(all), running)
	}
	if diff := cmp.Diff(map[string]int{"GET vm list": 3, "GET vm status list": 3}, c.ByClass()); diff != "" {
		t.Error(diff)
	}
}

// A copy is a VM like another: lists show it with its NIC and disk, its address is its own, and one DELETE takes all away.
func TestCopiesOfAVM(t *testing.T) {
	c := armsim.New(t)
	s := sdk(t, c)
	expect.Got(s.vms.BeginCreateOrUpdate(t.Context(), armsim.Group, "win-1", good("win-1"), nil))(t)
	c.Advance(10 * time.Minute)
	change := func(name string) func(string) string { return strings.NewReplacer("win-1", name).Replace }
	c.Copy(armsim.VMID("win-1"), []func(string) string{change("win-2"), change("win-3")})
	equal(t, c.Names(armsim.Group, "Microsoft.Compute/virtualMachines"), []string{"win-1", "win-2", "win-3"})
	equal(t, c.Names(armsim.Group, "Microsoft.Compute/disks"), []string{"win-1-os", "win-2-os", "win-3-os"})
	equal(t, vmStates(t, s, "win-3"), vmStates(t, s, "win-1"))
	nics := doc.List(newByHand(t, c).get(t, "/subscriptions/"+armsim.Subscription+"/resourceGroups/"+armsim.Group+
		"/providers/Microsoft.Network/networkInterfaces").body, "value")
	var all []string
	for _, nic := range nics {
		id, _ := doc.ParseID(doc.Text(nic, "properties", "virtualMachine", "id"))
		all = append(all, id.Name()+" "+doc.Text(doc.List(nic, "properties", "ipConfigurations")[0], "properties", "privateIPAddress"))
	}
	slices.Sort(all)
	equal(t, all, []string{"win-1 10.1.0.4", "win-2 10.1.0.5", "win-3 10.1.0.6"})
	expect.Got(s.vms.BeginDelete(t.Context(), armsim.Group, "win-2", nil))(t)
	c.Advance(time.Minute)
	equal(t, c.Names(armsim.Group, "Microsoft.Compute/disks"), []string{"win-1-os", "win-3-os"})
	equal(t, len(c.Names(armsim.Group, "Microsoft.Network/networkInterfaces")), 2)
}
