package armsim_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

func withPublicAddress(b doc.Object) {
	nic := doc.List(b, "properties", "networkProfile", "networkInterfaceConfigurations")[0]
	ip := doc.List(nic, "properties", "ipConfigurations")[0]
	doc.Set(ip, doc.Object{
		"name": "out", "sku": doc.Object{"name": "Standard"},
		"properties": doc.Object{"deleteOption": "Delete", "publicIPAllocationMethod": "Static"},
	}, "properties", "publicIPAddressConfiguration")
}

// ids are a VM in Group and what it has: VM, disk, NIC, public address.
func ids(t *testing.T, c *armsim.Cloud) map[string]doc.ID {
	t.Helper()
	all := map[string]doc.ID{}
	for kind, member := range members {
		name := only(t, c.Names(armsim.Group, kind))
		provider, typ, _ := strings.Cut(kind, "/")
		all[member.name] = doc.Resource(armsim.Subscription, armsim.Group, provider, typ, name)
	}
	return all
}

var members = map[string]struct{ name, unique string }{
	compute.VM: {"vm", "vmId"}, compute.Disk: {"disk", "uniqueId"}, network.NIC: {"nic", "resourceGuid"},
	network.PublicIP: {"ip", "resourceGuid"},
}

// What the platform calls a resource is in GET and in lists, and is another for the next resource of the same name.
func TestUniqueIDs(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	made := h.put(t, "vm", withPublicAddress)
	c.Advance(10 * time.Minute)
	first := ids(t, c)
	equal(t, doc.Text(made.body, "properties", "vmId"), c.UniqueID(first["vm"]))
	before := map[string]string{}
	for kind, member := range members {
		id := first[member.name]
		before[member.name] = c.UniqueID(id)
		if len(before[member.name]) != 36 {
			t.Errorf("%s has %q", id, before[member.name])
		}
		equal(t, doc.Text(h.get(t, id.String()).body, "properties", member.unique), before[member.name])
		in := "/subscriptions/" + armsim.Subscription + "/resourceGroups/" + armsim.Group + "/providers/" + kind
		equal(t, doc.Text(only(t, doc.List(h.get(t, in).body, "value")), "properties", member.unique), before[member.name])
	}
	again := h.put(t, "vm")
	equal(t, doc.Text(again.body, "properties", "vmId"), before["vm"])
	c.Advance(time.Minute)
	h.do(t, http.MethodDelete, first["vm"].String(), nil)
	c.Advance(10 * time.Minute)
	h.put(t, "vm", withPublicAddress)
	c.Advance(10 * time.Minute)
	for name, id := range ids(t, c) {
		if got := c.UniqueID(id); got == before[name] || len(got) != 36 {
			t.Errorf("the next %s has %q, the first had %q", name, got, before[name])
		}
	}
	equal(t, c.UniqueID(armsim.VMID("other")), "")
}

// The list of statuses has no vmId, and a cloud may leave it out everywhere. A NIC keeps its GUID when it is replaced.
func TestUniqueIDsThatAreNotTold(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "vm")
	all := "/subscriptions/" + armsim.Subscription + "/providers/Microsoft.Compute/virtualMachines?statusOnly=true"
	equal(t, doc.Text(only(t, doc.List(h.get(t, all).body, "value")), "properties", "vmId"), "")
	c.Change(func(w *armsim.Inside) { w.Compute.Faults.HideVMID = true })
	equal(t, doc.Text(h.get(t, armsim.VMID("vm").String()).body, "properties", "vmId"), "")
	equal(t, doc.Text(only(t, doc.List(h.get(t, vmsOfGroup).body, "value")), "properties", "vmId"), "")

	h.do(t, http.MethodPut, nicID("a"), staticNIC("10.1.5.5"))
	c.Advance(time.Minute)
	id, _ := doc.ParseID(nicID("a"))
	guid := c.UniqueID(id)
	h.do(t, http.MethodPut, nicID("a"), staticNIC("10.1.5.6"))
	equal(t, c.UniqueID(id), guid)
}
