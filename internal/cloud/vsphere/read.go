package vsphere

import (
	"context"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// objects are properties of objects, by path. A property without a value is left out.
type objects map[types.ManagedObjectReference]map[string]any

// source is an object or, with a path, the objects that the path leads to.
type source struct {
	object types.ManagedObjectReference
	via    string
}

// read returns properties of the objects of a kind.
func read(ctx context.Context, c *vim25.Client, from source, kind string, want ...string) (objects, error) {
	object := types.ObjectSpec{Obj: from.object}
	if from.via != "" {
		object.Skip = new(true)
		object.SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{Type: from.object.Type, Path: from.via}}
	}
	answer, err := methods.RetrieveProperties(ctx, c, &types.RetrieveProperties{
		This: c.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{object},
			PropSet:   []types.PropertySpec{{Type: kind, PathSet: want}},
		}},
	})
	if err != nil {
		return nil, err
	}
	found := objects{}
	for _, o := range answer.Returnval {
		found[o.Obj] = map[string]any{}
		for _, p := range o.PropSet {
			found[o.Obj][p.Name] = p.Val
		}
		if err := denied(o.MissingSet); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// denied returns an error if properties are missing because we may not read them, for instance because the session has
// ended: the vCenter does not let such a call fail.
func denied(missing []types.MissingProperty) error {
	for _, p := range missing {
		if err := soap.WrapVimFault(p.Fault.Fault); is[types.BaseNoPermission](err) {
			return err
		}
	}
	return nil
}

// readVM reads one VM. If the VM is gone, the error is ManagedObjectNotFound.
func readVM(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference) (*sighting, error) {
	found, err := read(ctx, c, source{object: ref}, ref.Type, paths...)
	if err != nil {
		return nil, err
	}
	s := &sighting{ref: ref}
	for path, value := range found[ref] {
		s.set(path, value)
	}
	return s, nil
}
