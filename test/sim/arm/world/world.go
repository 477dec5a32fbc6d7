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
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/clock"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
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
	byType     map[string]map[string]*Resource // by type and id: most of what is asked for is of one type
	past       []*Resource                     // that lists still show
	operations map[string]*Operation
	random     *rand.Rand
}

// New returns an empty world. Random names come from seed.
func New(c *clock.Clock, seed uint64) *World {
	return &World{
		Clock: c, Subscriptions: map[string]bool{}, groups: map[string]*Group{}, resources: map[string]*Resource{},
		byType: map[string]map[string]*Resource{}, operations: map[string]*Operation{}, random: rand.New(rand.NewPCG(seed, seed)),
	}
}

// Put adds or replaces a resource.
func (w *World) Put(id doc.ID, body doc.Object) *Resource {
	r := w.resources[id.Key()]
	if r == nil {
		r = &Resource{ID: id, born: w.Clock.Now()}
		w.add(r)
	}
	r.Body = body
	r.version++
	return r
}

func (w *World) add(r *Resource) {
	kind := strings.ToLower(r.ID.Type())
	if w.byType[kind] == nil {
		w.byType[kind] = map[string]*Resource{}
	}
	w.resources[r.ID.Key()], w.byType[kind][r.ID.Key()] = r, r
}

func (w *World) drop(r *Resource) {
	delete(w.resources, r.ID.Key())
	delete(w.byType[strings.ToLower(r.ID.Type())], r.ID.Key())
}

// Copy adds a resource that is a copy of another one, and has been there for as long.
func (w *World) Copy(of *Resource, text func(string) string, body doc.Object) *Resource {
	id, _ := doc.ParseID(text(of.ID.String()))
	r := w.Put(id, body)
	r.born = of.born
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
	w.drop(r)
	if w.Lag.List > 0 {
		w.past = append(w.past, r)
	}
}

// Move gives a resource another id, as a move to another group does. Lists hear of it as late as of the end of one resource and
// the beginning of another.
func (w *World) Move(r *Resource, to doc.ID) {
	left := *r
	left.Body, left.gone = doc.Clone(r.Body), w.Clock.Now()
	w.drop(r)
	if w.Lag.List > 0 {
		w.past = append(w.past, &left)
	}
	r.ID, r.born = to, w.Clock.Now()
	r.version++
	w.add(r)
}

// Kind selects a type of resources, or all types if it has none, in a group or, if it has no group, in the whole subscription.
// Under is the key of the resource that they are parts of.
type Kind struct{ Type, Subscription, Group, Under string }

func (k Kind) has(id doc.ID) bool {
	return (k.Type == "" || id.Is(k.Type)) && (k.Subscription == "" || doc.Same(id.Subscription, k.Subscription)) &&
		(k.Group == "" || doc.Same(id.Group, k.Group)) && (k.Under == "" || strings.HasPrefix(id.Key(), k.Under+"/"))
}

// List returns what a list finds, by id: what is new may be missing, what is gone may be there.
func (w *World) List(of Kind) []*Resource {
	byKey := map[string]*Resource{}
	for _, r := range w.lingering(of) {
		byKey[r.ID.Key()] = r
	}
	w.Each(of, func(r *Resource) {
		if !w.Clock.Now().Before(r.born.Add(w.Lag.List)) {
			byKey[r.ID.Key()] = r
		}
	})
	return inOrder(byKey)
}

// All returns what exists, by id.
func (w *World) All(of Kind) []*Resource {
	byKey := map[string]*Resource{}
	w.Each(of, func(r *Resource) { byKey[r.ID.Key()] = r })
	return inOrder(byKey)
}

// Each tells of what exists, in no order: among thousands, to put them in order takes most of the time.
func (w *World) Each(of Kind, tell func(*Resource)) {
	among := w.byType[strings.ToLower(of.Type)]
	if of.Type == "" {
		among = w.resources
	}
	for _, r := range among {
		if of.has(r.ID) {
			tell(r)
		}
	}
}

func inOrder(byKey map[string]*Resource) []*Resource {
	all := make([]*Resource, 0, len(byKey))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		all = append(all, byKey[key])
	}
	return all
}

func (w *World) lingering(of Kind) []*Resource {
	w.past = slices.DeleteFunc(w.past, func(r *Resource) bool { return !w.Clock.Now().Before(r.gone.Add(w.Lag.List)) })
	var all []*Resource
	for _, r := range w.past {
		if of.has(r.ID) && w.Find(r.ID) == nil {
			all = append(all, r)
		}
	}
	return all
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
