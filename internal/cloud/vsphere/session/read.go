package session

import (
	"context"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Objects are properties of objects, by path. A property without a value is left out.
type Objects map[types.ManagedObjectReference]map[string]any

// Source is an object or, with a path, the objects that the path leads to.
type Source struct {
	Object types.ManagedObjectReference
	Via    string
}

// Read returns properties of the objects of a kind. It fails if the account may not read one of them.
func Read(ctx context.Context, c *vim25.Client, from Source, kind string, want ...string) (Objects, error) {
	object := types.ObjectSpec{Obj: from.Object}
	if from.Via != "" {
		object.Skip = new(true)
		object.SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{Type: from.Object.Type, Path: from.Via}}
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
	found := Objects{}
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
		if err := soap.WrapVimFault(p.Fault.Fault); Is[types.BaseNoPermission](err) {
			return err
		}
	}
	return nil
}
