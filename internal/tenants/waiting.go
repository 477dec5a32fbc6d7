package tenants

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// MostWaiting machines of a namespace are woken when it has room; the rest look again by themselves, a little later.
const MostWaiting = 1000

// Waiting are the machines for which their namespaces have no room. The zero value is ready to use, for one goroutine at a time.
type Waiting struct {
	machines map[string]map[types.NamespacedName]bool
}

// Add has a machine wait.
func (w *Waiting) Add(machine types.NamespacedName) {
	if w.machines == nil {
		w.machines = map[string]map[types.NamespacedName]bool{}
	}
	if !w.Waits(machine.Namespace) {
		w.machines[machine.Namespace] = map[types.NamespacedName]bool{}
	}
	if machines := w.machines[machine.Namespace]; len(machines) < MostWaiting {
		machines[machine] = true
	}
}

// Waits reports whether machines of a namespace wait.
func (w *Waiting) Waits(namespace string) bool { return len(w.machines[namespace]) > 0 }

// Take returns the machines of a namespace, which then wait no more.
func (w *Waiting) Take(namespace string) []types.NamespacedName {
	machines := slices.Collect(maps.Keys(w.machines[namespace]))
	delete(w.machines, namespace)
	return machines
}
