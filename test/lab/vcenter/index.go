package vcenter

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// patientIndex mends a fault of the simulator (v0.56.0): it gives a VM its name last, and panics when a name is looked
// for in a folder meanwhile. A vCenter waits.
type patientIndex struct {
	*simulator.SearchIndex
}

// FindChild looks again until every VM of the folder has a name.
func (i *patientIndex) FindChild(ctx *simulator.Context, request *types.FindChild) soap.HasFault {
	for {
		if answer := i.find(ctx, request); answer != nil {
			return answer
		}
		<-time.After(time.Millisecond)
	}
}

func (i *patientIndex) find(ctx *simulator.Context, request *types.FindChild) (answer soap.HasFault) {
	defer func() {
		if recover() != nil {
			answer = nil
		}
	}()
	return i.SearchIndex.FindChild(ctx, request)
}
