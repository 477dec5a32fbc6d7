package vcenter

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// filter of an incremental collector, whose lock is also the filter's.
type filter struct {
	mo.PropertyFilter

	of      *incremental
	stale   bool                                        // a view has changed
	members refs                                        // what the filter leads to
	gone    refs                                        // what was destroyed; a view may still have it
	marks   refs                                        // what may have changed
	order   []types.ManagedObjectReference              // of the marks
	told    map[types.ManagedObjectReference]properties // what the client knows
}

type (
	refs       = map[types.ManagedObjectReference]bool
	properties map[string]types.AnyType
)

// CreateFilter is called by the simulator.
func (i *incremental) CreateFilter(ctx *simulator.Context, r *types.CreateFilter) soap.HasFault {
	unknown := func(from types.ObjectSpec) bool { return from.SelectSet != nil && !throughView(from) }
	if slices.ContainsFunc(r.Spec.ObjectSet, unknown) {
		return &methods.CreateFilterBody{Fault_: simulator.Fault("the lab's vCenter follows views only", new(types.NotSupported))}
	}
	f := &filter{of: i, gone: refs{}}
	f.Self.Type, f.Spec, f.PartialUpdates = "PropertyFilter", r.Spec, r.PartialUpdates
	f.forget()
	ctx.Session.Put(f)
	i.mu.Lock()
	i.filters = append(i.filters, f)
	i.mu.Unlock()
	i.heed(func(one *filter) bool { return one == f })
	return &methods.CreateFilterBody{Res: &types.CreateFilterResponse{Returnval: f.Self}}
}

// throughView says whether a filter goes from a view to what is in it.
func throughView(from types.ObjectSpec) bool {
	step, ok := from.SelectSet[0].(*types.TraversalSpec) // XML has no empty list
	return ok && step.Path == "view" && len(from.SelectSet) == 1 && len(step.SelectSet) == 0
}

// DestroyPropertyFilter is called by the simulator.
func (f *filter) DestroyPropertyFilter(ctx *simulator.Context, r *types.DestroyPropertyFilter) soap.HasFault {
	f.of.mu.Lock()
	f.of.filters = slices.DeleteFunc(slices.Clone(f.of.filters), func(one *filter) bool { return one == f })
	f.of.mu.Unlock()
	ctx.Session.Remove(ctx, r.This)
	return &methods.DestroyPropertyFilterBody{Res: new(types.DestroyPropertyFilterResponse)}
}

// forget all that was told.
func (f *filter) forget() {
	f.stale, f.members, f.marks, f.order = true, refs{}, refs{}, nil
	f.told = map[types.ManagedObjectReference]properties{}
}

func (f *filter) mark(ref types.ManagedObjectReference) {
	if !f.marks[ref] {
		f.marks[ref] = true
		f.order = append(f.order, ref)
	}
}

// changed says whether a change of an object is one to look at.
func (f *filter) changed(ref types.ManagedObjectReference, changes []types.PropertyChange) bool {
	if slices.ContainsFunc(f.Spec.ObjectSet, func(from types.ObjectSpec) bool { return from.Obj == ref && from.SelectSet != nil }) {
		f.stale = true
		return true
	}
	asked := func(p types.PropertySpec) bool { return concerns(p, changes) }
	if !f.members[ref] || !slices.ContainsFunc(f.Spec.PropSet, asked) {
		return false
	}
	f.mark(ref)
	return true
}

// concerns says whether one of the changes is of a property that is asked for, of a part of it, or of a whole that it is part of.
func concerns(p types.PropertySpec, changes []types.PropertyChange) bool {
	return p.All != nil && *p.All || slices.ContainsFunc(changes, func(change types.PropertyChange) bool {
		return slices.ContainsFunc(p.PathSet, func(path string) bool {
			return strings.HasPrefix(path, change.Name) || strings.HasPrefix(change.Name, path)
		})
	})
}

// removed says whether an object that was destroyed is one that the client knows.
func (f *filter) removed(ref types.ManagedObjectReference) bool {
	f.gone[ref] = true
	if !f.members[ref] {
		return false
	}
	delete(f.members, ref)
	f.mark(ref)
	return true
}

