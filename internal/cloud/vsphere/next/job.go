package next

import (
	"time"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// Job is a task that this process started for a machine. The zero value means that there is no such task.
type Job struct {
	Act       Act
	Task      types.ManagedObjectReference
	VM        types.ManagedObjectReference // the VM that it works on; the template when cloning
	Begun     time.Time
	Watched   bool // the vCenter pushes its changes
	Forgotten bool // the vCenter does not know how it ended; it counts as ended well
	State     types.TaskInfoState
	Fault     *types.LocalizedMethodFault
}

// UnderWay is true until the vCenter has reported the end.
func (j Job) UnderWay() bool { return j.Act != "" && !j.Ended() }

// Ended is true once it has.
func (j Job) Ended() bool {
	return j.State == types.TaskInfoStateSuccess || j.State == types.TaskInfoStateError
}

// Completed reports whether the job has certainly completed an act.
func (j Job) Completed(act Act) bool { return j.Act == act && j.Err() == nil && !j.Forgotten }

// Err is why it failed.
func (j Job) Err() error {
	if j.State != types.TaskInfoStateError || j.Fault == nil {
		return nil
	}
	return task.Error{LocalizedMethodFault: j.Fault}
}

// TaskPaths are the properties of a task that are read and watched.
var TaskPaths = []string{"info.state", "info.error"}

// Set sets one of them.
func (j *Job) Set(path string, value any) {
	switch path {
	case "info.state":
		j.State, _ = value.(types.TaskInfoState)
	case "info.error":
		if f, ok := value.(types.LocalizedMethodFault); ok {
			j.Fault = &f
		}
	}
}

// Shown reports whether the VM itself shows that the job is done. Often a change of the VM arrives before that of the task.
// Nothing shows that a VM is destroyed: one that the account may not see any more leaves the inventory, too.
func (j Job) Shown(found seen.Found) bool {
	isJobVM := found.Whose == cloud.Ours && found.VM.Ref == j.VM
	switch j.Act {
	case Clone:
		return found.Whose == cloud.Ours && found.VM.Started()
	case SwitchOn:
		return isJobVM && found.VM.Started()
	case SwitchOff:
		return isJobVM && found.VM.PoweredOff()
	case Erase:
		return isJobVM && !found.VM.UserData
	}
	return false
}
