package session

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// silent is a vCenter behind a door that can be shut, and counts who comes.
type silent struct {
	*vcenter.Door
	shut  atomic.Bool
	calls atomic.Int32
	clock atomic.Int64
}

func newSilent(t *testing.T) *silent {
	t.Helper()
	s := &silent{}
	s.Door = vcenter.New(t).Open(func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		if s.shut.Load() {
			vcenter.Abort()
		}
		next.ServeHTTP(w, r)
	})
	t.Cleanup(s.Close)
	return s
}

func (s *silent) open(t *testing.T) *Session {
	t.Helper()
	session := open(t, s.Credentials())
	session.now = func() time.Time { return time.Unix(s.clock.Load(), 0) }
	return session
}

// TestBreaker: a vCenter that stops answering is asked by a few calls and then by a probe now and then, and all say the same.
func TestBreaker(t *testing.T) {
	v := newSilent(t)
	s := v.open(t)
	expect.OK(t, ask(t, s))
	v.shut.Store(true)
	v.calls.Store(0)
	texts := map[string]bool{}
	for range 100 {
		err := ask(t, s)
		cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
		texts[err.Error()] = true
	}
	expect.Same(t, "requests", silentRequests, int(v.calls.Load()))
	expect.Same(t, "sentences", 1, len(texts))
	expect.Same(t, "broken", true, s.Health().Broken)
	for range 3 {
		v.clock.Add(int64(probeEvery.Seconds()))
		v.calls.Store(0)
		for range 100 {
			texts[ask(t, s).Error()] = true
		}
		expect.Same(t, "requests in the time of a probe", 1, int(v.calls.Load()))
	}
	expect.Same(t, "sentences, with those of probes", 1, len(texts))
	v.shut.Store(false)
	cloudtest.WantError(t, ask(t, s), cloud.Transient, infrav1.CloudUnreachableReason)
	v.clock.Add(int64(probeEvery.Seconds()))
	expect.OK(t, ask(t, s))
	expect.Same(t, "broken when it is back", false, s.Health().Broken)
}

// TestOneAnswerIsEnough: lost answers between others do not break an account.
func TestOneAnswerIsEnough(t *testing.T) {
	v := newSilent(t)
	s := v.open(t)
	for range 2 * silentRequests {
		expect.OK(t, ask(t, s))
		v.shut.Store(true)
		for range silentRequests - 1 {
			expect.Same(t, "the cause may have reached the vCenter", true, Asked(ask(t, s)))
		}
		v.shut.Store(false)
	}
}

// statuses answers with a status and nothing else.
type statuses int

// RoundTrip is part of http.RoundTripper.
func (s statuses) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(s), Body: http.NoBody}, nil
}

// TestStatuses: an answer that is not a vCenter's counts as none.
func TestStatuses(t *testing.T) {
	for status, broken := range map[int]bool{
		http.StatusOK: false, http.StatusInternalServerError: false, // a fault
		http.StatusServiceUnavailable: true, http.StatusNotFound: true, http.StatusFound: true,
	} {
		b := circuit{state: newBreaker()}
		request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://vcenter", http.NoBody))(t)
		for range silentRequests {
			answer, err := observed{statuses(status), &b, time.Now}.RoundTrip(request)
			expect.OK(t, err)
			expect.OK(t, answer.Body.Close())
		}
		expect.Same(t, http.StatusText(status), broken, b.refusal() != nil)
	}
}

// TestAwait: who waits for the vCenter asks, and hears when it answers.
func TestAwait(t *testing.T) {
	v := newSilent(t)
	s := open(t, v.Credentials())
	s.ProbeEvery(time.Millisecond)
	v.shut.Store(true)
	cloudtest.WantError(t, ask(t, s), cloud.Transient, infrav1.CloudUnreachableReason)
	back := make(chan struct{})
	go func() { s.Await(t.Context()); close(back) }()
	wait.Until(t, "probes", func() (any, bool) { return v.calls.Load(), v.calls.Load() > 5 })
	v.shut.Store(false)
	<-back
	expect.OK(t, ask(t, s))
}

