package world

import (
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// Group is a resource group.
type Group struct {
	ID       doc.ID
	Location string
	// Shown is how ids in answers write the group's name: clients must not compare letters. CAPZ, gardener and the cloud controller
	// manager all ignore case, because Azure gives ids back in the case of another place [V].
	Shown string
}

// AddGroup makes a resource group, and its subscription.
func (w *World) AddGroup(subscription, name, location string) *Group {
	w.Subscriptions[strings.ToLower(subscription)] = true
	g := &Group{ID: doc.ID{Subscription: subscription, Group: name}, Location: location, Shown: name}
	w.groups[g.ID.Key()] = g
	return g
}

// Group returns a resource group, and nil if it does not exist.
func (w *World) Group(subscription, name string) *Group {
	return w.groups[doc.ID{Subscription: subscription, Group: name}.Key()]
}

// Groups are those of a subscription.
func (w *World) Groups(subscription string) []*Group {
	var all []*Group
	for _, g := range w.groups {
		if doc.Same(g.ID.Subscription, subscription) {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b *Group) int { return strings.Compare(a.ID.Key(), b.ID.Key()) })
	return all
}

// RemoveGroup takes a group away with all that is in it, at once, as it looks after somebody deleted it by hand.
func (w *World) RemoveGroup(subscription, name string) {
	delete(w.groups, doc.ID{Subscription: subscription, Group: name}.Key())
	for _, r := range w.resources {
		if doc.Same(r.ID.Subscription, subscription) && doc.Same(r.ID.Group, name) {
			w.drop(r)
		}
	}
}

// Shown writes an id as answers show it.
func (w *World) Shown(id doc.ID) string {
	if g := w.Group(id.Subscription, id.Group); g != nil {
		id.Group = g.Shown
	}
	return id.String()
}
