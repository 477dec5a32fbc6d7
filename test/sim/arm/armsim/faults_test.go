package armsim_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// put makes a VM by hand and wants it accepted.
func (h byHand) put(t *testing.T, name string, changes ...func(doc.Object)) answer {
	t.Helper()
	b := body(t, name)
	for _, change := range changes {
		change(b)
	}
	return h.do(t, http.MethodPut, armsim.VMID(name).String(), b)
}

func (h byHand) get(t *testing.T, path string) answer {
	t.Helper()
	return h.do(t, http.MethodGet, path, nil)
}

// poll asks for the operation that an answer names.
func (h byHand) poll(t *testing.T, a answer) answer {
	t.Helper()
	path, ok := strings.CutPrefix(a.header.Get("Azure-AsyncOperation"), h.cloud.Endpoint())
	if !ok {
		t.Fatalf("no operation: %d %v", a.status, a.body)
	}
	return h.do(t, http.MethodGet, path, nil)
}

func (a answer) refused(t *testing.T, status int, code, text string) {
	t.Helper()
	if a.status != status || a.code() != code || !strings.Contains(a.message(), text) {
		t.Errorf("got %d %s %q, want %d %s %q", a.status, a.code(), a.message(), status, code, text)
	}
}

func spot(policy string) func(doc.Object) {
	return func(b doc.Object) {
		doc.Set(b, "Spot", "properties", "priority")
		doc.Set(b, policy, "properties", "evictionPolicy")
	}
}

func TestLagOfListsAndGets(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	c.Change(func(w *armsim.Inside) { w.World.Lag.List, w.World.Lag.Get = 2*time.Minute, time.Minute })
	vms := armsim.VMID("").String()
	vms = vms[:strings.LastIndex(vms, "/")]
	h.put(t, "late")
	h.get(t, armsim.VMID("late").String()).
		refused(t, http.StatusNotFound, "ResourceNotFound", "'Microsoft.Compute/virtualMachines/late'")
	c.Advance(time.Minute)
	equal(t, h.get(t, armsim.VMID("late").String()).status, http.StatusOK)
	equal(t, len(doc.List(h.get(t, vms).body, "value")), 0)
	c.Advance(time.Minute)
	equal(t, len(doc.List(h.get(t, vms).body, "value")), 1)
	h.do(t, http.MethodDelete, armsim.VMID("late").String(), nil)
	c.Advance(time.Minute)
	equal(t, h.get(t, armsim.VMID("late").String()).status, http.StatusNotFound)
	equal(t, len(doc.List(h.get(t, vms).body, "value")), 1)
	c.Advance(2 * time.Minute)
	equal(t, len(doc.List(h.get(t, vms).body, "value")), 0)
}

func TestLostAnswer(t *testing.T) {
	c := armsim.New(t)
	s := sdk(t, c)
	c.Change(func(w *armsim.Inside) {
		w.Faults.Lose = func(call armsim.Call) bool { return call.Method == http.MethodPut }
	})
	if _, err := s.vms.BeginCreateOrUpdate(t.Context(), armsim.Group, "lost", good("lost"), nil); err == nil {
		t.Error("the answer has arrived")
	}
	equal(t, c.Names(armsim.Group, "Microsoft.Compute/virtualMachines"), []string{"lost"})
}

// An allocation that fails leaves a VM that is Failed, whose NIC is reserved: the cascade of its deletion leaves the NIC.
func TestNoCapacity(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	c.Change(func(w *armsim.Inside) {
		w.Compute.Faults.Full = func(_, zone string) string { return "ZonalAllocationFailed" + zone[1:] }
	})
	a := h.put(t, "full")
	c.Advance(time.Minute)
	operation := h.poll(t, a).body
	equal(t, doc.Text(operation, "status"), "Failed")
	equal(t, doc.Text(operation, "error", "code"), "ZonalAllocationFailed")
	view := h.get(t, armsim.VMID("full").String()+"/instanceView").body
	equal(t, doc.Text(doc.List(view, "statuses")[0], "code"), "ProvisioningState/failed/ZonalAllocationFailed")
	h.do(t, http.MethodDelete, armsim.VMID("full").String()+"?forceDeletion=true", nil)
	c.Advance(time.Minute)
	left := c.Names(armsim.Group, "Microsoft.Network/networkInterfaces")
	if len(left) != 1 {
		t.Fatalf("NICs %s are left", left)
	}
	nic := doc.Resource(armsim.Subscription, armsim.Group, "Microsoft.Network", "networkInterfaces", left[0]).String()
	h.do(t, http.MethodDelete, nic, nil).refused(t, http.StatusBadRequest, "NicReservedForAnotherVm", "for 180 seconds")
	c.Advance(3 * time.Minute)
	equal(t, h.do(t, http.MethodDelete, nic, nil).status, http.StatusAccepted)
	c.Advance(time.Minute)
	equal(t, len(c.Names(armsim.Group, "Microsoft.Network/networkInterfaces")), 0)
}

