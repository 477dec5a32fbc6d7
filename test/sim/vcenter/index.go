package vcenter

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// patientIndex mends a fault of the simulator: it gives a VM its name last, and panics when a name is looked for in a folder
// meanwhile, while it holds a lock that all others wait for.
type patientIndex struct {
	*simulator.SearchIndex
	lab *VCenter
}

// giveIndexPatience puts the patient index into a session. A session prefers what is in its own registry, even to a handler
// that VCenter.call returns.
func (v *VCenter) giveIndexPatience(ctx *simulator.Context, method *simulator.Method) {
	if index, ok := ctx.Map.Get(method.This).(*simulator.SearchIndex); ok && ctx.Session.Registry.Get(method.This) == nil {
		ctx.Session.Registry.Put(&patientIndex{index, v})
	}
}

// FindByUuid finds only a VM that the caller may read (sight.go), and none that the simulator shows before it has all of its
// advanced configuration: vCenter has both from one request.
//
//nolint:revive // because the simulator finds the method by this name
func (i *patientIndex) FindByUuid(ctx *simulator.Context, request *types.FindByUuid) soap.HasFault {
	answer := i.SearchIndex.FindByUuid(ctx, request)
	body, ok := answer.(*methods.FindByUuidBody)
	if ok && body.Res != nil && body.Res.Returnval != nil {
		if ref := *body.Res.Returnval; !i.lab.sees(ctx, ref) || i.lab.gate.making.has(ref) {
			body.Res.Returnval = nil
		}
	}
	return answer
}

// FindChild finds only what the caller may view: see sight.go.
func (i *patientIndex) FindChild(ctx *simulator.Context, request *types.FindChild) soap.HasFault {
	answer := i.child(ctx, request)
	body, ok := answer.(*methods.FindChildBody)
	if ok && body.Res != nil && body.Res.Returnval != nil && !i.lab.sees(ctx, *body.Res.Returnval) {
		body.Res.Returnval = nil
	}
	return answer
}

// child looks among the VMs that have a name; one that has none yet is not there yet.
func (i *patientIndex) child(ctx *simulator.Context, request *types.FindChild) soap.HasFault {
	folder, ok := ctx.Map.Get(request.Entity).(*simulator.Folder)
	if !ok {
		return i.SearchIndex.FindChild(ctx, request)
	}
	named := slices.DeleteFunc(slices.Clone(folder.ChildEntity), func(child types.ManagedObjectReference) bool {
		vm, ok := ctx.Map.Get(child).(*simulator.VirtualMachine)
		return ok && vm.Name == ""
	})
	body := &methods.FindChildBody{Res: new(types.FindChildResponse)}
	if found := ctx.Map.FindByName(request.Name, named); found != nil {
		ref := found.Reference()
		body.Res.Returnval = &ref
	}
	return body
}

// FindByInventoryPath finds only what the caller may view: see sight.go. It does not do what the simulator's does, which looks at
// each child by itself, and so at a VM that has no name yet.
func (i *patientIndex) FindByInventoryPath(ctx *simulator.Context, request *types.FindByInventoryPath) soap.HasFault {
	body := &methods.FindByInventoryPathBody{Res: new(types.FindByInventoryPathResponse)}
	at := &i.lab.model.ServiceContent.RootFolder
	for name := range strings.FieldsFuncSeq(request.InventoryPath, func(c rune) bool { return c == '/' }) {
		child, _ := i.child(ctx, &types.FindChild{Entity: *at, Name: name}).(*methods.FindChildBody)
		if child.Res == nil || child.Res.Returnval == nil {
			return body
		}
		at = child.Res.Returnval
	}
	if i.lab.sees(ctx, *at) {
		body.Res.Returnval = at
	}
	return body
}
