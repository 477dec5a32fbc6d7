package vcenter

import (
	"fmt"
	"sync"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestDestroyOnce: of several who destroy a VM at once, one does, and the others hear that it is gone.
func TestDestroyOnce(t *testing.T) {
	v := New(t)
	owner, c := v.Owner(t), v.loggedIn(t, Username)
	for i := range 20 {
		name := fmt.Sprintf("vm-%d", i)
		owner.Clone(name, types.VirtualMachineCloneSpec{})
		vm := object.NewVirtualMachine(c, owner.VM(name).Reference())
		var all sync.WaitGroup
		results := make(chan error, 4)
		for range cap(results) {
			all.Go(func() {
				task, err := vm.Destroy(t.Context())
				if err == nil {
					err = task.Wait(t.Context())
				}
				results <- err
			})
		}
		all.Wait()
		destroyed := 0
		for range cap(results) {
			switch err := <-results; {
			case err == nil:
				destroyed++
			case !fault.Is(err, &types.ManagedObjectNotFound{}):
				t.Errorf("destroy %s: %v", name, err)
			}
		}
		expect.Same(t, "times that "+name+" was destroyed", 1, destroyed)
	}
}
