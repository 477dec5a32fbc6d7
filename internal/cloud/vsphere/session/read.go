package session

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// Objects are properties of objects, by path. A property without a value is left out.
type Objects map[types.ManagedObjectReference]map[string]any

// Source is an object or, with a path, the objects that the path leads to; with another step, those that it leads to from there.
type Source struct {
	Object types.ManagedObjectReference
	Via    string
	Next   *types.TraversalSpec

	// Visible leaves out the objects that the account may not read, instead of an error.
	Visible bool

	// Keep reports whether an object is wanted, by its properties; nil wants all.
	Keep func(types.ManagedObjectReference, map[string]any) bool
}

func (source Source) spec() types.ObjectSpec {
	if source.Via == "" {
		return types.ObjectSpec{Obj: source.Object}
	}
	path := &types.TraversalSpec{Type: source.Object.Type, Path: source.Via}
	if source.Next != nil {
		path.Skip = new(true)
		path.SelectSet = []types.BaseSelectionSpec{source.Next}
	}
	return types.ObjectSpec{Obj: source.Object, Skip: new(true), SelectSet: []types.BaseSelectionSpec{path}}
}

// Read returns properties of the objects of a kind. It fails if the account may not read one of them.
func Read(ctx context.Context, c *vim25.Client, source Source, kind string, want ...string) (Objects, error) {
	return ReadKinds(ctx, c, source, map[string][]string{kind: want})
}

// ReadKinds is Read with several kinds of objects, and the properties that are wanted of each.
func ReadKinds(ctx context.Context, c *vim25.Client, source Source, want map[string][]string) (Objects, error) {
	filter := types.PropertyFilterSpec{ObjectSet: []types.ObjectSpec{source.spec()}}
	for kind, paths := range want {
		filter.PropSet = append(filter.PropSet, types.PropertySpec{Type: kind, PathSet: paths})
	}
	answer, err := methods.RetrievePropertiesEx(ctx, c, &types.RetrievePropertiesEx{
		This:    c.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{filter},
		Options: types.RetrieveOptions{MaxObjects: pageSize},
	})
	if err != nil {
		return nil, err
	}
	room, _ := ctx.Value(loanKey{}).(*Loan) // nil outside of Do
	found, read := Objects{}, 0
	for page := answer.Returnval; page != nil; {
		read += len(page.Objects)
		if err := found.add(page, read, source, room); err != nil {
			giveBack(ctx, c, page.Token)
			return nil, err
		}
		if page.Token == "" {
			break
		}
		next, err := methods.ContinueRetrievePropertiesEx(ctx, c, &types.ContinueRetrievePropertiesEx{
			This: c.ServiceContent.PropertyCollector, Token: page.Token,
		})
		if err != nil {
			return nil, err
		}
		page = &next.Returnval
	}
	return found, nil
}

// A list comes in pages of so many objects. A vCenter has 45,000 VMs at most, and more of nothing else.
const (
	pageSize   = 1000
	maxObjects = 50_000

	perObject = 512 // bytes, besides its properties
)

func (found Objects) add(page *types.RetrieveResult, read int, source Source, room *Loan) error {
	switch {
	case read > maxObjects:
		return fmt.Errorf("%w: more than %d objects", ErrTooLarge, maxObjects)
	case len(page.Objects) == 0 && page.Token != "":
		return fmt.Errorf("%w: an empty page, and more to come", ErrForeign)
	}
	for _, o := range page.Objects {
		properties := map[string]any{}
		for _, p := range o.PropSet {
			properties[p.Name] = p.Val
		}
		err := denied(o.MissingSet)
		if source.Visible && Hidden(err) || err == nil && source.Keep != nil && !source.Keep(o.Obj, properties) {
			continue
		}
		found[o.Obj] = properties
		if err == nil {
			err = room.Take(perObject + tenants.SizeOf(properties))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveBack ends a list that is not read to its end: the vCenter would keep what is left of it for the life of the session.
func giveBack(ctx context.Context, c *vim25.Client, token string) {
	if token != "" {
		_, _ = methods.CancelRetrievePropertiesEx(ctx, c, &types.CancelRetrievePropertiesEx{
			This: c.ServiceContent.PropertyCollector, Token: token,
		}) // best effort
	}
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
