package vcenter

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// Held are calls that hang until they are released.
type Held struct {
	methods []string
	over    chan struct{}
	release func()

	mu        sync.Mutex
	now, most int
}

// HoldMethod lets all calls of these methods hang from now on, while others answer; without a method, all calls hang. They go
// on at the release, but for those whose client has left. The calls are counted as soon as they arrive.
func (v *VCenter) HoldMethod(methods ...string) *Held {
	h := &Held{methods: methods, over: make(chan struct{})}
	v.hangs.change(func(all []*Held) []*Held { return append(all, h) })
	h.release = sync.OnceFunc(func() {
		v.hangs.change(func(all []*Held) []*Held { return slices.DeleteFunc(all, func(one *Held) bool { return one == h }) })
		close(h.over)
	})
	return h
}

// Release lets the calls go on. A second release does nothing.
func (h *Held) Release() { h.release() }

// Now is how many calls hang, and most how many did so at once.
func (h *Held) Now() (now, most int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now, h.most
}

func (h *Held) add(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now += n
	h.most = max(h.most, h.now)
}

// hangs is the guard of a vCenter's own door that lets calls hang.
type hangs struct {
	mu  sync.Mutex
	all []*Held
	out atomic.Bool
}

// Outage breaks all connections, and those that are made until the end.
func (v *VCenter) Outage() (end func()) {
	v.hangs.out.Store(true)
	v.CloseClientConnections()
	return func() { v.hangs.out.Store(false) }
}

func (h *hangs) change(how func([]*Held) []*Held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = how(slices.Clone(h.all))
}

func (h *hangs) holding(method string) *Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, held := range h.all {
		if len(held.methods) == 0 || slices.Contains(held.methods, method) {
			return held
		}
	}
	return nil
}

func (h *hangs) guard(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
	if h.out.Load() {
		Abort()
	}
	if held := h.holding(method); held != nil {
		held.add(1)
		defer held.add(-1)
		select {
		case <-held.over:
		case <-r.Context().Done():
			Abort()
		}
	}
	next.ServeHTTP(w, r)
}
