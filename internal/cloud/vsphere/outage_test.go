package vsphere

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestHungVCenter: of 500 machines on a vCenter that answers nothing, a few hold a worker, and those of another one go on.
func TestHungVCenter(t *testing.T) {
	t.Parallel()
	for name, loggedIn := range map[string]bool{"at the login": false, "with a session": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			a, m := v.account(), v.machine("m")
			if loggedIn {
				wantAbsent(t, a, m)
			}
			held := v.HoldMethod()
			var inside sync.WaitGroup
			var working atomic.Int32
			for i := range 500 {
				m := v.machine(fmt.Sprint("m", i))
				working.Add(1)
				inside.Go(func() {
					defer working.Add(-1)
					_, _ = a.Ensure(t.Context(), m)
				})
			}
			wait.Until(t, "the others to have an answer", func() (any, bool) { n := working.Load(); return n, n <= session.InFlight })
			if _, most := held.Now(); most > session.InFlight {
				t.Errorf("%d calls in flight", most)
			}
			other := newStage(t)
			running(t, other.account(), other.machine("m"))
			held.Release()
			inside.Wait()
			expect.Same(t, "VMs", true, len(v.VMs()) <= session.InFlight)
		})
	}
}

// away is a vCenter behind a door that can be shut.
type away struct {
	*stage
	door  *vcenter.Door
	shut  atomic.Bool
	calls atomic.Int32
	freed atomic.Int32 // collectors that it was asked to remove, also while it was shut
}

func newAway(t *testing.T) *away {
	t.Helper()
	v := &away{stage: newStage(t)}
	v.door = v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		v.calls.Add(1)
		if method == "DestroyPropertyCollector" {
			v.freed.Add(1)
		}
		if v.shut.Load() {
			vcenter.Abort()
		}
		next.ServeHTTP(w, r)
	})
	t.Cleanup(v.door.Close)
	return v
}

// TestSessionIsLeft: who ends an account while its vCenter is away learns that the session stays there for a while.
func TestSessionIsLeft(t *testing.T) {
	t.Parallel()
	v := newAway(t)
	a := lateConnect(t, v.door.Credentials())
	wantAbsent(t, a, v.machine("m"))
	v.shut.Store(true)
	expect.Says(t, "the end", a.Close(t.Context()), "the vCenter does not answer")
	expect.Same(t, "sessions that we use", 0, a.Health().Sessions)
}

// TestOutage: each machine is woken when the vCenter goes, to tell of it, and when it is back. Between these they ask nothing,
// and say the same.
func TestOutage(t *testing.T) {
	t.Parallel()
	v := newAway(t)
	machines := machinesOf(t, v.stage, 5)
	a := prompt(expect.Got(Provider{}.Connect("", v.door.Credentials()))(t))
	a.session.ProbeEvery(10 * time.Millisecond)
	w := watchOn(t, a)
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	w.awaitTimes(t, machines, 1)

	v.shut.Store(true)
	v.door.CloseClientConnections()
	w.awaitTimes(t, machines, 2)
	expect.Same(t, "broken", true, a.Health().Broken)
	texts := map[string]bool{}
	for range 100 {
		for _, m := range machines {
			_, err := a.Observe(t.Context(), m)
			cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
			texts[err.Error()] = true
		}
	}
	expect.Same(t, "sentences", 1, len(texts))

	expect.Same(t, "collectors removed before", int32(0), v.freed.Load())
	v.shut.Store(false)
	w.awaitTimes(t, machines, 3)
	expect.Same(t, "collectors removed once it is back", int32(1), v.freed.Load())
	for _, m := range machines {
		vm := expect.Got(a.Observe(t.Context(), m))(t)
		expect.Same(t, "state", cloud.Running, vm.State)
		expect.Same(t, "keys", 3, w.times(m.Key))
	}
	expect.Same(t, "broken", false, a.Health().Broken)
	expect.Same(t, "watches that were left", 0, len(a.left))
}

// TestWatchEndsInAnOutage: who is told to end while the vCenter is away does not wait until it is back.
func TestWatchEndsInAnOutage(t *testing.T) {
	t.Parallel()
	v := newAway(t)
	a := lateConnect(t, v.door.Credentials())
	wantAbsent(t, a, v.machine("m"))
	ctx, end := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- a.Watch(ctx, func(...cloud.Key) {}) }()
	wait.Until(t, "the watch to know all VMs", func() (any, bool) { return nil, a.Health().Synced })
	v.shut.Store(true)
	v.door.CloseClientConnections()
	wait.Until(t, "the vCenter to count as away", func() (any, bool) { return nil, a.session.Broken() })
	end()
	wait.Until(t, "the watch to end", func() (any, bool) { return nil, len(over) == 1 })
	expect.OK(t, <-over)
}

// TestCut: a wait that got no answer has the vCenter asked once whether it answers at all; one that was refused, or that ends
// while the vCenter does not answer, does not.
func TestCut(t *testing.T) {
	t.Parallel()
	v := newAway(t)
	a := lateConnect(t, v.door.Credentials())
	wantAbsent(t, a, v.machine("m"))
	noAnswer, refused := io.ErrUnexpectedEOF, soap.WrapVimFault(&types.NotAuthenticated{})
	cut := func(what string, ctx context.Context, err error, asked int32) {
		t.Helper()
		before := v.calls.Load()
		if a.cut(ctx, err) == nil {
			t.Error("no reason " + what)
		}
		expect.Same(t, "questions "+what, asked, v.calls.Load()-before)
	}
	over, end := context.WithCancelCause(t.Context())
	end(errMoreFolders)
	cut("when a watch is over", over, noAnswer, 0)
	expect.Same(t, "the reason is that of the end", true, errors.Is(a.cut(over, noAnswer), errMoreFolders))
	cut("after a refusal", t.Context(), refused, 0)
	cut("without an answer", t.Context(), noAnswer, 1)
	v.shut.Store(true)
	cut("without an answer, the first time", t.Context(), noAnswer, 1)
	expect.Same(t, "broken", true, a.Health().Broken)
	cut("while it does not answer", t.Context(), noAnswer, 0)
}
