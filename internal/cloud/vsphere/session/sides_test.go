package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestProbe: a vCenter that refuses a probe has answered, and one whose probe was given up has not failed to.
func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		givenUp       bool
		fails         error
		before, after bool
	}{
		"it answers":               {false, nil, true, false},
		"it refuses":               {false, soap.WrapVimFault(&types.NoPermission{}), true, false},
		"no answer":                {false, io.ErrUnexpectedEOF, false, true},
		"given up":                 {true, io.ErrUnexpectedEOF, false, false},
		"given up while it is out": {true, nil, true, true},
	} {
		s := (&inProcess{fails: c.fails}).loggedIn()
		if c.before {
			s.breaker.trip(s.now(), io.ErrUnexpectedEOF)
		}
		ctx, end := context.WithCancel(t.Context())
		if c.givenUp {
			end()
		}
		s.Check(ctx)
		end()
		expect.Same(t, name+": broken", c.after, s.Broken())
	}
}

// TestTrip: when the breaker opens, the requests in flight end, and the first cause stays for as long as it is open.
func TestTrip(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	first := errors.New("the first cause")
	b := circuit{state: newBreaker()}
	during(t, &b, func(flight context.Context) {
		var landed func() error
		during(t, &b, func(ctx context.Context) { landed = ctx.Err })
		expect.Same(t, "requests that ended, requests in flight", []bool{true, false}, []bool{landed() != nil, flight.Err() != nil})
		b.trip(noon, first)
		expect.Same(t, "in flight when it opens", true, flight.Err() != nil)
	})
	b.trip(noon.Add(time.Second), io.ErrUnexpectedEOF)
	expect.Same(t, "the first cause", true, errors.Is(b.refusal(), first))
	for after, want := range map[time.Duration]time.Duration{
		0: probeEvery, time.Second: probeEvery - time.Second, probeEvery: probeEvery / 100, time.Hour: probeEvery / 100,
	} {
		expect.Same(t, fmt.Sprint("next probe, seen after ", after), want, b.due(noon.Add(after)))
	}
	expect.Same(t, "a probe too early", false, b.beginProbe(noon.Add(probeEvery-1), false))
	expect.Same(t, "a probe in time", true, b.beginProbe(noon.Add(probeEvery), false))
	b.endProbe()
	expect.Same(t, "another one at once", false, b.beginProbe(noon.Add(2*probeEvery-1), false))
	b.restore()
	expect.Same(t, "a probe of one that answers", false, b.beginProbe(noon.Add(time.Hour), false))
}

// during does something while a request is in flight.
func during(t *testing.T, b *circuit, do func(context.Context)) {
	t.Helper()
	request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://vcenter", http.NoBody))(t)
	answer, err := observed{way(do), b, time.Now}.RoundTrip(request)
	if answer != nil {
		expect.OK(t, answer.Body.Close())
	}
	expect.Same(t, "no answer", true, errors.Is(err, ErrForeign))
}

// way is what a request does on its way, to no vCenter.
type way func(context.Context)

// RoundTrip is part of http.RoundTripper.
func (w way) RoundTrip(r *http.Request) (*http.Response, error) {
	w(r.Context())
	return nil, ErrForeign
}

// TestGivenUp: a request that its caller gives up is none that had no answer; one whose time is over is.
func TestGivenUp(t *testing.T) {
	canceled, end := context.WithCancel(t.Context())
	end()
	late, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	for counts, ctx := range map[bool]context.Context{false: canceled, true: late} {
		b := circuit{} // which one request without an answer opens
		request := expect.Got(http.NewRequestWithContext(ctx, http.MethodPost, "https://vcenter", http.NoBody))(t)
		answer, err := observed{refuses{io.ErrUnexpectedEOF}, &b, time.Now}.RoundTrip(request)
		if answer != nil {
			expect.OK(t, answer.Body.Close())
		}
		expect.Same(t, "an error", true, err != nil)
		expect.Same(t, "it counts as one without an answer", counts, b.refusal() != nil)
	}
}

