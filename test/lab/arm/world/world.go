// Package world is what exists in the simulated cloud: resources of all kinds as JSON, groups, operations, and what clients see
// of them, which is late. It knows no kind: packages compute and network do.
//
// A World has no lock of its own: the server holds one for each request and each move of the clock.
package world

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/clock"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/doc"
)

// Resource is a resource of any kind.
type Resource struct {
	ID   doc.ID
	Body doc.Object

	// born and gone are when it began and ended to exist. Clients hear of both later.
	born, gone time.Time
	version    int
}

// Etag changes with every change.
func (r *Resource) Etag() string { return fmt.Sprintf(`"%d"`, r.version) }

// Lag is how late clients see what happened. Lists lag both ways (azure-sdk-for-python #8985, azure-rest-api-specs #21221), and a
// GET may answer 404 after an accepted PUT (terraform-provider-azurerm #18268) [V].
type Lag struct{ List, Get time.Duration }

// World is all there is.
type World struct {
	Clock *clock.Clock
	Lag   Lag
	// Subscriptions are those that exist.
	Subscriptions map[string]bool

	groups     map[string]*Group
	resources  map[string]*Resource
	past       []*Resource // that lists still show
	operations map[string]*Operation
	random     *rand.Rand
}

// New returns an empty world. Random names come from seed.
func New(c *clock.Clock, seed uint64) *World {
	return &World{
		Clock: c, Subscriptions: map[string]bool{}, groups: map[string]*Group{}, resources: map[string]*Resource{},
		operations: map[string]*Operation{}, random: rand.New(rand.NewPCG(seed, seed)),
	}
}

// Put adds or replaces a resource.
func (w *World) Put(id doc.ID, body doc.Object) *Resource {
	r := w.resources[id.Key()]
	if r == nil {
		r = &Resource{ID: id, born: w.Clock.Now()}
		w.resources[id.Key()] = r
	}
	r.Body = body
	r.version++
	return r
}

// Find returns what exists, whether clients see it yet or not.
func (w *World) Find(id doc.ID) *Resource { return w.resources[id.Key()] }

// FindText is Find for an id as text.
func (w *World) FindText(id string) *Resource { return w.resources[doc.Key(id)] }

// See returns what a GET finds.
func (w *World) See(id doc.ID) *Resource {
	r := w.Find(id)
	if r == nil || w.Clock.Now().Before(r.born.Add(w.Lag.Get)) {
		return nil
	}
	return r
}

// Touch says that a resource changed.
func (w *World) Touch(r *Resource) { r.version++ }

// Remove ends a resource.
func (w *World) Remove(id doc.ID) {
	r := w.Find(id)
	if r == nil {
		return
	}
	r.gone = w.Clock.Now()
	delete(w.resources, id.Key())
	if w.Lag.List > 0 {
		w.past = append(w.past, r)
	}
}

// List returns what a list finds, by id: what is new may be missing, what is gone may be there.
func (w *World) List(of func(doc.ID) bool) []*Resource {
	return w.list(func(r *Resource) bool { return of(r.ID) && !w.Clock.Now().Before(r.born.Add(w.Lag.List)) }, w.lingering(of))
}

// All returns what exists, by id.
func (w *World) All(of func(doc.ID) bool) []*Resource {
	return w.list(func(r *Resource) bool { return of(r.ID) }, nil)
}

// Each tells of what exists, in no order: among thousands, to put them in order takes most of the time.
func (w *World) Each(of func(doc.ID) bool, tell func(*Resource)) {
	for _, r := range w.resources {
		if of(r.ID) {
			tell(r)
		}
	}
}

func (w *World) list(is func(*Resource) bool, more []*Resource) []*Resource {
	byKey := map[string]*Resource{}
	for _, r := range more {
		byKey[r.ID.Key()] = r
	}
	for key, r := range w.resources {
		if is(r) {
			byKey[key] = r
		}
	}
	all := make([]*Resource, 0, len(byKey))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		all = append(all, byKey[key])
	}
	return all
}

func (w *World) lingering(of func(doc.ID) bool) []*Resource {
	w.past = slices.DeleteFunc(w.past, func(r *Resource) bool { return !w.Clock.Now().Before(r.gone.Add(w.Lag.List)) })
	var all []*Resource
	for _, r := range w.past {
		if of(r.ID) && w.Find(r.ID) == nil {
			all = append(all, r)
		}
	}
	return all
}

// Kind selects a type of resources, in a group or, if group is "", in the whole subscription.
func Kind(subscription, group, kind string) func(doc.ID) bool {
	return func(id doc.ID) bool {
		return id.Is(kind) && doc.Same(id.Subscription, subscription) && (group == "" || doc.Same(id.Group, group))
	}
}

// Suffix returns some random letters and digits, as the platform appends them to names.
func (w *World) Suffix(n int) string {
	const letters = "0123456789abcdef"
	s := make([]byte, n)
	for i := range s {
		s[i] = letters[w.random.IntN(len(letters))]
	}
	return string(s)
}

// UUID returns a random UUID.
func (w *World) UUID() string {
	return w.Suffix(8) + "-" + w.Suffix(4) + "-4" + w.Suffix(3) + "-a" + w.Suffix(3) + "-" + w.Suffix(12)
}
