package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/units"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// checkTemplate reads the template.
const checkTemplate = "template"

// userDataPath is what a guest was given when the template was a VM. Its value is never shown.
const userDataPath = `config.extraConfig["guestinfo.userdata"]`

// facts are what the vCenter shows of the template.
type facts struct {
	err        error
	isVM, runs bool // it is no template; it is switched on
	guest      string
	tools      bool
	version    string // of its hardware
	firmware   string
	secureBoot bool
	userData   bool
	datastores []types.ManagedObjectReference
	size       int64 // bytes that it takes; 0 if they are not known
	devices    devices
}

func (r *inspection) readFacts(ctx context.Context) facts {
	f, err := session.Do(ctx, r.Session, func(ctx context.Context, c *vim25.Client) (facts, error) {
		ref := r.placement.Template
		found, err := session.Read(ctx, c, session.Source{Object: ref}, ref.Type, append([]string{
			"config.template", "runtime.powerState", "config.guestId", "config.tools", "config.version", "config.firmware",
			"config.bootOptions", userDataPath, "datastore", "summary.storage",
		}, devicePaths...)...)
		return factsOf(found[ref]), err
	})
	f.err = err
	return f
}

func factsOf(p map[string]any) (f facts) {
	isTemplate, _ := p["config.template"].(bool)
	power, _ := p["runtime.powerState"].(types.VirtualMachinePowerState)
	f.isVM, f.runs = !isTemplate, power != types.VirtualMachinePowerStatePoweredOff
	f.guest, _ = p["config.guestId"].(string)
	f.version, _ = p["config.version"].(string)
	f.firmware, _ = p["config.firmware"].(string)
	_, f.userData = p[userDataPath]
	f.devices = devicesOf(p)
	if tools, ok := p["config.tools"].(types.ToolsConfigInfo); ok {
		f.tools = tools.ToolsVersion > 0
	}
	if boot, ok := p["config.bootOptions"].(types.VirtualMachineBootOptions); ok && boot.EfiSecureBootEnabled != nil {
		f.secureBoot = *boot.EfiSecureBootEnabled
	}
	if datastores, ok := p["datastore"].(types.ArrayOfManagedObjectReference); ok {
		f.datastores = datastores.ManagedObjectReference
	}
	if storage, ok := p["summary.storage"].(types.VirtualMachineStorageSummary); ok {
		f.size = storage.Committed
	}
	return f
}

// template reports what the vCenter shows of the template.
func (r *inspection) template(ctx context.Context) {
	if r.site(places.Template).Found() {
		r.facts = r.readFacts(ctx)
	}
	r.add(checkTemplate, places.Template, func() (Result, string) {
		if r.facts.err != nil {
			return Failed, r.messageOf(r.facts.err)
		}
		return r.facts.state()
	})
	r.add("guest system", checkTemplate, r.facts.system)
	r.add("VMware Tools", checkTemplate, r.facts.toolsThere)
	r.add("hardware", checkTemplate, r.facts.hardware)
	r.add("disks", checkTemplate, r.facts.devices.disksThere)
	r.add("snapshots", checkTemplate, r.facts.devices.independence)
	r.add("drives", checkTemplate, r.facts.devices.drives)
	r.add("encryption", checkTemplate, r.facts.devices.encryption)
	r.add("network adapters", checkTemplate, r.adapters)
	r.add("user data", checkTemplate, r.facts.leftOver)
	r.add("vApp", checkTemplate, r.vApp)
}

func (f facts) state() (Result, string) {
	switch {
	case f.isVM && f.runs:
		return Failed, "it is a VM that runs, so that a clone of it is like a computer after a power cut: shut it down and " +
			"convert it to a template"
	case f.isVM:
		return Warning, "it is a VM and no template, so that people can switch it on and change what nodes get: convert it to a " +
			"template"
	}
	return OK, "it is a template"
}

func (f facts) system() (Result, string) {
	if !strings.HasPrefix(strings.ToLower(f.guest), "win") {
		return Failed, fmt.Sprintf("its guest system is %q, which is not Windows: choose another template, or correct its guest OS",
			shown(f.guest))
	}
	return OK, shown(f.guest)
}

