package world

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ErrKilled is what a process gets for an answer once it is dead.
var ErrKilled = errors.New("this process was killed")

// Plan says where to kill a process: before or after an effect. After means that the effect took place and that the process
// did not hear of it. The zero Plan lets it live.
type Plan struct {
	Effect string
	After  bool
}

// String is the plan for people.
func (p Plan) String() string {
	if p.After {
		return "after " + p.Effect
	}
	return "before " + p.Effect
}

// Gate stands between a process and the world. All that changes the world passes it and is counted by name, and it can kill
// the process right there: from then on nothing passes.
type Gate struct {
	Plan Plan
	// Kill is called, once, when the plan is carried out.
	Kill func()
	// Before is called, if it is set, before an effect takes place: what it does, the process could not know of.
	Before func(effect string)
	// Unanswered is how the name of a call begins that never gets an answer, the first time that it is made. Proxies and tunnels
	// that lose a stream of a connection that lives do so.
	Unanswered string

	mu      sync.Mutex
	dead    bool
	hit     bool
	counts  map[string]int
	history []string
	reads   map[string]int
}

// loses says, once, that a call gets no answer.
func (g *Gate) loses(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Unanswered == "" || !strings.HasPrefix(name, g.Unanswered) {
		return false
	}
	g.Unanswered = ""
	return true
}

// Lost says whether the call that is never answered was made.
func (g *Gate) Lost() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Unanswered == ""
}

// Change carries out a change of the world, if it may be. Forward says whether the change took place; one that was refused is
// no effect.
func (g *Gate) Change(name string, forward func() (done bool)) error {
	if err := g.enter(name); err != nil {
		return err
	}
	g.wait(name)
	return g.leave(name, forward())
}

func (g *Gate) enter(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return ErrKilled
	}
	if !g.Plan.After && g.Plan.Effect == numbered(name, g.counts[name]+1) {
		return g.die()
	}
	return nil
}

// wait lets others be faster.
func (g *Gate) wait(name string) {
	if g.Before == nil {
		return
	}
	g.mu.Lock()
	effect := numbered(name, g.counts[name]+1)
	g.mu.Unlock()
	g.Before(effect)
}

func (g *Gate) leave(name string, done bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if done {
		if g.counts == nil {
			g.counts = map[string]int{}
		}
		g.counts[name]++
		g.history = append(g.history, numbered(name, g.counts[name]))
	}
	if g.dead {
		return ErrKilled
	}
	if done && g.Plan.After && g.Plan.Effect == numbered(name, g.counts[name]) {
		return g.die()
	}
	return nil
}

// die must be called with the lock.
func (g *Gate) die() error {
	g.dead, g.hit = true, true
	if g.Kill != nil {
		go g.Kill()
	}
	return ErrKilled
}

// Read notes a call that changes nothing.
func (g *Gate) Read(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return ErrKilled
	}
	if g.reads == nil {
		g.reads = map[string]int{}
	}
	g.reads[name]++
	return nil
}

// Shut kills the process without a plan: nothing passes any more.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = true
}

func (g *Gate) isDead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead
}

// Hit says whether the plan was carried out.
func (g *Gate) Hit() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hit
}

// Effects lists what passed, in order, each with how often it had been by then: "POST secrets #1".
func (g *Gate) Effects() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.history)
}

// counted is how often what was changed.
func (g *Gate) counted() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.counts)
}

// Reads says how often what was read.
func (g *Gate) Reads() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.reads)
}

func numbered(name string, n int) string { return name + " #" + strconv.Itoa(n) }