// lookAtViews finds what the filter leads to, when a view has changed.
func (f *filter) lookAtViews(ctx *simulator.Context) {
	f.of.mu.Lock()
	stale := f.stale
	f.stale = false
	f.of.mu.Unlock()
	if !stale {
		return
	}
	var now []types.ManagedObjectReference
	for _, from := range f.Spec.ObjectSet {
		if from.SelectSet == nil {
			now = append(now, from.Obj)
			continue
		}
		now = append(now, f.of.lab.viewed(ctx, from.Obj)...)
	}
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.lead(now)
}

// viewed is what the caller may see in a view.
func (v *VCenter) viewed(ctx *simulator.Context, ref types.ManagedObjectReference) (all []types.ManagedObjectReference) {
	view := ctx.Session.Get(ref)
	if view == nil {
		return nil
	}
	ctx.WithLock(view, func() {
		switch view := view.(type) {
		case *simulator.ContainerView:
			all = slices.Clone(view.View)
		case *simulator.ListView:
			all = slices.Clone(view.View)
		}
	})
	return v.seen(ctx, all)
}

// lead to these objects, and mark those that are new and those that are no longer led to.
func (f *filter) lead(to []types.ManagedObjectReference) {
	before := f.members
	f.members = make(refs, len(to))
	for _, ref := range to {
		if f.gone[ref] {
			continue
		}
		f.members[ref] = true
		if !before[ref] {
			f.mark(ref)
		}
	}
	for ref := range before {
		if !f.members[ref] {
			f.mark(ref)
		}
	}
}

// take the marks.
func (f *filter) take() []types.ManagedObjectReference {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	order := f.order
	f.order = nil
	clear(f.marks)
	return order
}

// read what the filter asks of an object; nil when the filter does not lead to it.
func (f *filter) read(ctx *simulator.Context, ref types.ManagedObjectReference) properties {
	f.of.mu.Lock()
	member := f.members[ref]
	f.of.mu.Unlock()
	if !member {
		return nil
	}
	defer f.of.lab.readOneAtATime("RetrieveProperties")()
	spec := types.PropertyFilterSpec{ObjectSet: []types.ObjectSpec{{Obj: ref}}, PropSet: f.Spec.PropSet}
	answer := new(simulator.PropertyCollector).RetrievePropertiesEx(ctx, &types.RetrievePropertiesEx{
		SpecSet: []types.PropertyFilterSpec{spec},
	})
	body, ok := answer.(*methods.RetrievePropertiesExBody)
	if !ok || body.Res == nil || len(body.Res.Returnval.Objects) == 0 {
		return nil
	}
	now := properties{}
	for _, p := range body.Res.Returnval.Objects[0].PropSet {
		now[p.Name] = p.Val
	}
	return now
}

// difference between what the client knows of an object and what is; nil when there is none.
func difference(ref types.ManagedObjectReference, before, now properties) *types.ObjectUpdate {
	update := &types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindModify}
	switch {
	case before == nil && now == nil:
		return nil
	case now == nil:
		update.Kind = types.ObjectUpdateKindLeave
		return update
	case before == nil:
		update.Kind = types.ObjectUpdateKindEnter
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if !reflect.DeepEqual(before[name], now[name]) {
			update.ChangeSet = append(update.ChangeSet, assigned(name, now[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, is := now[name]; !is {
			update.ChangeSet = append(update.ChangeSet, assigned(name, nil))
		}
	}
	if len(update.ChangeSet) == 0 && before != nil {
		return nil
	}
	return update
}

// assigned is a change of a property; a value that is nil was taken away: "remove" is for what has a key, and "assign" without a
// value for all else (PropertyChangeOp, PropertyChange.val).
func assigned(name string, value types.AnyType) types.PropertyChange {
	op := types.PropertyChangeOpAssign
	if value == nil && strings.HasSuffix(name, "]") {
		op = types.PropertyChangeOpRemove
	}
	return types.PropertyChange{Name: name, Op: op, Val: value}
}
