package tenants

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// share is what a namespace may have of a processor, and credit what it has at once: the share of a minute.
const (
	share  = 0.25
	credit = 15 * time.Second
)

// Meter keeps the work on the objects of each namespace to a share of a processor. Work is done first and counted afterwards,
// because what the answer of a server costs shows only then: a namespace may go on once its share has paid for what it had. The
// zero value is ready to use.
type Meter struct {
	// Work runs a function and returns what that took of a processor; nil is WorkOf.
	Work func(f func()) time.Duration

	mu       sync.Mutex
	accounts map[string]*account
}

// account is that of a namespace.
type account struct {
	// paid is when the share has paid for all work, and objects when an equal part of it has paid for the last work on each.
	paid    time.Time
	objects map[string]time.Time
}

// Rest is how long an object waits for its work: until its namespace may have some, and then behind those that have had less.
func (m *Meter) Rest(object types.NamespacedName, instant time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.account(object)
	rest := a.debt(instant) - price(credit)
	if rest <= 0 {
		return 0
	}
	if paid := a.objects[object.Name]; paid.After(instant) {
		rest = max(rest, paid.Sub(instant))
	}
	return rest
}

// Charge does work on an object, and has its namespace pay for it.
func (m *Meter) Charge(object types.NamespacedName, clock func() time.Time, f func()) {
	work := m.Work
	if work == nil {
		work = WorkOf
	}
	cost, instant := price(work(f)), clock()
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.account(object)
	a.paid = instant.Add(a.debt(instant) + cost)
	a.objects[object.Name] = instant.Add(time.Duration(len(a.objects)) * cost)
}

// Forget drops an object that has no more work. What its namespace owes stays until it is paid: objects may come and go.
func (m *Meter) Forget(object types.NamespacedName, instant time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.account(object).objects, object.Name)
	maps.DeleteFunc(m.accounts, func(_ string, a *account) bool { return len(a.objects) == 0 && a.debt(instant) == 0 })
}

// account is that of an object's namespace, which has the object from now on.
func (m *Meter) account(object types.NamespacedName) *account {
	if m.accounts == nil {
		m.accounts = map[string]*account{}
	}
	a := m.accounts[object.Namespace]
	if a == nil {
		a = &account{objects: map[string]time.Time{}}
		m.accounts[object.Namespace] = a
	}
	if _, found := a.objects[object.Name]; !found {
		a.objects[object.Name] = time.Time{}
	}
	return a
}

// debt is how long the share has to pay for the work so far.
func (a *account) debt(instant time.Time) time.Duration {
	if a.paid.Before(instant) {
		return 0
	}
	return a.paid.Sub(instant)
}

// price is how long the share takes to pay for work.
func price(work time.Duration) time.Duration { return time.Duration(float64(work) / share) }