func TestRefusedAtOnce(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	c.Change(func(w *armsim.Inside) { w.Compute.Faults.Cores = map[string]int{"standardDSv5Family": 2} })
	h.put(t, "quota").refused(t, http.StatusConflict, "OperationNotAllowed", "exceeding approved standardDSv5Family Cores quota")
	c.Change(func(w *armsim.Inside) {
		w.Compute.Faults.Cores = nil
		w.Compute.Faults.Restricted = func(size, zone string) bool { return size == "Standard_D4s_v5" && zone == "1" }
	})
	h.put(t, "sku").refused(t, http.StatusConflict, "SkuNotAvailable", "not available in location 'westeurope'")
	c.Change(func(w *armsim.Inside) {
		w.Compute.Faults.Restricted = nil
		w.Compute.Faults.Policy = func(doc.ID, doc.Object) string { return "no-windows" }
	})
	h.put(t, "policy").refused(t, http.StatusForbidden, "RequestDisallowedByPolicy", "no-windows")
	c.Change(func(w *armsim.Inside) { w.Compute.Faults.Policy = nil })
	set := func(value any, path ...string) func(doc.Object) {
		return func(b doc.Object) { doc.Set(b, value, path...) }
	}
	image := []string{"properties", "storageProfile", "imageReference"}
	h.put(t, "image", set(doc.Object{"id": armsim.ManagedImage + "x"}, image...)).
		refused(t, http.StatusNotFound, "NotFound", "cannot be found")
	h.put(t, "plan", set(platform(armsim.PlanImage), image...)).
		refused(t, http.StatusBadRequest, "VMMarketplaceInvalidInput", "requires Plan")
	h.put(t, "size", set("Standard_X", "properties", "hardwareProfile", "vmSize")).
		refused(t, http.StatusBadRequest, "InvalidParameter", "Standard_X")
	h.put(t, "disk", set(30, "properties", "storageProfile", "osDisk", "diskSizeGB")).
		refused(t, http.StatusConflict, "OperationNotAllowed", "40 GB")
	h.put(t, "rule", set("windows_server", "properties", "licenseType")).
		refused(t, http.StatusBadRequest, "InvalidParameter", "case sensitive")
	equal(t, len(c.Names(armsim.Group, "Microsoft.Compute/virtualMachines")), 0)
}

// An image has a system and a generation, which the rest of the request must suit.
func TestUnsuitableImages(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	image := func(name string) func(doc.Object) {
		return func(b doc.Object) {
			doc.Set(b, doc.Object{"id": armsim.ManagedImage + name}, "properties", "storageProfile", "imageReference")
		}
	}
	c.Change(func(w *armsim.Inside) {
		w.Compute.AddImage(compute.Image{Name: armsim.ManagedImage + "-linux", SizeGB: 30, Generation: "V2", Linux: true})
		w.Compute.AddImage(compute.Image{Name: armsim.ManagedImage + "-v1", SizeGB: 30, Generation: "V1"})
	})
	h.put(t, "linux", image("-linux")).
		refused(t, http.StatusBadRequest, "InvalidParameter", "The value of parameter windowsConfiguration is invalid.")
	h.put(t, "trusted", image("-v1"), func(b doc.Object) {
		doc.Set(b, "TrustedLaunch", "properties", "securityProfile", "securityType")
	}).refused(t, http.StatusBadRequest, "BadRequest", "Use of TrustedLaunch setting is not supported for the provided image.")
	equal(t, len(c.Names(armsim.Group, "Microsoft.Compute/virtualMachines")), 0)
	equal(t, h.put(t, "plain", image("-v1")).status, http.StatusCreated)
}

func platform(name string) doc.Object {
	parts := strings.Split(name, "/")
	return doc.Object{"publisher": parts[0], "offer": parts[1], "sku": parts[2], "version": "latest"}
}

func TestEvictions(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "stays", spot("Deallocate"))
	h.put(t, "goes", spot("Delete"))
	h.put(t, "early", spot("Delete"))
	equal(t, c.Evict(armsim.VMID("early")), true)
	equal(t, h.get(t, armsim.VMID("early").String()).status, http.StatusNotFound)
	c.Advance(10 * time.Minute)
	equal(t, c.Evict(armsim.VMID("stays")) && c.Evict(armsim.VMID("goes")), true)
	equal(t, h.get(t, armsim.VMID("goes").String()).status, http.StatusNotFound)
	all := h.get(t, "/subscriptions/"+armsim.Subscription+"/providers/Microsoft.Compute/virtualMachines?statusOnly=true").body
	statuses := doc.List(doc.List(all, "value")[0], "properties", "instanceView", "statuses")
	equal(t, doc.Text(statuses[1], "code"), "PowerState/deallocated")
	disk := h.get(t, strings.Replace(armsim.VMID("stays-os").String(), "virtualMachines", "disks", 1)).body
	equal(t, doc.Text(disk, "properties", "diskState"), "Reserved")
}

