package tenants

import (
	"maps"
	"sync"
	"time"
)

// quiet is how long a notice is not published again.
const quiet = time.Hour

// Notice is about a namespace that has nearly as many of a kind as it may have; if Full, as many.
type Notice struct {
	Namespace    string
	Kind         Kind
	Count, Limit int
	Full         bool
}

// Notices decide which counts a person sees. Callers report each count that has grown; the same notice is published once an hour.
// They keep the times of the notices of the last hour.
type Notices struct {
	// Limits are what the counts are measured by.
	Limits Limits
	// Publish shows a notice to people. It returns at once, whatever locks its caller holds.
	Publish func(Notice)

	mu        sync.Mutex
	published map[publication]time.Time
}

// publication identifies notices of which one is published in an hour.
type publication struct {
	namespace string
	kind      Kind
	full      bool
}

// Counted notes how many of a kind a namespace has. The nil Notices publish nothing.
func (n *Notices) Counted(namespace string, kind Kind, count int, instant time.Time) {
	if n == nil {
		return
	}
	limit := n.Limits.Allowed(namespace, kind)
	isNear := 4*count >= 3*limit
	if notice := (Notice{namespace, kind, count, limit, count >= limit}); isNear && n.isNew(notice, instant) {
		n.Publish(notice)
	}
}

// isNew reports whether the last hour had no such notice, and records this one.
func (n *Notices) isNew(notice Notice, instant time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.published, func(_ publication, published time.Time) bool { return instant.Sub(published) >= quiet })
	p := publication{notice.Namespace, notice.Kind, notice.Full}
	if _, found := n.published[p]; found {
		return false
	}
	if n.published == nil {
		n.published = map[publication]time.Time{}
	}
	n.published[p] = instant
	return true
}
