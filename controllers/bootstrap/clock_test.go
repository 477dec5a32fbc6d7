package bootstrap

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestTokenEndsByTheClockOfItsCluster: a token that the cluster's own clock takes for dead is removed at once, and one that lives
// for too long is a risk. Whatever our clock says, a token lives for its TTL there, and no call is made for that.
func TestTokenEndsByTheClockOfItsCluster(t *testing.T) {
	straight := newRoom(t)
	_, err := straight.look(t)
	expect.OK(t, err)
	for _, ahead := range []time.Duration{-time.Hour, -5 * time.Minute, -5 * time.Second, 0, 5 * time.Minute, time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			r := newRoom(t, func(r *room) { r.ahead = ahead })
			lives := func(when string, want time.Duration) {
				t.Helper()
				end := expect.Got(time.Parse(time.RFC3339, string(r.tokens(t)[0].Data["expiration"])))(t)
				expect.Same(t, "how long the token lives "+when, want, end.Sub(r.Now(client.ObjectKey{})))
			}
			_, err := r.look(t)
			expect.OK(t, err)
			expect.Same(t, "calls", straight.calls, r.calls)
			lives("when it is made", roomTTL)
			r.clock = r.clock.Add(roomTTL / 3)
			_, err = r.look(t)
			expect.OK(t, err)
			lives("while it has most of its life", roomTTL*2/3)
			r.clock = r.clock.Add(roomTTL / 3)
			_, err = r.look(t)
			expect.OK(t, err)
			lives("when it is extended", roomTTL)
		})
	}
}

// TestClusterWithoutClock: ours is the best guess.
func TestClusterWithoutClock(t *testing.T) {
	r := newRoom(t, func(r *room) { r.ahead, r.dumb = time.Hour, true })
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "expiration", "2026-01-01T00:30:00Z", string(r.tokens(t)[0].Data["expiration"]))
}

// TestTokenIsRemovedWhateverOurClockSays: by our clock, which may be wrong, the deletion is older than any token. As long as the
// cluster answers, the token is removed.
func TestTokenIsRemovedWhateverOurClockSays(t *testing.T) {
	for name, c := range map[string]struct {
		reason      string
		unreachable error
		left        int
	}{
		"answers":      {"it costs a call", nil, 0},
		"out of reach": {"the token ends by itself", &workload.UnreachableError{Why: "is away"}, 1},
		"refused":      {"the token ends by itself", &workload.RefusedError{}, 1},
		"fails":        {"the token ends by itself", errRoom, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.made(t)
			r.deleted(t)
			r.unreachable, r.clock = c.unreachable, r.now(t).DeletionTimestamp.Add(time.Hour)
			_, err := r.look(t)
			expect.OK(t, err)
			expect.Same(t, "tokens: "+c.reason, c.left, len(r.tokens(t)))
			if r.now(t) != nil {
				t.Error("the config is held")
			}
		})
	}
}
