package vcenter

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func destroyVM(ctx context.Context, c *vim25.Client, vm types.ManagedObjectReference) error {
	task, err := object.NewVirtualMachine(c, vm).Destroy(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

// TestDestroyOnce: of several who destroy a VM at once, one does, and the others hear that it is gone, whoever they are.
func TestDestroyOnce(t *testing.T) {
	v := New(t)
	owner := v.Owner(t)
	all := []*vim25.Client{
		v.loggedIn(t, Username), v.loggedIn(t, Username), v.loggedIn(t, Another), expect.Got(v.Hypervisor(t.Context()))(t), v.admin,
	}
	for range 20 {
		owner.Clone("vm", types.VirtualMachineCloneSpec{})
		vm := owner.VM("vm").Reference()
		var done sync.WaitGroup
		results := make(chan error, len(all))
		for _, c := range all {
			done.Go(func() { results <- destroyVM(t.Context(), c, vm) })
		}
		done.Wait()
		destroyed := 0
		for range all {
			switch err := <-results; {
			case err == nil:
				destroyed++
			case !fault.Is(err, &types.ManagedObjectNotFound{}):
				t.Errorf("destroy: %v", err)
			}
		}
		expect.Same(t, "times that the VM was destroyed", 1, destroyed)
	}
}

// TestDestroyCopies: copies of a VM have nothing in common that goes with one of them.
func TestDestroyCopies(t *testing.T) {
	const copies = 20
	v := New(t)
	owner, c := v.Owner(t), v.loggedIn(t, Username)
	name := func(n int) string { return fmt.Sprint("copy-", n) }
	for range 2 {
		owner.Clone("vm", types.VirtualMachineCloneSpec{})
		before := *owner.Read("vm", "config").Config
		former, _ := v.model.Map().Get(owner.VM("vm").Reference()).(*simulator.VirtualMachine)
		owner.copies(former, copies, func(n int, vm *mo.VirtualMachine) { vm.Name = name(n) })
		if folder := owner.Read(name(0), "config").Config.Files.LogDirectory; folder == before.Files.LogDirectory {
			t.Errorf("a copy has its log in %s, too", folder)
		}
		var done sync.WaitGroup
		for n := range copies {
			vm := owner.VM(name(n)).Reference()
			done.Go(func() { expect.OK(t, destroyVM(t.Context(), c, vm)) })
		}
		done.Wait()
		expect.Same(t, "devices of the first", before.Hardware.Device, owner.Read("vm", "config").Config.Hardware.Device)
		owner.Remove("vm")
	}
	expect.Same(t, "VMs", 0, len(owner.VMs()))
}

// TestDestroyHalfMade: a VM that can be seen already is not destroyed before the clone that makes it has ended.
func TestDestroyHalfMade(t *testing.T) {
	v := New(t)
	owner, c := v.Owner(t), v.loggedIn(t, Username)
	for i := range 15 {
		name := fmt.Sprint("vm-", i)
		var hunters sync.WaitGroup
		var gone atomic.Bool
		for range 3 {
			hunters.Go(func() { hunt(t, c, "/"+Datacenter+"/vm/"+Folder+"/"+name, &gone) })
		}
		owner.Clone(name, types.VirtualMachineCloneSpec{})
		hunters.Wait()
	}
	expect.Same(t, "VMs", 0, len(owner.VMs()))
}

// TestStopWhileCloning: the files of a vCenter go when it stops. No clone reads them any more then.
func TestStopWhileCloning(t *testing.T) {
	v := expect.Got(Start())(t)
	owner := v.Owner(t)
	owner.Clone("vm", types.VirtualMachineCloneSpec{})
	spec := types.VirtualMachineCloneSpec{}
	spec.Location.Pool = owner.Read("vm", "resourcePool").ResourcePool
	folder := object.NewFolder(v.admin, *owner.Read(Template, "parent").Parent)
	for i := range 5 {
		expect.Got(owner.Template().Clone(t.Context(), folder, fmt.Sprint("vm-", i), spec))(t)
	}
	v.Stop()
	for _, ref := range v.model.Map().AllReference("Task") {
		task, _ := ref.(*simulator.Task)
		v.model.Service.Context.WithLock(task, func() {
			if task.Info.Name == "CreateVm" && task.Info.CompleteTime == nil {
				t.Errorf("%s runs after the end", task.Info.Name)
			}
		})
	}
}

// hunt tries to destroy a VM until one of the hunters has.
func hunt(t *testing.T, c *vim25.Client, path string, gone *atomic.Bool) {
	for !gone.Load() {
		found, err := object.NewSearchIndex(c).FindByInventoryPath(t.Context(), path)
		if err == nil && found != nil && destroyVM(t.Context(), c, found.Reference()) == nil {
			gone.Store(true)
		}
	}
}
