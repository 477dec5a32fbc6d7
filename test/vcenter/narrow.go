package vcenter

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// narrow stands between the vCenter and a property collector, and tells the collector only of what its filters want. The
// simulator reads all that a collector watches anew, each object copied by way of XML, for every change of anything: one wait
// for updates took half a minute with sixty VMs, in which no report of a guest was heard.
type narrow struct {
	*simulator.PropertyCollector
	filters []types.PropertyFilterSpec
	ours    bool // the hypervisor's, which waits for tasks of its own
}

// narrowCollector takes the place of a collector that asks for more. It does so at the second question: the first one is
// answered at once, and only then does the simulator listen for changes.
func narrowCollector(ctx *simulator.Context, method *simulator.Method) {
	request, waits := method.Body.(*types.WaitForUpdatesEx)
	collector, ok := ctx.Session.Registry.Get(method.This).(*simulator.PropertyCollector)
	if !waits || !ok || request.Version == "" {
		return
	}
	n := &narrow{PropertyCollector: collector, ours: ctx.Session.UserName == hypervisor}
	for _, ref := range collector.Filter {
		if filter, ok := ctx.Session.Registry.Get(ref).(*simulator.PropertyFilter); ok {
			n.filters = append(n.filters, filter.Spec)
			ctx.Map.AddHandler(late{filter})
		}
	}
	ctx.Map.AddHandler(n)
}

// late tells a filter of a change of its view without waiting for it. The simulator locks up for good when a VM comes or goes
// while a filter looks: who changes the view holds it and waits for the filter, which waits for the view.
type late struct{ *simulator.PropertyFilter }

// UpdateObject is part of simulator.RegisterObject.
func (l late) UpdateObject(ctx *simulator.Context, o mo.Reference, _ []types.PropertyChange) {
	own, ref := *ctx, o.Reference() // locks are held by a context; of the object, the filter needs only its reference
	go l.PropertyFilter.UpdateObject(&own, ref, nil)
}

// PutObject is part of simulator.RegisterObject. What is in a list view was put there by its owner, not by the simulator.
func (n *narrow) PutObject(ctx *simulator.Context, o mo.Reference) {
	ref := o.Reference()
	follows := func(from types.ObjectSpec) bool { return from.Obj.Type != "ListView" }
	if n.wants(ref, follows, func(types.PropertySpec) bool { return true }) {
		n.PropertyCollector.PutObject(ctx, o)
	}
}

// UpdateObject is part of simulator.RegisterObject.
func (n *narrow) UpdateObject(ctx *simulator.Context, o mo.Reference, changes []types.PropertyChange) {
	ref := o.Reference()
	if ref.Type == "Task" && !n.ours && ctx.Session != nil && ctx.Session.UserName == hypervisor {
		return
	}
	if n.wants(ref, func(types.ObjectSpec) bool { return true }, func(p types.PropertySpec) bool { return concerns(p, changes) }) {
		n.PropertyCollector.UpdateObject(ctx, o, changes)
	}
}

// wants says whether an object is one that a filter begins with, or may be one that it finds from there.
func (n *narrow) wants(
	ref types.ManagedObjectReference, follows func(types.ObjectSpec) bool, has func(types.PropertySpec) bool,
) bool {
	return slices.ContainsFunc(n.filters, func(filter types.PropertyFilterSpec) bool {
		found := slices.ContainsFunc(filter.PropSet, func(p types.PropertySpec) bool { return p.Type == ref.Type && has(p) })
		return slices.ContainsFunc(filter.ObjectSet, func(from types.ObjectSpec) bool {
			return from.Obj == ref || found && len(from.SelectSet) > 0 && follows(from)
		})
	})
}

// concerns says whether one of the changes is of a property that is asked for, of a part of it, or of a whole that it is part of.
func concerns(p types.PropertySpec, changes []types.PropertyChange) bool {
	return p.All != nil && *p.All || slices.ContainsFunc(changes, func(change types.PropertyChange) bool {
		return slices.ContainsFunc(p.PathSet, func(path string) bool {
			return strings.HasPrefix(path, change.Name) || strings.HasPrefix(change.Name, path)
		})
	})
}
