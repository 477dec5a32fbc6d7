package crash

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// matrix is what the lives of one matrix share. Each has a place for itself.
type matrix struct {
	// ahead is by how much the manager's clock is ahead of all others.
	ahead  time.Duration
	places chan place
	counts tally
}

// theirs is a VM of somebody else in each place of a matrix.
const theirs = "m0-theirs"

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{places: make(chan place, atOnce)}
	for range atOnce {
		at := newPlace(t)
		at.others = []string{theirs}
		at.vcenter.Owner(t).Occupy(theirs)
		m.places <- at
	}
	return m
}

// begin begins a life in a free place. Its test counts what came of it, as the last thing that it does.
func (m *matrix) begin(t *testing.T, slow bool, plans ...world.Plan) *run {
	t.Helper()
	at := <-m.places
	t.Cleanup(func() { m.places <- at })
	at.ahead = m.ahead
	return begin(t, at, slow, plans...)
}

// tally is what the lives of a matrix have cost.
type tally struct {
	runs, violations, foreign, letGo, leaked atomic.Int32
}

// add counts the end of a life in the vCenter.
func (c *tally) add(t *testing.T, r *run) {
	t.Helper()
	c.count(t, r, r.vcenter.VMs())
}

// count counts the end of a life, with the VMs that are left then. Each that is not somebody else's is one of a machine that has
// gone, if that has.
func (c *tally) count(t *testing.T, r *run, left []string) {
	t.Helper()
	c.runs.Add(1)
	if t.Failed() {
		c.violations.Add(1)
	}
	for _, name := range r.others {
		if !slices.Contains(left, name) {
			c.foreign.Add(1)
			t.Errorf("somebody else's VM %s was removed", name)
		}
	}
	gone := world.Gone(r.machine.Load(t)) == ""
	if gone && len(left) > len(r.others) {
		c.leaked.Add(1)
		t.Errorf("the machine has gone, and these VMs are left: %q", left)
	}
	if r.letGo {
		c.letGo.Add(1)
	}
}

// tell prints the figures.
func (c *tally) tell(t *testing.T, name string) {
	t.Helper()
	t.Logf("proved: %s: rows %d, foreign deleted %d, let go %d, leaked %d", strings.ReplaceAll(name, ",", ""),
		c.runs.Load(), c.foreign.Load(), c.letGo.Load(), c.leaked.Load())
	if c.foreign.Load()+c.letGo.Load()+c.leaked.Load() > 0 {
		t.Error("a promise is broken")
	}
}

// byClocks has lives lived with each clock, one after the other, and prints what they have cost.
func byClocks(t *testing.T, name string, live func(t *testing.T, ahead time.Duration, counts *tally)) {
	t.Helper()
	for _, ahead := range proved.Clocks() {
		t.Run("clock "+ahead.String(), func(t *testing.T) {
			counts := &tally{}
			t.Run("plans", func(t *testing.T) { live(t, ahead, counts) })
			counts.tell(t, name+", clock "+ahead.String())
		})
	}
}
