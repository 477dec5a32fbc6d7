package vcenter

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// incremental is a property collector that reads what has changed, where the simulator's reads all that is watched anew for
// each change of anything: it carries 5,000 VMs. It also tells what the simulator hides. Its rules are those of the vSphere Web
// Services API (8.0.3, PropertyCollector.WaitForUpdatesEx, UpdateSet, WaitOptions, ObjectUpdateKind; govmomi has the same text
// in vim25/types):
//
//   - An object enters when a filter begins to lead to it, is modified by those of its properties that are asked for and have
//     changed, and leaves "the set of objects visible to a filter": when it is destroyed, and when a view loses it.
//   - An answer has at most WaitOptions.maxObjectUpdates changes, and at most 100. UpdateSet.truncated says that more follows.
//   - A version is the empty one, which begins anew; the last one; or, where an answer was lost, the last that was not truncated.
//     Another one is an InvalidCollectorVersion.
//   - A wait that nothing ends is answered without an UpdateSet after WaitOptions.maxWaitSeconds.
//
// It follows what a filter names and what is in a view, and no other traversals.
type incremental struct {
	mo.PropertyCollector

	lab  *VCenter
	wake chan struct{} // something may have changed
	turn sync.Mutex    // of the wait that is answered

	mu      sync.Mutex
	end     chan types.BaseMethodFault // of the wait under way
	filters []*filter

	// What the client knows, for the wait that has its turn.
	version   int // of the last answer
	truncated bool
	base      int      // the last version that was not truncated
	rest      []change // what follows on a truncated answer
	since     []change // what was told since base, with what was known before
	reads     int      // objects that were read, for our own tests
}

// change is an object that a filter may have to tell, or did tell.
type change struct {
	filter *filter
	object types.ManagedObjectReference
	before properties
}

// mostUpdates in one answer, and how long changes gather before it.
const (
	mostUpdates = 100
	gathering   = 10 * time.Millisecond
)

// collectors makes incremental collectors. It takes the place of the simulator's own in a session.
type collectors struct {
	*simulator.PropertyCollector
	lab *VCenter
}

// giveCollectors puts collectors into a session that is about to make one, or lists a folder: what is in its own registry comes
// first there.
func (v *VCenter) giveCollectors(ctx *simulator.Context, method *simulator.Method) {
	if method.Name != "CreatePropertyCollector" && method.Name != "RetrievePropertiesEx" {
		return
	}
	if plain, ok := ctx.Session.Get(method.This).(*simulator.PropertyCollector); ok {
		ctx.Session.Registry.Put(&collectors{plain, v})
	}
}

// CreatePropertyCollector is called by the simulator.
func (c *collectors) CreatePropertyCollector(ctx *simulator.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	made := &incremental{lab: c.lab, wake: make(chan struct{}, 1)}
	made.Self.Type = "PropertyCollector"
	ref := ctx.Session.Put(made).Reference()
	ctx.Map.AddHandler(made)
	return &methods.CreatePropertyCollectorBody{Res: &types.CreatePropertyCollectorResponse{Returnval: ref}}
}

// Lock and Unlock keep the simulator from holding a collector while it waits.
func (*incremental) Lock() {}

// Unlock does nothing.
func (*incremental) Unlock() {}

// WaitForUpdatesEx is called by the simulator.
func (i *incremental) WaitForUpdatesEx(ctx *simulator.Context, r *types.WaitForUpdatesEx) soap.HasFault {
	i.turn.Lock()
	defer i.turn.Unlock()
	end := i.begin()
	if !i.resume(r.Version) {
		return &methods.WaitForUpdatesExBody{Fault_: simulator.Fault("", new(types.InvalidCollectorVersion))}
	}
	most, late := limits(r.Options)
	for {
		if set := i.changes(ctx, most); set != nil {
			return &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{Returnval: set}}
		}
		select {
		case fault := <-end:
			return &methods.WaitForUpdatesExBody{Fault_: simulator.Fault("", fault)}
		case <-late:
			return &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{}}
		case <-i.wake:
			<-time.After(gathering)
		}
	}
}

// limits are the most changes of an answer and the time at which nothing has changed; by default there is none.
func limits(options *types.WaitOptions) (most int, late <-chan time.Time) {
	most = mostUpdates
	if options == nil {
		return most, nil
	}
	if asked := int(options.MaxObjectUpdates); asked > 0 {
		most = min(asked, most)
	}
	if wait := options.MaxWaitSeconds; wait != nil {
		late = time.After(time.Duration(*wait) * time.Second)
	}
	return most, late
}

// begin a wait that can be ended.
func (i *incremental) begin() (end <-chan types.BaseMethodFault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.end = make(chan types.BaseMethodFault, 1)
	return i.end
}

func (i *incremental) isWaiting() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.end != nil
}

// resume at a version that the client knows. It says whether it can.
func (i *incremental) resume(version string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch version {
	case "":
		i.rest, i.since, i.base, i.version, i.truncated = nil, nil, 0, 0, false
		for _, f := range i.filters {
			f.forget()
		}
		return true
	case strconv.Itoa(i.version):
		if !i.truncated {
			i.base, i.since = i.version, nil
		}
		return i.version > 0
	case strconv.Itoa(i.base):
		i.rewind()
		return i.base > 0
	}
	return false
}