func (f facts) toolsThere() (Result, string) {
	if !f.tools {
		return Failed, "the vCenter finds none in the template; without them the guest cannot read its user data: install " +
			"VMware Tools in the image"
	}
	return OK, "the template has them"
}

func (f facts) hardware() (Result, string) {
	boots := "BIOS"
	if f.firmware == string(types.GuestOsDescriptorFirmwareTypeEfi) {
		boots = "EFI without secure boot"
		if f.secureBoot {
			boots = "EFI with secure boot"
		}
	}
	return OK, shown(f.version) + ", " + boots
}

func (r *inspection) adapters() (Result, string) {
	got, wants := len(r.placement.Adapters), len(r.Spec.NetworkInterfaces)
	switch {
	case wants == 0 && got == 0:
		return Failed, "the template has none, and so would the VM: set spec.vsphere.networkInterfaces"
	case wants == 0:
		return OK, fmt.Sprintf("a VM keeps the template's, %d, and their networks", got)
	case wants > got:
		return OK, fmt.Sprintf("the spec has %d, and the template %d: %d are added to a VM, of type VMXNET3", wants, got, wants-got)
	case wants < got:
		return OK, fmt.Sprintf("the spec has %d, and the template %d: %d are removed from a VM", wants, got, got-wants)
	}
	return OK, fmt.Sprintf("the spec and the template have %d", got)
}

func (f facts) leftOver() (Result, string) {
	if f.userData {
		return Warning, "the template has the user data of the VM that it was made of, maybe with secrets in it: remove " +
			"guestinfo.userdata from its advanced configuration, or build the image anew"
	}
	return OK, "the template has none of an earlier VM"
}

func (r *inspection) vApp() (Result, string) {
	if r.placement.VAppConfig != nil {
		return OK, "the template has a vApp configuration, which is removed from a VM"
	}
	return OK, "the template has no vApp configuration"
}

func (r *inspection) freeSpace(ctx context.Context) {
	r.add("free space", checkTemplate, func() (Result, string) { return r.space(ctx) })
}

// space compares what the template takes, once for each machine, with what is free where the VMs go.
func (r *inspection) space(ctx context.Context) (Result, string) {
	datastores := r.facts.datastores
	if r.Spec.Datastore != "" {
		datastores = []types.ManagedObjectReference{r.site(places.Datastore).Ref}
	}
	if len(datastores) != 1 || datastores[0].Value == "" || r.facts.size == 0 {
		return Skipped, "the datastore, or the space that the template takes on it, is not known"
	}
	summary, err := r.datastore(ctx, datastores[0])
	if err != nil {
		return Warning, "the account may not read the datastore: " + r.messageOf(err)
	}
	count := max(r.Count, 1)
	free, takes := units.ByteSize(summary.FreeSpace), units.ByteSize(r.facts.size*count)
	copies := "a VM takes"
	if count > 1 {
		copies = fmt.Sprintf("%d VMs take", count)
	}
	switch {
	case !summary.Accessible:
		return Failed, fmt.Sprintf("no host reaches the datastore %s: bring it back, or choose another one", shown(summary.Name))
	case free < takes:
		return Failed, fmt.Sprintf("%s are free on %s, and %s %s: free space, or choose another datastore", free,
			shown(summary.Name), copies, takes)
	}
	return OK, fmt.Sprintf("%s are free on %s, and %s %s at first", free, shown(summary.Name), copies, takes)
}

func (r *inspection) datastore(ctx context.Context, ref types.ManagedObjectReference) (types.DatastoreSummary, error) {
	return session.Do(ctx, r.Session, func(ctx context.Context, c *vim25.Client) (types.DatastoreSummary, error) {
		found, err := session.Read(ctx, c, session.Source{Object: ref}, ref.Type, "summary")
		summary, _ := found[ref]["summary"].(types.DatastoreSummary)
		return summary, err
	})
}
