package tenants

import (
	"fmt"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestPace: a namespace has 60 at once and then one a second, another one has its own, and those that are quiet are forgotten.
func TestPace(t *testing.T) {
	var p Pace
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	expect.Same(t, "at once", 50, p.Take(Events, "a", 50, now))
	expect.Same(t, "the rest of it", 10, p.Take(Events, "a", 50, now))
	expect.Same(t, "no more", 0, p.Take(Events, "a", 1, now))
	expect.Same(t, "another namespace", 1, p.Take(Events, "b", 1, now))
	expect.Same(t, "after ten seconds", 10, p.Take(Events, "a", 50, now.Add(10*time.Second)))
	for i := range 1000 {
		p.Take(Events, fmt.Sprint("c", i), 1, now.Add(10*time.Minute))
	}
	p.Take(Events, "d", 1, now.Add(time.Hour))
	expect.Same(t, "namespaces that are kept", 1, len(p.buckets))
	var reads Pace
	expect.Same(t, "reads at once", 64, reads.Take(Kubeconfigs, "a", 100, now))
	expect.Same(t, "reads of the next second", 10, reads.Take(Kubeconfigs, "a", 100, now.Add(time.Second)))
}
