package vcenter

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
)

// calls is the guard of a vCenter's own door.
type calls struct {
	mu     sync.Mutex
	counts map[string]int
	lose   int  // answers to clones
	refuse bool // connections over which clones are asked for
}

// Calls that came through the vCenter's own door, by method.
func (v *VCenter) Calls() map[string]int {
	v.calls.mu.Lock()
	defer v.calls.mu.Unlock()
	return maps.Clone(v.calls.counts)
}

// Count returns the calls since it was asked the last time, without the one that waits for changes.
func (v *VCenter) Count() map[string]int {
	v.calls.mu.Lock()
	defer v.calls.mu.Unlock()
	counts := v.calls.counts
	v.calls.counts = map[string]int{}
	delete(counts, "WaitForUpdatesEx")
	return counts
}

// LoseAnswer lets the next clone be begun and breaks the connection before the answer.
func (v *VCenter) LoseAnswer() {
	v.calls.mu.Lock()
	defer v.calls.mu.Unlock()
	v.calls.lose++
}

// DropClones breaks the connections over which clones are asked for, before they are begun.
func (v *VCenter) DropClones() {
	v.calls.mu.Lock()
	defer v.calls.mu.Unlock()
	v.calls.refuse = true
}

func (c *calls) guard(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
	refuse, lose := c.note(method)
	if refuse {
		Abort()
	}
	if lose {
		next.ServeHTTP(httptest.NewRecorder(), r)
		Abort()
	}
	next.ServeHTTP(w, r)
}

func (c *calls) note(method string) (refuse, lose bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[method]++
	if method != "CloneVM_Task" {
		return false, false
	}
	lose = c.lose > 0 && !c.refuse
	if lose {
		c.lose--
	}
	return c.refuse, lose
}
