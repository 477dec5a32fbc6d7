package armsim_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

func nicID(name string) string {
	return doc.Resource(armsim.Subscription, armsim.Group, "Microsoft.Network", "networkInterfaces", name).String()
}

func staticNIC(address string) doc.Object {
	return doc.Object{"location": armsim.Location, "properties": doc.Object{"ipConfigurations": doc.Objects(doc.Object{
		"name": "ip", "properties": doc.Object{
			"subnet": doc.Object{"id": armsim.SubnetID}, "privateIPAllocationMethod": "Static", "privateIPAddress": address,
		},
	})}}
}

// A NIC that was made first keeps its address, belongs to its VM, and goes with it if the reference says so.
func TestSeparateNICs(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	equal(t, h.do(t, http.MethodPut, nicID("a"), staticNIC("10.1.5.5")).status, http.StatusCreated)
	h.do(t, http.MethodDelete, nicID("a"), nil).
		refused(t, http.StatusTooManyRequests, "RetryableErrorDueToAnotherOperation", "can be retried")
	h.do(t, http.MethodPut, nicID("a"), staticNIC("10.1.5.5")).
		refused(t, http.StatusTooManyRequests, "RetryableErrorDueToAnotherOperation", "can be retried")
	h.do(t, http.MethodPut, nicID("b"), staticNIC("10.1.5.5")).refused(t, http.StatusBadRequest, "PrivateIPAddressInUse", "10.1.5.5")
	h.do(t, http.MethodPut, nicID("b"), staticNIC("10.9.5.5")).
		refused(t, http.StatusBadRequest, "PrivateIPAddressNotInSubnet", "10.9.5.5")
	withA := func(b doc.Object) {
		doc.Set(b, doc.Object{"networkInterfaces": doc.Objects(doc.Object{
			"id": nicID("a"), "properties": doc.Object{"primary": true, "deleteOption": "Delete"},
		})}, "properties", "networkProfile")
	}
	h.put(t, "vm", withA).refused(t, http.StatusTooManyRequests, "RetryableError", "retryable error")
	c.Advance(time.Minute)
	h.put(t, "vm", withA)
	c.Advance(time.Minute)
	equal(t, doc.Text(h.get(t, nicID("a")).body, "properties", "virtualMachine", "id"), armsim.VMID("vm").String())
	h.do(t, http.MethodDelete, nicID("a"), nil).refused(t, http.StatusBadRequest, "NicInUse", "must be dissociated")
	h.do(t, http.MethodDelete, armsim.VMID("vm").String(), nil)
	c.Advance(time.Minute)
	equal(t, h.get(t, nicID("a")).status, http.StatusNotFound)
}

// Deallocated and stopped show in the power state only; a start brings the VM back.
func TestPower(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "vm")
	c.Advance(10 * time.Minute)
	power := func() string {
		statuses := doc.List(h.get(t, armsim.VMID("vm").String()+"/instanceView").body, "statuses")
		return doc.Text(statuses[1], "code")
	}
	for _, step := range []struct{ action, meanwhile, after string }{
		{"deallocate", "PowerState/deallocating", "PowerState/deallocated"},
		{"start", "PowerState/starting", "PowerState/running"},
		{"powerOff", "PowerState/stopping", "PowerState/stopped"},
	} {
		a := h.do(t, http.MethodPost, armsim.VMID("vm").String()+"/"+step.action, nil)
		equal(t, a.status, http.StatusAccepted)
		equal(t, power(), step.meanwhile)
		c.Advance(time.Minute)
		equal(t, power(), step.after)
		equal(t, doc.Text(h.poll(t, a).body, "status"), "Succeeded")
	}
	equal(t, doc.Text(h.get(t, armsim.VMID("vm").String()).body, "properties", "provisioningState"), "Succeeded")
	c.Shutdown(armsim.VMID("vm"))
	equal(t, power(), "PowerState/stopped")
}
