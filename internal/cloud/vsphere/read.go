package vsphere

import (
	"context"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// properties of an object, by path. A property without a value is not in it.
type properties map[string]any

// read gets properties of objects: of those given or, with a path, of those that the path in them leads to.
func read(ctx context.Context, c *vim25.Client, from types.ManagedObjectReference, via, kind string, want ...string,
) (map[types.ManagedObjectReference]properties, error) {
	object := types.ObjectSpec{Obj: from}
	if via != "" {
		object.Skip = types.NewBool(true)
		object.SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{Type: from.Type, Path: via}}
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
	found := map[types.ManagedObjectReference]properties{}
	for _, o := range answer.Returnval {
		found[o.Obj] = properties{}
		for _, p := range o.PropSet {
			found[o.Obj][p.Name] = p.Val
		}
		if err := denied(o.MissingSet); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// denied finds out whether properties are missing because we may not read them, for instance because the session has
// ended: vCenter does not fail such a call.
func denied(missing []types.MissingProperty) error {
	for _, p := range missing {
		if err := soap.WrapVimFault(p.Fault.Fault); is[types.BaseNoPermission](err) {
			return err
		}
	}
	return nil
}

// readVM reads one VM. One that is gone is ManagedObjectNotFound.
func readVM(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference) (*sighting, error) {
	found, err := read(ctx, c, ref, "", ref.Type, paths...)
	if err != nil {
		return nil, err
	}
	s := &sighting{ref: ref}
	for path, value := range found[ref] {
		s.set(path, value)
	}
	return s, nil
}
