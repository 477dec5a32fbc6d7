package vsphere

import (
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// firstSnapshot is how long a machine waits for the list of all VMs before it looks for its own by a call.
const firstSnapshot = time.Minute

// waiting holds the machines to wake: when the list of VMs has arrived, also after an outage, or when a place among the callers
// is free.
type waiting struct {
	mu    sync.Mutex
	keys  map[cloud.Key]bool
	order []cloud.Key
	begun time.Time          // of the watch that has not listed all VMs yet; zero if none is running
	wake  func(...cloud.Key) // of the running watch
}

// await returns an error while the list of all VMs is under way: the list answers without a call what each machine would ask.
func (w *waiting) await(m cloud.Machine, now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := w.begun.Add(firstSnapshot).Sub(now)
	if left <= 0 { // also when none is running
		return nil
	}
	w.add(m.Key)
	return cloud.LaterIn(left, "waiting for the vCenter's list of VMs")
}

// note notes a machine whose error is Later, or whose vCenter does not answer.
func (w *waiting) note(key cloud.Key, err error) error {
	if cloud.IsLater(err) || session.Silent(err) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.add(key)
	}
	return err
}

func (w *waiting) add(key cloud.Key) {
	if w.keys[key] {
		return
	}
	if w.keys == nil {
		w.keys = map[cloud.Key]bool{}
	}
	w.keys[key] = true
	w.order = append(w.order, key)
}

// begin notes a watch that is about to list all VMs.
func (w *waiting) begin(now time.Time, wake func(...cloud.Key)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun, w.wake = now, wake
}

// finish notes that the watch has listed all VMs, or has ended, and returns the machines that wait.
func (w *waiting) finish(running bool) []cloud.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = time.Time{}
	if !running {
		w.wake = nil
	}
	keys := w.order
	w.keys, w.order = nil, nil
	return keys
}

// freed wakes the machine that has waited for the longest time. Without a watch, each looks again by itself.
func (w *waiting) freed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wake == nil || len(w.order) == 0 || !w.begun.IsZero() {
		return
	}
	key := w.order[0]
	w.order = w.order[1:]
	delete(w.keys, key)
	w.wake(key)
}
