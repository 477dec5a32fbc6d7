package armsim_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

func script(name string) armcompute.VirtualMachineExtension {
	return armcompute.VirtualMachineExtension{
		Location: new(armsim.Location), Properties: &armcompute.VirtualMachineExtensionProperties{
			Publisher: new("Microsoft.Compute"), Type: &name, TypeHandlerVersion: new("1.10"),
			Settings: map[string]any{"commandToExecute": "hostname"}, ProtectedSettings: map[string]any{"key": "canary"},
		},
	}
}

// Extensions and run commands are made, shown without their secrets, taken away, and gone with their VM.
func TestPartsOfAVM(t *testing.T) {
	c := armsim.New(t)
	credential := expect.Got(azidentity.NewClientSecretCredential(armsim.Tenant, armsim.ClientID, armsim.Secret,
		&azidentity.ClientSecretCredentialOptions{ClientOptions: cloudOf(c), DisableInstanceDiscovery: true}))(t)
	o := &arm.ClientOptions{ClientOptions: cloudOf(c), DisableRPRegistration: true}
	extensions := expect.Got(armcompute.NewVirtualMachineExtensionsClient(armsim.Subscription, credential, o))(t)
	commands := expect.Got(armcompute.NewVirtualMachineRunCommandsClient(armsim.Subscription, credential, o))(t)
	h := newByHand(t, c)
	h.put(t, "vm")
	c.Advance(10 * time.Minute)
	made := expect.Got(extensions.BeginCreateOrUpdate(t.Context(), armsim.Group, "vm", "script", script("Script"), nil))(t)
	c.Advance(time.Minute)
	polled(t, made)
	shown := expect.Got(made.Result(t.Context()))(t)
	equal(t, *shown.Properties.ProvisioningState, "Succeeded")
	if shown.Properties.ProtectedSettings != nil {
		t.Error("secrets are shown")
	}
	expect.Got(extensions.BeginCreateOrUpdate(t.Context(), armsim.Group, "vm", "other", script("Other"), nil))(t)
	run := expect.Got(commands.BeginCreateOrUpdate(t.Context(), armsim.Group, "vm", "run", armcompute.VirtualMachineRunCommand{
		Location: new(armsim.Location), Properties: &armcompute.VirtualMachineRunCommandProperties{
			Source: &armcompute.VirtualMachineRunCommandScriptSource{Script: new("hostname")},
		},
	}, nil))(t)
	c.Advance(time.Minute)
	polled(t, run)
	did := expect.Got(commands.GetByVirtualMachine(t.Context(), armsim.Group, "vm", "run",
		&armcompute.VirtualMachineRunCommandsClientGetByVirtualMachineOptions{Expand: new("instanceView")}))(t)
	equal(t, *did.Properties.InstanceView.ExecutionState, armcompute.ExecutionStateSucceeded)
	equal(t, len(expect.Got(extensions.List(t.Context(), armsim.Group, "vm", nil))(t).Value), 2)
	equal(t, len(doc.List(h.get(t, armsim.VMID("vm").String()).body, "resources")), 2)
	removed := expect.Got(extensions.BeginDelete(t.Context(), armsim.Group, "vm", "other", nil))(t)
	c.Advance(time.Minute)
	polled(t, removed)
	equal(t, removed.Done(), true)
	equal(t, len(expect.Got(extensions.List(t.Context(), armsim.Group, "vm", nil))(t).Value), 1)
	h.do(t, http.MethodDelete, armsim.VMID("vm").String(), nil)
	c.Advance(time.Minute)
	for _, kind := range []string{"Microsoft.Compute/virtualMachines/extensions", "Microsoft.Compute/virtualMachines/runCommands"} {
		if left := c.Names(armsim.Group, kind); len(left) > 0 {
			t.Errorf("%s are left: %s", kind, left)
		}
	}
}