// TestHealth: what is told of a session, of which silence is worse than a refusal.
func TestHealth(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	refusal, silence := errors.New("refused"), errors.New("silent")
	for name, c := range map[string]struct {
		client     *vim25.Client
		err, cause error
		sessions   int
		says       string
	}{
		"new":               {nil, nil, nil, 0, ""},
		"in":                {&vim25.Client{}, nil, nil, 1, ""},
		"refused":           {nil, refusal, nil, 0, "refused"},
		"silent":            {&vim25.Client{}, nil, silence, 1, "silent"},
		"refused, then out": {nil, refusal, silence, 0, "silent"},
	} {
		s := at("vc.example.com")
		s.client, s.err, s.breaker.heard = c.client, c.err, noon
		s.breaker.state.Open(noon, c.cause, probeEvery)
		h := s.Health()
		expect.Same(t, name+": sessions", c.sessions, h.Sessions)
		expect.Same(t, name+": broken", c.says != "", h.Broken)
		expect.Says(t, name, h.Cause, c.says)
		expect.Same(t, name+": server and time", "vc.example.com 12", fmt.Sprint(h.Server, " ", h.Heard.Hour()))
	}
}

// TestKnownNeedsNoWait: who has no time left gets what is known at once, and else the reason that it is over.
func TestKnownNeedsNoWait(t *testing.T) {
	over, end := context.WithCancel(t.Context())
	end()
	s := (&inProcess{}).loggedIn()
	client := expect.Got(s.login(over))(t)
	expect.Same(t, "the client", true, client == s.client)
	s.forget((&inProcess{}).client())
	expect.Same(t, "the client after another was forgotten", true, client == s.client)
	s.forget(client)
	expect.Same(t, "the client after it was forgotten", true, s.client == nil)
	s.closed = true
	_, err := s.login(over)
	expect.Same(t, "closed", true, errors.Is(err, errClosed))

	_, err = open(t, vcenter.New(t).Credentials()).login(over)
	expect.Same(t, "it is over", true, errors.Is(err, context.Canceled))
}

// TestEndsAgain: a session that ends as soon as it is made is tried once more, and no more.
func TestEndsAgain(t *testing.T) {
	v := vcenter.New(t)
	calls := 0
	_, err := Do(t.Context(), open(t, v.Credentials()), func(context.Context, *vim25.Client) (bool, error) {
		calls++
		return false, soap.WrapVimFault(&types.NotAuthenticated{})
	})
	cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	expect.Same(t, "calls and logins", []int{2, 2}, []int{calls, v.Calls()["Login"]})
}

// TestAnsweredAtLast: a vCenter that was silent and refuses the login, or is another one, answers.
func TestAnsweredAtLast(t *testing.T) {
	v := vcenter.New(t)
	for name, c := range map[string]struct {
		password, server string
		want             error
	}{
		"refused": {"wrong", "", errUnasked}, "another server": {vcenter.Password, noSuchServer, cloud.ErrOtherServer},
		"it lets us in": {vcenter.Password, "", nil},
	} {
		s := open(t, with(v.Credentials(), "password", c.password))
		s.server = c.server
		s.breaker.trip(s.now(), io.ErrUnexpectedEOF)
		client, err := s.try(t.Context())
		expect.Same(t, name+": the error", true, errors.Is(err, c.want))
		expect.Same(t, name+": a client", c.want == nil, client != nil)
		expect.Same(t, name+": it does not answer", false, s.Broken())
	}
}

// TestLeaveTwice: a place is given back once.
func TestLeaveTwice(t *testing.T) {
	s := (&inProcess{}).loggedIn()
	freed := 0
	s.Freed = func() { freed++ }
	for _, enters := range []bool{true, false} {
		ctx, leave := s.Visit(t.Context())
		if enters {
			expect.OK(t, s.Enter(ctx))
		}
		leave()
		leave()
		expect.Same(t, "places taken, places that became free", []int{0, 1}, []int{len(s.placed), freed})
	}
}

