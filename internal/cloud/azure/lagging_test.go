package azure

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestRemovalWhileListsLag has the sweep's lists show adapter and disk of a VM that is gone with them. A look at each ends the
// wait; the lists are asked for no more often.
func TestRemovalWhileListsLag(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	before := s.things()
	s.run(a, m)
	s.live(a, 10*time.Minute)
	s.Change(func(in *armsim.Inside) { in.World.Lag.List = time.Minute })
	s.sweepAt(a, s.Now().Add(time.Hour)) // the regular one would be a list more, in one run of ten
	s.Forget()
	took := s.removal(a, m)
	if took > 3*time.Minute {
		t.Errorf("the removal took %s", took)
	}
	calls := s.ByClass()
	if n := calls["GET nic list"] + calls["GET disk list"]; n > 4 {
		t.Errorf("%d lists: %v", n, calls)
	}
	if n := calls["GET nic"] + calls["GET disk"]; n < 1 || n > 4 {
		t.Errorf("%d looks at an adapter or a disk", n)
	}
	if calls["DELETE nic"]+calls["DELETE disk"] > 0 {
		t.Errorf("what was not left was removed: %v", calls)
	}
	if diff := cmp.Diff(before, s.things()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

// TestRemovalOfWhatIsLeft is as slow as before: a look shows that it is there, and nothing younger than ten minutes is removed.
func TestRemovalOfWhatIsLeft(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	before := s.things()
	s.run(a, m)
	s.Change(func(in *armsim.Inside) { in.Network.Leave = true })
	s.Forget()
	took := s.removal(a, m)
	if took < 10*time.Minute || took > 13*time.Minute {
		t.Errorf("the removal took %s", took)
	}
	if calls := s.ByClass(); calls["GET nic"] > 6 || calls["DELETE nic"] != 1 {
		t.Errorf("calls are %v", calls)
	}
	s.Advance(time.Minute)
	if diff := cmp.Diff(before, s.things()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

// removal says how long it takes until nothing is left. A sweep comes as soon as the VM is gone.
func (s *stage) removal(a *account, m cloud.Machine) time.Duration {
	s.t.Helper()
	began, swept := s.Now(), false
	for range 400 {
		if _, err := a.Delete(s.t.Context(), m); errors.Is(err, cloud.ErrNotFound) {
			return s.Now().Sub(began)
		} else if err != nil {
			s.t.Fatal(err)
		}
		if !swept && !s.has(m.Name) {
			s.sweepAt(a, time.Time{})
			swept = true
		}
		s.live(a, 5*time.Second)
	}
	s.t.Fatal("the VM is not gone")
	return 0
}

// sweepAt has the watch sweep at its first look from then on.
func (s *stage) sweepAt(a *account, due time.Time) {
	for _, one := range a.lists.AllScopes() {
		one.Postpone(lists.Remnants, due)
	}
}
