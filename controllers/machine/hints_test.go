package machine

import (
	"strconv"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A guest that makes 7000 hints in 100 seconds is looked at about once in a second, and no other machine waits for that.
func TestHints(t *testing.T) {
	h, guest, other := &hints{}, cloud.Key{Name: "guest"}, cloud.Key{Name: "other"}
	looks, now := map[time.Time]bool{}, begin
	for i := range 7000 {
		now = now.Add(100 * time.Second / 7000)
		wait := h.wait(guest, now)
		looks[now.Add(wait).Truncate(time.Millisecond)] = true
		if wait > betweenHints {
			t.Fatalf("hint %d waits for %s", i, wait)
		}
		if i%1000 == 0 && h.wait(other, now) > 0 {
			t.Fatalf("another machine waits")
		}
	}
	if len(looks) > 2*100+hintsAtOnce {
		t.Errorf("%d looks", len(looks))
	}
	if h.wait(other, now.Add(time.Hour)); len(h.until) != 1 {
		t.Errorf("%d machines are remembered", len(h.until))
	}
}

// TestHintTimes has the figures: ten hints at once, and one a second after that.
func TestHintTimes(t *testing.T) {
	h, key := &hints{}, cloud.Key{Name: "m"}
	for i := range 10 {
		expect.Same(t, strconv.Itoa(i), time.Duration(0), h.wait(key, begin))
	}
	expect.Same(t, "the eleventh", time.Second, h.wait(key, begin))
	expect.Same(t, "it, almost", time.Duration(1), h.wait(key, begin.Add(time.Second-1)))
	expect.Same(t, "it, when its time has come", time.Duration(0), h.wait(key, begin.Add(time.Second)))
	expect.Same(t, "when machines were forgotten", begin.Add(time.Second), h.swept)
}

// An account that names 200,000 machines in a moment holds no other machine's hints up: they are forgotten together, once in a
// second.
func TestHintsOfMany(t *testing.T) {
	h, now := &hints{}, begin
	for i := range 200_000 {
		if wait := h.wait(cloud.Key{Name: strconv.Itoa(i)}, now); wait > 0 {
			t.Fatalf("machine %d waits for %s", i, wait)
		}
		now = now.Add(time.Microsecond)
	}
	if swept := h.swept; swept != begin {
		t.Errorf("machines were forgotten again after %s", swept.Sub(begin))
	}
}
