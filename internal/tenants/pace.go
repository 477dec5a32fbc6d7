package tenants

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// EventsPerMinute is how many events a minute has about the objects of one namespace, where what they are about is up to whoever
// owns a workload cluster.
const EventsPerMinute = 60

// Pace bounds events by namespace. The zero value is ready to use.
type Pace struct {
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// Take returns for how many of the wanted events a namespace has room, which are taken.
func (p *Pace) Take(namespace string, wanted int, instant time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	bucket := p.buckets[namespace]
	if bucket == nil {
		maps.DeleteFunc(p.buckets, func(_ string, b *rate.Limiter) bool { return b.TokensAt(instant) >= EventsPerMinute })
		bucket = rate.NewLimiter(rate.Every(time.Minute/EventsPerMinute), EventsPerMinute)
		if p.buckets == nil {
			p.buckets = map[string]*rate.Limiter{}
		}
		p.buckets[namespace] = bucket
	}
	taken := min(wanted, int(bucket.TokensAt(instant)))
	bucket.AllowN(instant, taken)
	return taken
}
