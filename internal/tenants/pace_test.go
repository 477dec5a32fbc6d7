package tenants

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// TestRest: a thousand configs of a namespace with 64 sources each wait in their order, and one of another namespace does not.
func TestRest(t *testing.T) {
	var p Pace
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rest := func(namespace string, n, sources int, after time.Duration) time.Duration {
		config := &metav1.ObjectMeta{Namespace: namespace, UID: types.UID(fmt.Sprint(namespace, n))}
		return p.Rest(Sources, config, sources, begin.Add(after)).Round(time.Millisecond)
	}
	ask := func(namespace string, n int, after time.Duration) time.Duration { return rest(namespace, n, 64, after) }
	ms := time.Millisecond
	for n := range 1000 {
		want := time.Duration(max(0, (n+1)*64-Sources.AtOnce)) * 50 * ms
		expect.Same(t, fmt.Sprint("rest of config ", n), want, ask("a", n, 0))
	}
	expect.Same(t, "rest in another namespace", 0*ms, ask("b", 0, 0))
	expect.Same(t, "rest of one that waits, a second later", 1800*ms, ask("a", 3, time.Second))
	expect.Same(t, "rest when its turn comes", 0*ms, ask("a", 3, 2800*ms))
	expect.Same(t, "another look is behind the others", true, ask("a", 3, 2800*ms) > 50*time.Minute)
	expect.Same(t, "rest of one with more sources than are read at once", 0*ms, rest("c", 0, 500, 0))

	expect.Same(t, "rest after a day", 0*ms, ask("d", 0, 24*time.Hour))
	p.forgetGone(begin.Add(24 * time.Hour))
	expect.Same(t, "turns that are kept", 0, len(p.turns))
}
