package azure

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestProvedRestart: a process asks for a VM and dies; so long after that a new one, whose clock is not Azure's, deletes the
// machine. Lists are half a minute late, and answers on one VM ten seconds. The VM is removed, whatever clocks say.
func TestProvedRestart(t *testing.T) {
	runs, leaked := 0, 0
	for _, ahead := range proved.Clocks() {
		for _, since := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second} {
			t.Run(fmt.Sprintf("clock %s, restart after %s", ahead, since), func(t *testing.T) {
				runs++
				if !removedAfterRestart(t, ahead, since) {
					leaked++
					t.Error("the machine was let go, and its VM runs")
				}
			})
		}
	}
	t.Logf("proved: restart after a PUT: rows %d, let go %d, leaked %d", runs, leaked, leaked)
}

func removedAfterRestart(t *testing.T, ahead, since time.Duration) bool {
	t.Helper()
	s := newStage(t)
	s.Change(func(in *armsim.Inside) { in.World.Lag.List, in.World.Lag.Get = 30*time.Second, 10*time.Second })
	a, m := s.watched(), s.machine("m")
	for range 100 {
		_, _ = a.Ensure(t.Context(), m)
		if s.ByClass()["PUT vm"] > 0 {
			break
		}
		s.live(a, time.Second)
	}
	expect.Same(t, "PUTs", 1, s.ByClass()["PUT vm"])
	s.live(a, since)
	b := s.watched()
	b.now = func() time.Time { return s.Now().Add(ahead) }
	b.opened = b.now()
	m.Asked = cloud.MaybeAsked // the new process did not put the finalizer there
	for range 400 {
		if _, err := b.Delete(t.Context(), m); errors.Is(err, cloud.ErrNotFound) {
			break
		}
		s.live(b, 5*time.Second)
	}
	s.Advance(10 * time.Minute)
	return !s.has(m.Name)
}
