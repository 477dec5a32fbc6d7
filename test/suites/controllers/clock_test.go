package controllers

import (
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestTokenOfAManagerWithAWrongClock: a token ends by the clock of the workload cluster's real API server, 30 minutes after it is
// made, and costs no more calls than with a clock that is right.
func TestTokenOfAManagerWithAWrongClock(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(wrong.String(), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, world.Start{Credentials: password})
			s.clock.advance(wrong)
			options := s.options()
			options.OwnClock = true
			s.process = s.Run(t, options)
			m, booting := s.booting(t)
			left := time.Until(expiry(t, booting)) // the server is here
			if left < tokenTTL-time.Minute || left > tokenTTL {
				t.Errorf("the token lives for %s by the server's clock, want 30 minutes", left)
			}
			s.look(t, m)
			expect.Same(t, "extensions", 0, count("workload PATCH secrets expiration", s.process))
			m.End(t)
		})
	}
}