// rewind to the last version that was not truncated.
func (i *incremental) rewind() {
	for _, told := range slices.Backward(i.since) {
		told.filter.told[told.object] = told.before
		if told.before == nil {
			delete(told.filter.told, told.object)
		}
		told.filter.mark(told.object)
	}
	for _, left := range i.rest {
		left.filter.mark(left.object)
	}
	i.rest, i.since, i.version, i.truncated = nil, nil, i.base, false
}

// changes since the version that the client knows; nil when there is none. A first answer comes at once.
func (i *incremental) changes(ctx *simulator.Context, most int) *types.UpdateSet {
	set := &types.UpdateSet{}
	if len(i.rest) == 0 {
		i.rest = i.marked(ctx)
	}
	for told := 0; told < most && len(i.rest) > 0; {
		next := i.rest[0]
		i.rest = i.rest[1:]
		if update := i.tell(ctx, next); update != nil {
			told++
			add(set, next.filter.Self, *update)
		}
	}
	if len(set.FilterSet) == 0 && i.version > 0 && !i.truncated {
		return nil
	}
	i.version++
	i.truncated = len(i.rest) > 0
	set.Version, set.Truncated = strconv.Itoa(i.version), new(i.truncated)
	return set
}

// marked are the objects that have changed, in the order of the filters.
func (i *incremental) marked(ctx *simulator.Context) []change {
	i.mu.Lock()
	filters := slices.Clone(i.filters)
	i.mu.Unlock()
	var all []change
	for _, f := range filters {
		f.lookAtViews(ctx)
		for _, object := range f.take() {
			all = append(all, change{filter: f, object: object})
		}
	}
	return all
}

// tell the client what has become of an object; nil when it knows.
func (i *incremental) tell(ctx *simulator.Context, c change) *types.ObjectUpdate {
	i.reads++
	now := c.filter.read(ctx, c.object)
	i.mu.Lock()
	defer i.mu.Unlock()
	c.before = c.filter.told[c.object]
	update := difference(c.object, c.before, now)
	if update == nil {
		return nil
	}
	i.since = append(i.since, c)
	c.filter.told[c.object] = now
	if now == nil {
		delete(c.filter.told, c.object)
	}
	return update
}

func add(set *types.UpdateSet, filter types.ManagedObjectReference, update types.ObjectUpdate) {
	if n := len(set.FilterSet); n == 0 || set.FilterSet[n-1].Filter != filter {
		set.FilterSet = append(set.FilterSet, types.PropertyFilterUpdate{Filter: filter})
	}
	last := &set.FilterSet[len(set.FilterSet)-1]
	last.ObjectSet = append(last.ObjectSet, update)
}

// CancelWaitForUpdates is called by the simulator. It ends the wait under way, if there is one.
func (i *incremental) CancelWaitForUpdates(*types.CancelWaitForUpdates) soap.HasFault {
	i.stop(new(types.RequestCanceled))
	return &methods.CancelWaitForUpdatesBody{Res: new(types.CancelWaitForUpdatesResponse)}
}

// stop the wait under way, if there is one.
func (i *incremental) stop(with types.BaseMethodFault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.end != nil {
		i.end <- with
		i.end = nil
	}
}

// DestroyPropertyCollector is called by the simulator.
func (i *incremental) DestroyPropertyCollector(ctx *simulator.Context, r *types.DestroyPropertyCollector) soap.HasFault {
	i.stop(new(types.RequestCanceled))
	i.mu.Lock()
	filters := i.filters
	i.filters = nil
	i.mu.Unlock()
	for _, f := range filters {
		ctx.Session.Remove(ctx, f.Self)
	}
	ctx.Map.RemoveHandler(i)
	ctx.Session.Remove(ctx, r.This)
	return &methods.DestroyPropertyCollectorBody{Res: new(types.DestroyPropertyCollectorResponse)}
}

// PutObject is part of simulator.RegisterObject. A view tells what is new in it with a change of its own.
func (*incremental) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject is part of simulator.RegisterObject. Its caller holds the object.
func (i *incremental) UpdateObject(_ *simulator.Context, o mo.Reference, changes []types.PropertyChange) {
	ref := o.Reference()
	i.heed(func(f *filter) bool { return f.changed(ref, changes) })
}

// RemoveObject is part of simulator.RegisterObject. With its session, the collector itself goes.
func (i *incremental) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if ref == i.Self {
		i.stop(new(types.NotAuthenticated))
		return
	}
	i.heed(func(f *filter) bool { return f.removed(ref) })
}

// heed wakes the wait when a filter has something to look at.
func (i *incremental) heed(event func(*filter) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	some := false
	for _, f := range i.filters {
		some = event(f) || some
	}
	if !some {
		return
	}
	select {
	case i.wake <- struct{}{}:
	default: // it is awake
	}
}