// The guest's word: silence ends after 40 minutes, a failure at once, cut at 512 characters; what comes later changes nothing.
func TestGuests(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	c.Change(func(w *armsim.Inside) { w.Compute.Faults.Silent = true })
	silent := h.put(t, "silent")
	c.Advance(39 * time.Minute)
	equal(t, doc.Text(h.poll(t, silent).body, "status"), "InProgress")
	c.Advance(2 * time.Minute)
	equal(t, doc.Text(h.poll(t, silent).body, "error", "code"), "OSProvisioningTimedOut")
	c.Change(func(w *armsim.Inside) {
		w.Compute.Faults.Silent = false
		w.Compute.Faults.Failing = "capwin1|uid|" + strings.Repeat("x", 600)
	})
	failing := h.put(t, "failing")
	c.Advance(6 * time.Minute)
	message := doc.Text(h.poll(t, failing).body, "error", "message")
	if !strings.Contains(message, "capwin1|uid|"+strings.Repeat("x", 500)+" Make sure") {
		t.Errorf("the operation says %q", message)
	}
	c.Advance(time.Hour)
	equal(t, doc.Text(h.poll(t, failing).body, "error", "code"), "OSProvisioningClientError")
}

// A deletion overtakes a creation; a PUT does not, and is refused while either runs.
func TestPreemption(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	a := h.put(t, "vm")
	h.put(t, "vm").refused(t, http.StatusConflict, "OperationNotAllowed", "another operation is in progress")
	deletion := h.do(t, http.MethodDelete, armsim.VMID("vm").String(), nil)
	equal(t, deletion.status, http.StatusAccepted)
	equal(t, doc.Text(h.poll(t, a).body, "error", "code"), "OperationPreempted")
	h.put(t, "vm").refused(t, http.StatusConflict, "OperationNotAllowed", "is marked for deletion")
	c.Advance(time.Minute)
	equal(t, doc.Text(h.poll(t, deletion).body, "status"), "Succeeded")
}

// If-None-Match makes a PUT create only, from 2023-09-01 on; older versions ignore it and merge.
func TestPreconditions(t *testing.T) {
	c := armsim.New(t)
	s, h := sdk(t, c), newByHand(t, c)
	h.put(t, "vm")
	c.Advance(10 * time.Minute)
	_, err := s.vms.BeginCreateOrUpdate(t.Context(), armsim.Group, "vm", good("vm"),
		&armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions{IfNoneMatch: new("*")})
	expect.Says(t, "the second PUT", err, "PreconditionFailed")
	h.version = "2023-07-01"
	old := h.do(t, http.MethodPut, armsim.VMID("vm").String(), doc.Object{
		"location": armsim.Location, "properties": body(t, "vm")["properties"],
	},
		"If-None-Match", "*")
	equal(t, old.status, http.StatusBadRequest) // tags of inline NICs are newer
	change := doc.Object{"location": armsim.Location, "tags": doc.Object{"more": "x"}}
	equal(t, h.do(t, http.MethodPut, armsim.VMID("vm").String(), change, "If-None-Match", "*").status, http.StatusOK)
	equal(t, h.get(t, armsim.VMID("vm").String()).body["tags"], any(doc.Object{"more": "x", "capwin-owner": "default/vm"}))
}

func TestWhatACascadeLeaves(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	c.Change(func(w *armsim.Inside) { w.Network.Leave, w.Compute.Faults.LeaveDisks = true, true })
	h.put(t, "vm")
	c.Advance(10 * time.Minute)
	c.Lock(armsim.VMID("vm").String())
	h.do(t, http.MethodDelete, armsim.VMID("vm").String(), nil).refused(t, http.StatusConflict, "ScopeLocked", "Please remove the "+
		"lock")
	c.Unlock()
	h.do(t, http.MethodDelete, armsim.VMID("vm").String(), nil)
	c.Advance(time.Minute)
	equal(t, len(c.Names(armsim.Group, "Microsoft.Network/networkInterfaces")), 1)
	equal(t, c.Names(armsim.Group, "Microsoft.Compute/disks"), []string{"vm-os"})
	disk := strings.Replace(armsim.VMID("vm-os").String(), "virtualMachines", "disks", 1)
	h.do(t, http.MethodDelete, disk, nil)
	c.Advance(time.Minute)
	equal(t, len(c.Names(armsim.Group, "Microsoft.Compute/disks")), 0)
}
