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
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

const elsewhere = "elsewhere"

// A VM that was moved by hand is the same VM under another id, with all that it has; its old id is gone.
func TestMoveOfAVM(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "vm", withPublicAddress)
	c.Advance(10 * time.Minute)
	before := ids(t, c)
	c.MergeTags(before["vm"], map[string]string{"at": before["vm"].String()})
	unique, tags := map[string]string{}, c.Tags(before["vm"])
	for name, id := range before {
		unique[name] = c.UniqueID(id)
	}
	moved := c.MoveVM(before["vm"], elsewhere)
	equal(t, moved.Group, elsewhere)
	equal(t, c.Tags(moved), tags)
	for name, old := range before {
		id := old
		id.Group = elsewhere
		h.get(t, old.String()).refused(t, http.StatusNotFound, "ResourceNotFound", armsim.Group)
		equal(t, h.get(t, id.String()).status, http.StatusOK)
		equal(t, c.UniqueID(id), unique[name])
	}
	shown := h.get(t, moved.String()).body
	nic := doc.Text(doc.List(shown, "properties", "networkProfile", "networkInterfaces")[0], "id")
	equal(t, strings.Contains(nic, "/"+elsewhere+"/"), true)
	equal(t, doc.Text(h.get(t, nic).body, "properties", "virtualMachine", "id"), moved.String())
	equal(t, doc.Text(h.get(t, moved.String()+"/instanceView").body, "computerName"), "vm")
	h.do(t, http.MethodDelete, moved.String(), nil)
	c.Advance(time.Minute)
	for _, kind := range []string{compute.VM, compute.Disk, network.NIC, network.PublicIP} {
		equal(t, len(c.Names(elsewhere, kind)), 0)
	}
}

// Lists show a move as late as other changes; the subscription's list of states has the VM in the other group then.
func TestMoveIsSeenLate(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "vm")
	c.Advance(10 * time.Minute)
	c.Change(func(w *armsim.Inside) { w.World.Lag = world.Lag{List: time.Minute} })
	c.MoveVM(armsim.VMID("vm"), elsewhere)
	vms := func() (in []string) {
		all := h.get(t, "/subscriptions/"+armsim.Subscription+"/providers/Microsoft.Compute/virtualMachines?statusOnly=true").body
		for _, one := range doc.List(all, "value") {
			id, _ := doc.ParseID(doc.Text(one, "id"))
			in = append(in, strings.ToLower(id.Group))
		}
		return in
	}
	equal(t, vms(), []string{strings.ToLower(armsim.Group)})
	c.Advance(time.Minute)
	equal(t, vms(), []string{strings.ToLower(elsewhere)})
}

// A move takes minutes, in which nothing is written or deleted in both groups.
func TestMoveByRequest(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "vm")
	vm := armsim.VMID("vm").String()
	c.AddGroup(armsim.Subscription, elsewhere)
	move := func(group string) answer {
		t.Helper()
		return h.do(t, http.MethodPost, groups+armsim.Group+"/moveResources?api-version=2021-04-01", doc.Object{
			"resources": []any{vm}, "targetResourceGroup": groups + group,
		})
	}
	move(elsewhere).refused(t, http.StatusConflict, "ResourceMoveProviderValidationFailed", "validation failed")
	c.Advance(10 * time.Minute)
	move("nowhere").refused(t, http.StatusNotFound, "ResourceGroupNotFound", "nowhere")
	a := move(elsewhere)
	equal(t, a.status, http.StatusAccepted)
	location := strings.TrimPrefix(a.header.Get("Location"), c.Endpoint())
	equal(t, h.get(t, location).status, http.StatusAccepted)
	h.put(t, "vm").refused(t, http.StatusConflict, "ScopeLocked", "lock")
	h.do(t, http.MethodDelete, vm, nil).refused(t, http.StatusConflict, "ScopeLocked", "lock")
	equal(t, h.get(t, vm).status, http.StatusOK)
	c.Advance(10 * time.Minute)
	equal(t, h.get(t, location).status, http.StatusOK)
	equal(t, h.get(t, vm).code(), "ResourceNotFound")
	there := strings.Replace(vm, armsim.Group, elsewhere, 1)
	equal(t, h.get(t, there).status, http.StatusOK)
	equal(t, h.do(t, http.MethodDelete, there, nil).status, http.StatusAccepted)
}
