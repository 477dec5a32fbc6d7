package session

import (
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestFigures: the limits and times that the package promises, or that others were chosen for.
func TestFigures(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	s := time.Second
	expect.Same(t, "limits of an answer", []int{16 * mib, 4 * mib, 128 * kib, 8 * kib, 100, 50_000, 64 * kib, 50_000},
		[]int{maxRead, maxKept, maxText, maxTag, maxDepth, maxParts, maxHeader, maxObjects})
	expect.Same(t, "bytes of a server's words, and machines whose story is remembered", []int{256, 253, 128, kib, 10_000},
		[]int{maxWords, maxServer, maxDetail, maxCause, maxRemembered})
	expect.Same(t, "bytes that are looked at of one text", kib, len(head(strings.Repeat("x", mib))))
	expect.Same(t, "calls at a time, and those without an answer", []int{3, 4, 3}, []int{InFlight, connections, silentRequests})
	expect.Same(t, "times of a call", []time.Duration{30 * s, 15 * s, 300 * s, 240 * s, s, 30 * s},
		[]time.Duration{CallTimeout, loginTimeout, afterRefusal, keepIdle, busyPause, pause})
	expect.Same(t, "times of a vCenter that does not answer", []time.Duration{5 * s, 5 * s, 60 * s},
		[]time.Duration{probeEvery, probeTimeout, lookAgain})
}

// TestEnterAlone: a context that shares no place takes none.
func TestEnterAlone(t *testing.T) {
	s := open(t, vcenter.New(t).Credentials())
	for range InFlight + 1 {
		expect.OK(t, s.Enter(t.Context()))
		expect.OK(t, s.Enter(Unlimited(t.Context())))
	}
	expect.Same(t, "places taken", 0, len(s.placed))
}
