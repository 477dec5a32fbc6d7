package inspect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// templateSays compares a result and what it begins with.
func templateSays(t *testing.T, what string, check func() (Result, string), want Result, begins string) {
	t.Helper()
	if got, says := check(); got != want || !strings.HasPrefix(says, begins) {
		t.Errorf("%s: %s %q, want %s %q", what, got, says, want, begins)
	}
}

// TestFacts: each property of the template means one thing, and what the vCenter does not say is not there.
func TestFacts(t *testing.T) {
	secure := true
	store := types.ManagedObjectReference{Type: "Datastore", Value: "datastore-1"}
	f := factsOf(map[string]any{
		"config.template": true, "runtime.powerState": types.VirtualMachinePowerStatePoweredOff,
		"config.guestId": "windows2019srvNext_64Guest", "config.version": "vmx-19", "config.firmware": "efi",
		"config.tools":       types.ToolsConfigInfo{ToolsVersion: 1},
		"config.bootOptions": types.VirtualMachineBootOptions{EfiSecureBootEnabled: &secure},
		"datastore":          types.ArrayOfManagedObjectReference{ManagedObjectReference: []types.ManagedObjectReference{store}},
		"summary.storage":    types.VirtualMachineStorageSummary{Committed: 7},
		"snapshot":           types.VirtualMachineSnapshotInfo{},
	})
	want := facts{
		guest: "windows2019srvNext_64Guest", tools: true, version: "vmx-19", firmware: "efi", secureBoot: true, size: 7,
		datastores: []types.ManagedObjectReference{store}, devices: devices{snapshots: true},
	}
	expect.Same(t, "facts", fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", f))
	insecure := false
	f = factsOf(map[string]any{
		"config.tools":       types.ToolsConfigInfo{},
		"config.bootOptions": types.VirtualMachineBootOptions{EfiSecureBootEnabled: &insecure},
		userDataPath:         types.OptionValue{},
	})
	if !f.isVM || !f.runs || f.tools || f.secureBoot || !f.userData {
		t.Errorf("facts of a VM = %+v", f)
	}
	if f := factsOf(map[string]any{"config.bootOptions": types.VirtualMachineBootOptions{}}); f.secureBoot {
		t.Error("a template whose vCenter does not say so has secure boot")
	}
}

// TestTemplate: a VM that runs is refused, one that does not is warned of, and its firmware is told.
func TestTemplate(t *testing.T) {
	templateSays(t, "a VM that runs", facts{isVM: true, runs: true}.state, Failed, "it is a VM that runs")
	templateSays(t, "a VM", facts{isVM: true}.state, Warning, "it is a VM and no template")
	templateSays(t, "a template", facts{}.state, OK, "it is a template")
	templateSays(t, "a template of unknown state", facts{runs: true}.state, OK, "it is a template")
	templateSays(t, "Windows", facts{guest: "Windows9Server64Guest"}.system, OK, "Windows9Server64Guest")
	templateSays(t, "BIOS", facts{version: "vmx-19", firmware: "bios", secureBoot: true}.hardware, OK, "vmx-19, BIOS")
	templateSays(t, "EFI", facts{version: "vmx-19", firmware: "efi"}.hardware, OK, "vmx-19, EFI without secure boot")
	secure := facts{version: "vmx-19", firmware: "efi", secureBoot: true}
	templateSays(t, "secure", secure.hardware, OK, "vmx-19, EFI with secure boot")
}

// TestTemplateAdapters: how many a VM gets, keeps and loses.
func TestTemplateAdapters(t *testing.T) {
	for _, c := range []struct {
		wants, has int
		want       Result
		says       string
	}{
		{0, 0, Failed, "the template has none, and so would the VM: set spec.vsphere.networkInterfaces"},
		{0, 1, OK, "a VM keeps the template's, 1, and their networks"},
		{1, 0, OK, "the spec has 1, and the template 0: 1 are added"},
		{3, 1, OK, "the spec has 3, and the template 1: 2 are added to a VM, of type VMXNET3"},
		{1, 3, OK, "the spec has 1, and the template 3: 2 are removed from a VM"},
		{2, 2, OK, "the spec and the template have 2"},
	} {
		r := &inspection{placement: places.Placement{Adapters: make([]places.Adapter, c.has)}}
		r.Spec.NetworkInterfaces = make([]infrav1.VSphereNetworkInterface, c.wants)
		templateSays(t, c.says, r.adapters, c.want, c.says)
	}
	r := &inspection{}
	templateSays(t, "no vApp", r.vApp, OK, "the template has no vApp")
	r.placement.VAppConfig = new(true)
	templateSays(t, "vApp", r.vApp, OK, "the template has a vApp configuration, which is removed")
}

// TestTemplateSpace: what is not known is not compared.
func TestTemplateSpace(t *testing.T) {
	store := types.ManagedObjectReference{Type: "Datastore", Value: "datastore-1"}
	for name, r := range map[string]*inspection{
		"no datastore":    {facts: facts{size: 1}},
		"two datastores":  {facts: facts{size: 1, datastores: []types.ManagedObjectReference{store, store}}},
		"size":            {facts: facts{datastores: []types.ManagedObjectReference{store}}},
		"none of its own": {facts: facts{size: 1, datastores: []types.ManagedObjectReference{{}}}},
		"not found": {
			Subject: Subject{Spec: infrav1.VSphereVM{Datastore: "gone"}},
			facts:   facts{size: 1, datastores: []types.ManagedObjectReference{store}},
			sites:   []places.Site{{Field: places.Datastore, Name: "gone", Err: errors.New("gone")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			templateSays(t, name, func() (Result, string) { return r.space(t.Context()) }, Skipped, "the datastore, or the space that "+
				"the template")
		})
	}
}

// TestDepends: a check is made after one that was OK or warned, and after no other.
func TestDepends(t *testing.T) {
	for before, want := range map[Result]Result{OK: OK, Warning: OK, Failed: Skipped, Skipped: Skipped, "": Skipped} {
		r := &inspection{results: map[string]Result{"first": before}}
		r.add("second", "first", func() (Result, string) { return OK, "made" })
		expect.Same(t, "after "+string(before), want, r.findings[0].Result)
		expect.Same(t, "noted after "+string(before), want, r.results["second"])
	}
}
