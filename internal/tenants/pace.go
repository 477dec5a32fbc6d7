package tenants

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Rate is how often something is done for one namespace: AtOnce without a wait, and PerSecond after that.
type Rate struct {
	PerSecond rate.Limit
	AtOnce    int
}

var (
	// Events are about objects of the namespace; the owner of a workload cluster can cause as many as they like.
	Events = Rate{PerSecond: 1, AtOnce: 60}
	// Kubeconfigs are reads of them: after the first, a tenth of what the manager may ask the management cluster for.
	Kubeconfigs = Rate{PerSecond: 10, AtOnce: 64}
	// Sources are reads of what configs refer to, of which a thousand may have 64 each: after the first, a fifth of what the manager
	// may ask the management cluster for.
	Sources = Rate{PerSecond: 20, AtOnce: 200}
)

// untaken is how long a turn is kept that has come: an object that has not taken it by then is gone.
const untaken = 2 * time.Minute

// Pace keeps what is done for each namespace to a rate. The zero value is ready to use.
type Pace struct {
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	turns   map[types.UID]time.Time // of the objects that wait
}

// Take takes as many of those wanted as a namespace has room for, and returns how many that are.
func (p *Pace) Take(r Rate, namespace string, wanted int, instant time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	bucket := p.bucket(r, namespace, instant)
	taken := min(wanted, int(bucket.TokensAt(instant)))
	bucket.AllowN(instant, taken)
	return taken
}

// Rest is how long an object waits until its namespace has room for as many as it wants, behind all that asked before. A turn
// that has come serves once.
func (p *Pace) Rest(r Rate, object metav1.Object, wanted int, instant time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	turn, waits := p.turns[object.GetUID()]
	if !waits {
		bucket := p.bucket(r, object.GetNamespace(), instant)
		turn = instant.Add(bucket.ReserveN(instant, min(wanted, r.AtOnce)).DelayFrom(instant))
	}
	if !turn.After(instant) {
		delete(p.turns, object.GetUID())
		return 0
	}
	p.forgetGone(instant)
	p.turns[object.GetUID()] = turn
	return turn.Sub(instant)
}

// forgetGone drops the turns of objects that are gone.
func (p *Pace) forgetGone(instant time.Time) {
	if p.turns == nil {
		p.turns = map[types.UID]time.Time{}
	}
	maps.DeleteFunc(p.turns, func(_ types.UID, turn time.Time) bool { return instant.Sub(turn) > untaken })
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
