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
	bucket := p.buckets[namespace]
	if bucket == nil {
		maps.DeleteFunc(p.buckets, func(_ string, b *rate.Limiter) bool { return b.TokensAt(instant) >= float64(b.Burst()) })
		bucket = rate.NewLimiter(r.PerSecond, r.AtOnce)
		if p.buckets == nil {
			p.buckets = map[string]*rate.Limiter{}
		}
		p.buckets[namespace] = bucket
	}
	taken := min(wanted, int(bucket.TokensAt(instant)))
	bucket.AllowN(instant, taken)
	return taken
}
