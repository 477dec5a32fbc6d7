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
)

// TestCallsAtOnce: how many calls may be under way, and what is told to who comes when there are too many.
func TestCallsAtOnce(t *testing.T) {
	broken := cloud.Errorf(cloud.Transient, "Other", "broken")
	for name, c := range map[string]struct {
		of   *breaker
		says string
	}{
		"the first":             {&breaker{}, ""},
		"a second, not let in":  {&breaker{count: 1}, "other calls of this account"},
		"the last of many":      {&breaker{acceptedAt: blueNoon, count: AtOnce - 1}, ""},
		"one too many":          {&breaker{acceptedAt: blueNoon, count: AtOnce}, "other calls of this account"},
		"a second, no answer":   {&breaker{acceptedAt: blueNoon, silent: 1, count: 1}, "other calls of this account"},
		"the first, no answer":  {&breaker{acceptedAt: blueNoon, silent: 1}, ""},
		"broken":                {&breaker{broken: broken, retryAt: blueNoon.Add(1)}, "broken"},
		"broken, and it is due": {&breaker{broken: broken, retryAt: blueNoon}, ""},
		"somebody tries":        {&breaker{broken: broken, retryAt: blueNoon, count: 1}, "broken"},
		"closed":                {&breaker{closed: true}, "the account is closed"},
	} {
		c.of.now = func() time.Time { return blueNoon }
		before := c.of.count
		err := c.of.open()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		expect.Same(t, name+": under way", err == nil, c.of.count == before+1)
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
		counted := &client.breaker
		for _, err := range c.errs {
			expect.Same(t, name+": may have been carried out", false, client.unanswered(err).Lost)
		}
		expect.Same(t, name, c.until > 0, counted.broken != nil)
		if c.until > 0 {
			expect.Same(t, name+": until", blueNoon.Add(c.until), counted.retryAt)
		}
		counted.accepted()
		expect.Same(t, name+": and then let in", true,
			counted.broken == nil && counted.silent == 0 && counted.acceptedAt.Equal(blueNoon))
	}
}

// TestHealthOfCalls: an account has a session once Azure has let it in, until it is closed.
func TestHealthOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		of   *breaker
		want int
	}{
		"never heard": {&breaker{}, 0},
		"heard":       {&breaker{acceptedAt: blueNoon}, 1},
		"closed":      {&breaker{acceptedAt: blueNoon, closed: true}, 0},
	} {
		expect.Same(t, name, c.want, c.of.health().Sessions)
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
	err := c.breaker.open()
	expect.Same(t, "it is closed", true, err != nil && strings.Contains(err.Message, "closed"))
}

// TestHealthTellsTheCause until Azure answers again.
func TestHealthTellsTheCause(t *testing.T) {
	c := &Client{breaker: breaker{now: time.Now}}
	refused := cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, "wrong")
	c.unanswered(refused)
	if h := c.Health(); !h.Broken || !errors.Is(h.Cause, refused) {
		t.Errorf("health is %+v, want why", h)
	}
	c.breaker.answered()
	expect.Same(t, "health", cloud.Health{}, c.Health())
}
