package credentials

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// wakeBurst machines of a namespace are woken at once: one Secret may have 5,000.
	wakeBurst = 5000
	// wakeRate is how many are woken in a second after that.
	wakeRate = 100
)

// wakes is how many machines of a namespace may be woken at once, and when that was so. Below zero, they are to come. The zero
// value is that of a namespace whose machines have not been woken for long.
type wakes struct {
	left float64
	at   time.Time
}

// next is how long the next machine must wait. One that waits already is woken once.
func (w wakes) next(now time.Time) (wakes, time.Duration) {
	w.left = min(wakeBurst, w.left+now.Sub(w.at).Seconds()*wakeRate)
	w.left, w.at = max(-wakeBurst, w.left-1), now
	return w, time.Duration(max(0, -w.left) / wakeRate * float64(time.Second))
}

// wake must be called with the lock.
func (k *Keeper) wake(machine types.NamespacedName) {
	if k.queue == nil {
		return
	}
	now := k.Now()
	w, rest := k.wakes[machine.Namespace].next(now)
	if k.wakes == nil {
		k.wakes = map[string]wakes{}
	}
	k.wakes[machine.Namespace] = w
	k.queue.AddAfter(ctrl.Request{NamespacedName: machine}, rest)
}

// forgetWakes drops the namespaces whose machines have not been woken lately.
func (k *Keeper) forgetWakes(now time.Time) {
	for namespace, w := range k.wakes {
		if now.Sub(w.at).Seconds()*wakeRate >= 2*wakeBurst {
			delete(k.wakes, namespace)
		}
	}
}
