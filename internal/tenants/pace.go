package tenants

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is how often something is done for one namespace: AtOnce without a wait, and PerSecond after that.
type Rate struct {
	PerSecond rate.Limit
	AtOnce    int
}

var (
	// Events are about objects of the namespace, where what they are about is up to whoever owns a workload cluster.
	Events = Rate{PerSecond: 1, AtOnce: 60}
	// Kubeconfigs are reads of them: after the first, a tenth of what the manager may ask the management cluster for.
	Kubeconfigs = Rate{PerSecond: 10, AtOnce: 64}
	// Sources are reads of what configs refer to, of which a thousand may have 64 each: after the first, a fifth of what the manager
	// may ask the management cluster for.
	Sources = Rate{PerSecond: 20, AtOnce: 200}
)

// Pace keeps what is done for each namespace to a rate. The zero value is ready to use.
type Pace struct {
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// Take returns for how many of those wanted a namespace has room, which are taken.
func (p *Pace) Take(r Rate, namespace string, wanted int, instant time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	bucket := p.bucket(r, namespace, instant)
	taken := min(wanted, int(bucket.TokensAt(instant)))
	bucket.AllowN(instant, taken)
	return taken
}

// Reserve takes as many as are wanted, and returns how long it takes until the namespace has room for them, behind all that it
// has reserved before.
func (p *Pace) Reserve(r Rate, namespace string, wanted int, instant time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bucket(r, namespace, instant).ReserveN(instant, min(wanted, r.AtOnce)).DelayFrom(instant)
}

// bucket is that of a namespace. Those that are full are forgotten.
func (p *Pace) bucket(r Rate, namespace string, instant time.Time) *rate.Limiter {
	if bucket := p.buckets[namespace]; bucket != nil {
		return bucket
	}
	maps.DeleteFunc(p.buckets, func(_ string, b *rate.Limiter) bool { return b.TokensAt(instant) >= float64(b.Burst()) })
	if p.buckets == nil {
		p.buckets = map[string]*rate.Limiter{}
	}
	p.buckets[namespace] = rate.NewLimiter(r.PerSecond, r.AtOnce)
	return p.buckets[namespace]
}
