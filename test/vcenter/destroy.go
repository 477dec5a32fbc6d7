package vcenter

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// DestroyTask is called by the simulator. It mends a fault there: a call that came while the VM was being destroyed waits for the
// end of that, and then destroys the VM again, whose files are being deleted meanwhile; the simulator panics on these. vCenter
// says that there is no such VM.
func (e *editedVM) DestroyTask(ctx *simulator.Context, req *types.Destroy_Task) soap.HasFault {
	if ctx.Map.Get(e.Self) == nil {
		return &methods.Destroy_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: e.Self})}
	}
	return e.VirtualMachine.DestroyTask(ctx, req)
}
