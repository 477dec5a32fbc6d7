package tenants

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// metered is a meter with a clock, of work that takes as long as it costs.
type metered struct {
	Meter
	now time.Time
}

func newMetered() *metered {
	return &metered{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func named(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (m *metered) spend(cost time.Duration) {
	m.Work = func(f func()) time.Duration { f(); return cost }
	m.Charge(named("a", "1"), func() time.Time { return m.now }, func() { m.now = m.now.Add(cost) })
}

func (m *metered) rest(namespace, name string) time.Duration {
	return m.Rest(named(namespace, name), m.now)
}

// TestMeter: a namespace has its credit at once and its share after that, another one has both of its own, and what an object has
// had counts against it.
func TestMeter(t *testing.T) {
	s, m := time.Second, newMetered()
	expect.Same(t, "rest without work", 0*s, m.rest("a", "1"))
	m.spend(15 * s)
	expect.Same(t, "rest with the credit used", 0*s, m.rest("a", "1"))
	m.spend(6 * s)
	expect.Same(t, "rest beyond it", 18*s, m.rest("a", "2"))
	expect.Same(t, "rest of the one that had it", 24*s, m.rest("a", "1"))
	expect.Same(t, "rest of another namespace", 0*s, m.rest("b", "1"))
	m.now = m.now.Add(5 * s)
	expect.Same(t, "rest later", 13*s, m.rest("a", "2"))
	m.now = m.now.Add(time.Hour)
	m.spend(16 * s)
	expect.Same(t, "rest, with no more credit after an hour of nothing", 4*s, m.rest("a", "2"))
	m.Forget(named("a", "1"), m.now)
	expect.Same(t, "what one owed that is gone", 4*s, m.rest("a", "2"))
	m.Forget(named("a", "2"), m.now)
	expect.Same(t, "what the last one owed that is gone", 4*s, m.rest("a", "3"))
	m.now = m.now.Add(time.Hour)
	m.Forget(named("a", "3"), m.now)
	m.Forget(named("b", "1"), m.now)
	expect.Same(t, "namespaces that are kept", 0, len(m.accounts))
}

// TestMeterOfMuchWork: an object whose work takes a second, and begins whenever it may, has a quarter of the time.
func TestMeterOfMuchWork(t *testing.T) {
	m := newMetered()
	begin, worked := m.now, time.Duration(0)
	for m.now.Sub(begin) < time.Hour {
		if rest := m.rest("a", "1"); rest > 0 {
			m.now = m.now.Add(rest)
			continue
		}
		m.spend(time.Second)
		worked += time.Second
	}
	expect.Same(t, "work in an hour, at most its share", true, worked <= 15*time.Minute+20*time.Second)
	expect.Same(t, "work in an hour, at least its share", true, worked >= 15*time.Minute)
}
