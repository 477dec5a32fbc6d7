package calls

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestCallsAtOnce: how many calls may be under way, and what is told to who comes when there are too many.
func TestCallsAtOnce(t *testing.T) {
	broken := cloud.Errorf(cloud.Denied, "Other", "broken")
	accepts, closes := (*circuit).accepted, (*circuit).close
	silent := func(c *circuit) { c.failed(cloud.Errorf(cloud.Transient, "Other", "silent")) }
	breaks := func(c *circuit) { c.failed(broken) }
	for name, c := range map[string]struct {
		was    []func(*circuit)
		later  time.Duration
		passes int
		says   string
	}{
		"not accepted yet":      {nil, 0, 1, "other calls of this account"},
		"accepted":              {[]func(*circuit){accepts}, 0, AtOnce, "other calls of this account"},
		"no answer":             {[]func(*circuit){accepts, silent}, 0, 1, "other calls of this account"},
		"answered and refused":  {[]func(*circuit){(*circuit).answered}, 0, 1, "other calls of this account"},
		"accepted and refused":  {[]func(*circuit){accepts, silent, (*circuit).answered}, 0, AtOnce, "other calls of this account"},
		"broken":                {[]func(*circuit){breaks}, deniedAt - 1, 0, "broken"},
		"broken, and it is due": {[]func(*circuit){breaks}, deniedAt, 1, "broken"},
		"closed":                {[]func(*circuit){accepts, closes}, 0, 0, "the account is closed"},
	} {
		now := blue.Noon
		of, passed := newCircuit(func() time.Time { return now }), 0
		for _, happens := range c.was {
			happens(of)
		}
		now = now.Add(c.later)
		err := of.begin()
		for ; err == nil; err = of.begin() {
			passed++
		}
		expect.Same(t, name+": calls at once", c.passes, passed)
		expect.Says(t, name, err, c.says)
		for range passed {
			of.end()
		}
		expect.Same(t, name+": another one after these", c.passes > 0, of.begin() == nil)
	}
}

// TestBrokenFor: a refused token breaks an account at once, and three calls without an answer do.
func TestBrokenFor(t *testing.T) {
	of := func(kind cloud.Kind, after time.Duration) *cloud.Error {
		return &cloud.Error{Kind: kind, Message: "no", After: after}
	}
	for name, c := range map[string]struct {
		errs  []*cloud.Error
		until time.Duration
	}{
		"denied":            {[]*cloud.Error{of(cloud.Denied, 0)}, deniedAt},
		"throttled":         {[]*cloud.Error{of(cloud.Throttled, time.Minute)}, time.Minute},
		"throttled shortly": {[]*cloud.Error{of(cloud.Throttled, 1)}, brokenAt},
		"silent twice":      {[]*cloud.Error{of(cloud.Transient, 0), of(cloud.Transient, 0)}, 0},
		"silent thrice":     {[]*cloud.Error{of(cloud.Transient, 0), of(cloud.Transient, 0), of(cloud.Transient, 0)}, brokenAt},
	} {
		client := blueCalls(t, nil)
		for _, err := range c.errs {
			expect.Same(t, name+": may have been carried out", false, client.unanswered(err).Lost)
		}
		expect.Same(t, name, c.until > 0, client.Health().Broken)
		if c.until > 0 {
			expect.Same(t, name+": until", blue.Noon.Add(c.until), client.circuit.state.Due())
		}
		client.circuit.accepted()
		expect.Same(t, name+": and then let in", cloud.Health{Server: blue.Endpoint, Sessions: 1, Heard: blue.Noon}, client.Health())
	}
}

// TestHealthOfCalls: an account has a session once Azure has let it in, until it is closed.
func TestHealthOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		was  []func(*circuit)
		want int
	}{
		"never heard": {nil, 0},
		"heard":       {[]func(*circuit){(*circuit).accepted}, 1},
		"closed":      {[]func(*circuit){(*circuit).accepted, (*circuit).close}, 0},
	} {
		of := newCircuit(func() time.Time { return blue.Noon })
		for _, happens := range c.was {
			happens(of)
		}
		expect.Same(t, name, c.want, of.health().Sessions)
	}
}

// TestSilenceOfAzure: three calls without an answer break an account, whose health says why.
func TestSilenceOfAzure(t *testing.T) {
	c := blueCalls(t, nil)
	for n := 1; n <= Silences; n++ {
		got := c.unanswered(io.EOF)
		expect.Same(t, "its cause", true, errors.Is(got.Err(), io.EOF) && got.Lost)
		expect.Same(t, "it is broken", n == Silences, c.Health().Broken)
	}
	c.Close()
	err := c.circuit.begin()
	expect.Same(t, "it is closed", true, err != nil && strings.Contains(err.Message, "closed"))
}

// TestHealthTellsTheCause until Azure answers again.
func TestHealthTellsTheCause(t *testing.T) {
	c := &Client{circuit: newCircuit(time.Now)}
	refused := cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, "wrong")
	c.unanswered(refused)
	if h := c.Health(); !h.Broken || !errors.Is(h.Cause, refused) {
		t.Errorf("health is %+v, want why", h)
	}
	c.circuit.answered()
	expect.Same(t, "health", cloud.Health{}, c.Health())
}
