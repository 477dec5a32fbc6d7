package vcenter

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Owner sees everything in the vCenter and may do everything, past all doors. An error ends the test.
type Owner struct {
	*VCenter
	// Client has no session. What it reads is the simulator's own, not a copy: look only when nothing changes.
	Client *vim25.Client

	t *testing.T
}

// Owner of the vCenter.
func (v *VCenter) Owner(t *testing.T) *Owner { return &Owner{v, v.admin, t} }

// Must end the test at an error.
func (o *Owner) Must(err error) {
	o.t.Helper()
	expect.OK(o.t, err)
}

// done waits for a task.
func (o *Owner) done(task *object.Task, err error) {
	o.t.Helper()
	o.Must(err)
	o.Must(task.Wait(context.Background()))
}

// VMs are the names of all VMs but the template.
func (o *Owner) VMs() []string {
	o.t.Helper()
	all := o.All()
	delete(all, Template)
	return slices.Sorted(maps.Keys(all))
}

// All VMs and the template, by their names.
func (o *Owner) All() map[string]types.ManagedObjectReference {
	o.t.Helper()
	ctx := context.Background()
	views, err := view.NewManager(o.Client).CreateContainerView(ctx, o.Client.ServiceContent.RootFolder,
		[]string{"VirtualMachine"}, true)
	o.Must(err)
	defer func() { o.Must(views.Destroy(ctx)) }()
	var vms []mo.VirtualMachine
	o.Must(views.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name"}, &vms))
	all := map[string]types.ManagedObjectReference{}
	for _, vm := range vms {
		all[vm.Name] = vm.Self
	}
	return all
}

// VM of a name.
func (o *Owner) VM(name string) *object.VirtualMachine {
	o.t.Helper()
	ref, ok := o.All()[name]
	if !ok {
		o.t.Fatalf("there is no VM %s", name)
	}
	return object.NewVirtualMachine(o.Client, ref)
}

// Template that VMs are cloned from.
func (o *Owner) Template() *object.VirtualMachine {
	o.t.Helper()
	return o.VM(Template)
}

// Read properties of a VM; all of them when none is named.
func (o *Owner) Read(name string, paths ...string) mo.VirtualMachine {
	o.t.Helper()
	var vm mo.VirtualMachine
	o.Must(property.DefaultCollector(o.Client).RetrieveOne(context.Background(), o.VM(name).Reference(), paths, &vm))
	return vm
}

// Inspect returns all properties of a VM but the list of its tasks.
func (o *Owner) Inspect(name string) string {
	o.t.Helper()
	vm := o.Read(name)
	vm.RecentTask = nil
	text, err := json.MarshalIndent(vm, "", " ")
	o.Must(err)
	return string(text)
}

// Clone makes a VM in the folder of VMs, as anyone else may.
func (o *Owner) Clone(name string, spec types.VirtualMachineCloneSpec) {
	o.t.Helper()
	ctx, finder := context.Background(), find.NewFinder(o.Client)
	folder, err := finder.Folder(ctx, "/"+Datacenter+"/vm/"+Folder)
	o.Must(err)
	if spec.Location.Pool == nil {
		pool, err := finder.ResourcePool(ctx, "/"+Datacenter+"/host/"+ResourcePool)
		o.Must(err)
		spec.Location.Pool = new(pool.Reference())
	}
	o.done(o.Template().Clone(ctx, folder, name, spec))
}

// Occupy a name with a VM that runs.
func (o *Owner) Occupy(name string) {
	o.t.Helper()
	o.Clone(name, types.VirtualMachineCloneSpec{PowerOn: true})
}

// PowerOff switches a VM off.
func (o *Owner) PowerOff(name string) {
	o.t.Helper()
	o.done(o.VM(name).PowerOff(context.Background()))
}

// Remove a VM, whether it is on or not.
func (o *Owner) Remove(name string) {
	o.t.Helper()
	if o.Read(name, "runtime.powerState").Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		o.PowerOff(name)
	}
	o.done(o.VM(name).Destroy(context.Background()))
}

// SetExtra writes into the advanced configuration of a VM, as its guest does.
func (o *Owner) SetExtra(name, key, value string) {
	o.t.Helper()
	o.done(o.VM(name).Reconfigure(context.Background(), types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: key, Value: value}},
	}))
}

// Extra reads the advanced configuration of a VM.
func (o *Owner) Extra(name string) map[string]string {
	o.t.Helper()
	all := map[string]string{}
	for _, option := range o.Read(name, "config.extraConfig").Config.ExtraConfig {
		all[option.GetOptionValue().Key], _ = option.GetOptionValue().Value.(string)
	}
	return all
}

// Guestinfo reads a value as cloudbase-init does; nil when it is not there.
func (o *Owner) Guestinfo(name, key string) []byte {
	o.t.Helper()
	values := object.OptionValueList(o.Read(name, "config.extraConfig").Config.ExtraConfig)
	text, found := values.GetString("guestinfo." + key)
	if !found {
		return nil
	}
	encoding, _ := values.GetString("guestinfo." + key + ".encoding")
	plain, err := base64.StdEncoding.DecodeString(text)
	o.Must(err)
	if encoding == "base64" {
		return plain
	}
	r, err := gzip.NewReader(bytes.NewReader(plain))
	o.Must(err)
	plain, err = io.ReadAll(r)
	o.Must(err)
	return plain
}

// Update changes properties of an object as vCenter does by itself.
func (o *Owner) Update(ref types.ManagedObjectReference, changes ...types.PropertyChange) {
	ctx := o.model.Service.Context
	object := o.model.Map().Get(ref)
	ctx.WithLock(object, func() { ctx.Update(object, changes) })
}

// Sessions that are open, by their keys.
func (o *Owner) Sessions() []string {
	o.t.Helper()
	all, err := o.sessions()
	o.Must(err)
	var keys []string
	for _, s := range all {
		keys = append(keys, s.Key)
	}
	return keys
}

// EndSessions ends all sessions, as a vCenter does that restarts.
func (o *Owner) EndSessions() {
	o.t.Helper()
	for _, key := range o.Sessions() {
		_, err := methods.TerminateSession(context.Background(), o.Client, &types.TerminateSession{
			This: *o.Client.ServiceContent.SessionManager, SessionId: []string{key},
		})
		o.Must(err)
		o.endWaits(key)
	}
}

// History is what happened to VMs of a name, by the vCenter's events: "cloned", "removed".
func (o *Owner) History(name string) []string {
	o.t.Helper()
	found, err := methods.QueryEvents(context.Background(), o.Client, &types.QueryEvents{
		This:   *o.Client.ServiceContent.EventManager,
		Filter: types.EventFilterSpec{EventTypeId: []string{"VmClonedEvent", "VmRemovedEvent"}, MaxCount: 1000},
	})
	o.Must(err)
	slices.SortFunc(found.Returnval, func(a, b types.BaseEvent) int { return int(a.GetEvent().Key - b.GetEvent().Key) })
	var happened []string
	for _, e := range found.Returnval {
		if vm := e.GetEvent().Vm; vm == nil || vm.Name != name {
			continue
		}
		switch e.(type) {
		case *types.VmClonedEvent:
			happened = append(happened, "cloned")
		case *types.VmRemovedEvent:
			happened = append(happened, "removed")
		}
	}
	return happened
}