// TestLastByte: a text is cut at the byte that is too much, also when it ends there, but not inside a character or an entity.
func TestLastByte(t *testing.T) {
	for name, c := range map[string]struct {
		end, more string
		kept      int
	}{
		"the last byte": {"x", "", 0}, "one more": {"x", "x", 0}, "two more": {"x", "xx", 0},
		"a character":     {"x", "\x80\x80x", 2},
		"no character":    {"x", strings.Repeat("\x80", 40), maxEntity},
		"an entity":       {"&", "#1;xx", 3},
		"no entity":       {"&", strings.Repeat("x", 40), maxEntity},
		"the next entity": {"x", "&#1;", 0},
	} {
		text := strings.Repeat("x", maxText-1) + c.end
		for _, piece := range []int{512, maxText + len("<x>"), maxText + len("<x>") + 1, 1 << 20} {
			s, err := sifted("<x>"+text+c.more+"</x><y>y</y>", piece)
			expect.OK(t, err)
			expect.Same(t, name, maxText+c.kept, s.out.Len()-len("<x></x><y>y</y>"))
		}
	}
}

// TestDepth: each way to end an element ends one.
func TestDepth(t *testing.T) {
	for answer, want := range map[string]int{
		"<a>": 1, "<a></a>": 0, "<a/>": 0, "<a></a/>": 0, "<a b='/'>": 1, "<?a/?>": 0, "<a></>": 0,
	} {
		s, err := sifted(answer, 512)
		expect.OK(t, err)
		expect.Same(t, answer, want, s.depth)
	}
}

// TestSameWordsOtherReason: what is told is new if its reason is, and a story that is told again is the first one.
func TestSameWordsOtherReason(t *testing.T) {
	var s lastErrors
	for n, c := range []struct {
		reason, lasting string
		again           bool
	}{{"A", "try #", false}, {"A", "try #", true}, {"B", "try #", false}, {"B", "#", false}, {"B", "#", true}} {
		_, again := s.remember("m", lastError{c.reason, fmt.Sprint(n), c.lasting})
		expect.Same(t, fmt.Sprint("told before, ", n), c.again, again)
	}
}

// TestWordsEnd: a fault that says as much as is shown is shown whole, and what it says beside that is seen to be missing. What
// it says of a session that ended is no news to people.
func TestWordsEnd(t *testing.T) {
	for more, want := range map[string]string{"": "x", "y": "..."} {
		said := words(failedTask(strings.Repeat("x", maxWords), &types.SystemError{Reason: more}))
		expect.Same(t, "bytes", maxWords, len(said))
		expect.Same(t, "its end, with "+more, true, strings.HasSuffix(said, want))
	}
	expect.Same(t, "an ended session", "", words(refusedCall("Not authenticated.", &types.NotAuthenticated{})))
}

// TestPauses: a task that failed is tried again after a while, and what was refused at once may be tried at once.
func TestPauses(t *testing.T) {
	for want, fault := range map[time.Duration]types.BaseMethodFault{
		30 * time.Second: &types.GenericVmConfigFault{}, 0: &types.SystemError{},
	} {
		known, _ := errors.AsType[*cloud.Error](failedTask("x", fault))
		expect.Same(t, "pause", want, known.After)
	}
}

// TestOthersDoNotProbe: while one waits for the vCenter, a caller asks nothing, and gets the error. Which server it was at is
// known all the same.
func TestOthersDoNotProbe(t *testing.T) {
	p := &inProcess{}
	s := p.loggedIn()
	s.server = noSuchServer
	s.breaker.trip(s.now().Add(-probeEvery), io.ErrUnexpectedEOF)
	s.breaker.awaiting.Add(1)
	expect.Same(t, "silent", true, Silent(s.Enter(t.Context())))
	expect.Same(t, "probes", time.Duration(0), p.may)
	expect.Same(t, "server", noSuchServer, expect.Got(s.Server(t.Context()))(t))
	s.breaker.awaiting.Add(-1)
	expect.OK(t, s.Enter(t.Context()))
}