// What has no agent gets no extension: no VM, one without the right to it, one that does not run, one whose guest is silent.
func TestPartsRefused(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	put := func(vm, name, kind string) answer {
		return h.do(t, http.MethodPut, armsim.VMID(vm).String()+"/extensions/"+name, doc.Object{
			"location": armsim.Location, "properties": doc.Object{"publisher": "p", "type": kind, "typeHandlerVersion": "1.0"},
		})
	}
	put("none", "a", "a").refused(t, http.StatusNotFound, "ParentResourceNotFound", "virtualMachines/extensions")
	h.put(t, "closed", func(b doc.Object) { doc.Set(b, false, "properties", "osProfile", "allowExtensionOperations") })
	c.Change(func(w *armsim.Inside) { w.Compute.Faults.Silent = true })
	h.put(t, "silent")
	put("silent", "a", "a").refused(t, http.StatusConflict, "OperationNotAllowed", "when the VM is not running")
	c.Advance(10 * time.Minute)
	put("closed", "a", "a").refused(t, http.StatusConflict, "OperationNotAllowed", "when extension operations are disallowed")
	a := put("silent", "a", "a")
	put("silent", "b", "A").refused(t, http.StatusBadRequest, "BadRequest", "VMExtension 'a' with handler 'p.A' already added")
	c.Advance(2 * time.Hour)
	equal(t, doc.Text(h.poll(t, a).body, "error", "code"), "VMExtensionProvisioningTimeout")
	h.do(t, http.MethodDelete, armsim.VMID("silent").String(), nil)
	put("silent", "c", "c").refused(t, http.StatusConflict, "OperationNotAllowed", "marked for deletion")
}

// Preconditions of a NIC's PUT.
func TestNICPreconditions(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	put := func(header ...string) answer {
		return h.do(t, http.MethodPut, nicID("a"), staticNIC("10.1.5.5"), header...)
	}
	put("If-Match", "*").refused(t, http.StatusPreconditionFailed, "PreconditionFailed", "if-match")
	equal(t, put("If-None-Match", "*").status, http.StatusCreated)
	c.Advance(time.Minute)
	put("If-None-Match", "*").refused(t, http.StatusPreconditionFailed, "PreconditionFailed", "already exists")
	put("If-Match", `W/"other"`).refused(t, http.StatusPreconditionFailed, "PreconditionFailed", "does not match etag")
	equal(t, put("If-Match", doc.Text(h.get(t, nicID("a")).body, "etag")).status, http.StatusOK)
	c.Advance(time.Minute)
	c.Change(func(w *armsim.Inside) { w.Network.IgnorePreconditions = true })
	equal(t, put("If-None-Match", "*").status, http.StatusOK)
}

// A NIC that stays keeps its hardware address. After a forced deletion it is busy for ten minutes, and a VM with it fails.
func TestForcedDeletionKeepsMAC(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.do(t, http.MethodPut, nicID("a"), staticNIC("10.1.5.5"))
	c.Advance(time.Minute)
	withA := func(b doc.Object) {
		doc.Set(b, doc.Object{"networkInterfaces": doc.Objects(doc.Object{
			"id": nicID("a"), "properties": doc.Object{"primary": true, "deleteOption": "Detach"},
		})}, "properties", "networkProfile")
	}
	mac := func() string { return doc.Text(h.get(t, nicID("a")).body, "properties", "macAddress") }
	h.put(t, "one", withA)
	c.Advance(10 * time.Minute)
	was := mac()
	if !strings.HasPrefix(was, "00-0D-3A-") {
		t.Fatalf("the address is %q", was)
	}
	h.do(t, http.MethodDelete, armsim.VMID("one").String()+"?forceDeletion=true", nil)
	c.Advance(time.Minute)
	equal(t, mac(), was)
	a := h.put(t, "two", withA)
	c.Advance(time.Minute)
	equal(t, doc.Text(h.poll(t, a).body, "error", "code"), "NetworkingInternalOperationError")
	h.do(t, http.MethodDelete, armsim.VMID("two").String(), nil)
	c.Advance(10 * time.Minute)
	h.put(t, "three", withA)
	c.Advance(10 * time.Minute)
	equal(t, doc.Text(h.get(t, armsim.VMID("three").String()).body, "properties", "provisioningState"), "Succeeded")
	equal(t, mac(), was)
}