// TestLimit: an account serves a few callers at a time, and the others have their answer at once.
func TestLimit(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, v.Credentials())
	var freed atomic.Int32
	s.Freed = func() { freed.Add(1) }
	expect.OK(t, ask(t, s))
	held := v.HoldMethod("CurrentTime")
	var inside sync.WaitGroup
	for range InFlight {
		inside.Go(func() { expect.Fine(t, askOnce(t, s)) })
	}
	wait.Until(t, "the places to be taken", func() (any, bool) { now, _ := held.Now(); return now, now == InFlight })
	before := freed.Load()
	for range 100 {
		err := askOnce(t, s)
		expect.Same(t, "kind", cloud.Later, kindOf(err))
		expect.Same(t, "the vCenter was asked", false, Asked(err))
	}
	_, err := Do(Unlimited(t.Context()), s, func(context.Context, *vim25.Client) (bool, error) { return true, nil })
	expect.OK(t, err) // the watch needs no place
	held.Release()
	inside.Wait()
	expect.Same(t, "places that became free", InFlight, int(freed.Load()-before))
	expect.OK(t, ask(t, s))
}

// TestVisit: the calls of one caller share a place, and one that goes on after its end needs none.
func TestVisit(t *testing.T) {
	s := open(t, vcenter.New(t).Credentials())
	var leave []func()
	for range InFlight {
		ctx, end := s.Visit(t.Context())
		expect.OK(t, s.Enter(ctx))
		expect.OK(t, s.Enter(ctx))
		leave = append(leave, end)
	}
	ctx, end := s.Visit(t.Context())
	expect.Same(t, "kind", cloud.Later, kindOf(s.Enter(ctx)))
	leave[0]()
	expect.OK(t, s.Enter(ctx))
	end()
	leave[1]()
	expect.OK(t, s.Enter(ctx))
	leave[2]()
	expect.Same(t, "places that are taken", 0, len(s.placed))
}

// TestConnections: answers are read to their end, so that the same connections serve all calls.
func TestConnections(t *testing.T) {
	s := open(t, vcenter.New(t).Credentials())
	var made atomic.Int32
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			made.Add(1)
		}
	}})
	var all sync.WaitGroup
	for range 2 * InFlight {
		all.Go(func() {
			for range 50 {
				_, err := Do(ctx, s, func(ctx context.Context, c *vim25.Client) (Objects, error) {
					return Read(ctx, c, Source{Object: c.ServiceContent.RootFolder}, "Folder", "name", "childEntity", "permission")
				})
				if err != nil && kindOf(err) != cloud.Later {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := made.Load(); n > connections {
		t.Errorf("%d connections, want at most %d", n, connections)
	}
}

// TestRefusals: only what another password or role mends is not tried again for minutes.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		fault types.BaseMethodFault
		want  bool
	}{
		{&types.InvalidLogin{}, true},
		{&types.InvalidLocale{}, false},
		{&types.NoPermission{}, true},
		{&types.SystemError{}, false},
		{&types.HostConnectFault{}, false},
	} {
		expect.Same(t, "refused", c.want, refused(soap.WrapVimFault(c.fault)))
	}
}

// TestTooManySessions: a vCenter that has no room for a session, as one that starts, lets us in soon after it has.
func TestTooManySessions(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, v.Credentials())
	var clock atomic.Int64
	s.now = func() time.Time { return time.Unix(clock.Load(), 0) }
	first := open(t, v.Credentials())
	expect.OK(t, ask(t, first))
	v.LimitSessions(1)
	cloudtest.WantError(t, ask(t, s), cloud.Transient, infrav1.CloudUnreachableReason)
	v.LimitSessions(0)
	clock.Add(int64(probeEvery.Seconds()))
	expect.OK(t, ask(t, s))
}

// TestLostSessionIsProbed: a vCenter that restarts forgets its sessions; a probe makes a new one.
func TestLostSessionIsProbed(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, v.Credentials())
	expect.OK(t, ask(t, s))
	v.Owner(t).EndSessions()
	s.breaker.trip(s.now().Add(-probeEvery), http.ErrHandlerTimeout)
	expect.OK(t, s.Enter(t.Context()))
	expect.Same(t, "sessions", 1, len(v.Owner(t).Sessions()))
}

// TestAwaitEnds: who waits for a vCenter that does not answer leaves when its context ends.
func TestAwaitEnds(t *testing.T) {
	s := open(t, vcenter.New(t).Credentials())
	s.breaker.trip(s.now(), http.ErrHandlerTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() { s.Await(ctx); close(left) }()
	wait.Until(t, "the wait", func() (any, bool) {
		waiting := s.breaker.awaiting.Load()
		return waiting, waiting == 1
	})
	cancel()
	<-left
	expect.Same(t, "broken", true, s.Broken())
	expect.Same(t, "those that wait", int32(0), s.breaker.awaiting.Load())
}
