package vcenter_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/lab/guest"
	"github.com/capwin/cluster-api-provider-windows/test/lab/vcenter"
)

// TestVMIsPlayedWhileItIsOn goes through a VM's life as a cloud would make it: one clone that powers on, then off.
func TestVMIsPlayedWhileItIsOn(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	v, err := vcenter.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Stop()
	type sight struct {
		Name     string
		Hardware guest.Hardware
		UserData string
		Off      bool
	}
	seen := make(chan sight, 2)
	running, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() {
		over <- v.Run(running, func(on context.Context, vm *vcenter.VM) {
			hardware, err := vm.Hardware(on)
			if err != nil {
				t.Error(err)
			}
			name, err := vm.Name(on)
			if err != nil {
				t.Error(err)
			}
			data, _, err := vm.Guestinfo(on, "guestinfo.userdata")
			if err != nil {
				t.Error(err)
			}
			if err := vm.SetGuestinfo(on, "guestinfo.capwin.report", "hello"); err != nil {
				t.Error(err)
			}
			seen <- sight{Name: name, Hardware: hardware, UserData: data}
			<-on.Done()
			seen <- sight{Off: true}
		})
	}()

	vm := clone(ctx, t, v)
	if got := <-seen; got.UserData != "data" || got.Hardware.CPUs != 4 || got.Hardware.MemoryMiB != 16384 || got.Name != "w1" {
		t.Errorf("the guest sees %+v", got)
	}
	task, err := vm.PowerOff(ctx)
	if err != nil || task.Wait(ctx) != nil {
		t.Fatal("power off", err)
	}
	if got := <-seen; !got.Off {
		t.Error("the guest plays on though its VM is off")
	}
	names, err := v.VMs(ctx)
	if diff := cmp.Diff([]string{"w1"}, names); diff != "" || err != nil {
		t.Error("VMs", err, diff)
	}
	if calls := v.Calls(); calls["CloneVM_Task"] != 1 || calls["ReconfigVM_Task"] != 0 {
		t.Errorf("the clone counts, what the lab does itself does not: %v", calls)
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func connect(ctx context.Context, t *testing.T, v *vcenter.VCenter) *govmomi.Client {
	t.Helper()
	credentials := v.Credentials()
	address := &url.URL{
		Scheme: "https", Host: string(credentials["server"]), Path: "/sdk",
		User: url.UserPassword(string(credentials["username"]), string(credentials["password"])),
	}
	c, err := govmomi.NewClient(ctx, address, true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func clone(ctx context.Context, t *testing.T, v *vcenter.VCenter) *object.VirtualMachine {
	t.Helper()
	c := connect(ctx, t, v)
	finder := find.NewFinder(c.Client)
	template, err := finder.VirtualMachine(ctx, "/"+vcenter.Datacenter+"/vm/"+vcenter.Template)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := finder.Folder(ctx, "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := finder.ResourcePool(ctx, "/"+vcenter.Datacenter+"/host/"+vcenter.ResourcePool)
	if err != nil {
		t.Fatal(err)
	}
	ref := pool.Reference()
	task, err := template.Clone(ctx, folder, "w1", types.VirtualMachineCloneSpec{
		PowerOn: true, Location: types.VirtualMachineRelocateSpec{Pool: &ref},
		Config: &types.VirtualMachineConfigSpec{NumCPUs: 4, MemoryMB: 16384, ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.userdata", Value: "data"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference))
}

// TestWatchHearsWhatItAsksFor watches VMs as our controllers do: one comes, its guest writes, it goes.
func TestWatchHearsWhatItAsksFor(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	v, err := vcenter.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Stop()
	var watches sync.WaitGroup
	defer watches.Wait()
	running, stop := context.WithCancel(ctx)
	defer stop()
	watches.Go(func() {
		err := v.Run(running, func(on context.Context, vm *vcenter.VM) {
			for _, key := range []string{"guestinfo.nobody.asks", "guestinfo.asked"} {
				if err := vm.SetGuestinfo(on, key, "hello"); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	c := connect(ctx, t, v)
	heard := make(chan string, 100)
	watches.Go(func() { watch(running, t, c, heard) })
	if got := <-heard; got != "enter "+vcenter.Template {
		t.Errorf("the watch begins with %q", got)
	}
	vm := clone(ctx, t, v)
	for _, want := range []string{"enter w1", "asked hello"} {
		await(ctx, t, heard, want)
	}
	task, err := vm.PowerOff(ctx)
	if err != nil || task.Wait(ctx) != nil {
		t.Fatal("power off", err)
	}
	if task, err = vm.Destroy(ctx); err != nil || task.Wait(ctx) != nil {
		t.Fatal("destroy", err)
	}
	await(ctx, t, heard, "leave")
}

// await skips what comes again: the simulator tells some things twice.
func await(ctx context.Context, t *testing.T, heard <-chan string, want string) {
	t.Helper()
	for {
		select {
		case got := <-heard:
			if got == want {
				return
			}
		case <-ctx.Done():
			t.Fatalf("%q was not heard", want)
		}
	}
}

// watch tells what it hears until ctx ends.
func watch(ctx context.Context, t *testing.T, c *govmomi.Client, heard chan<- string) {
	views, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Error(err)
		return
	}
	filter := new(property.WaitFilter)
	filter.Spec.ObjectSet = []types.ObjectSpec{{
		Obj: views.Reference(), Skip: new(true),
		SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}},
	}}
	filter.Spec.PropSet = []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name", `config.extraConfig["guestinfo.asked"]`}}}
	err = property.WaitForUpdates(ctx, property.DefaultCollector(c.Client), filter, func(updates []types.ObjectUpdate) bool {
		for _, update := range updates {
			if update.Kind == types.ObjectUpdateKindLeave {
				heard <- "leave"
			}
			for _, change := range update.ChangeSet {
				switch value := change.Val.(type) {
				case string:
					heard <- string(update.Kind) + " " + value
				case types.OptionValue:
					heard <- fmt.Sprintf("asked %v", value.Value)
				}
			}
		}
		return false
	})
	if ctx.Err() == nil {
		t.Error(err)
	}
}
