package guests

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// firstPause and longestPause are between two watches of a cluster, longer each time that one fails.
	firstPause, longestPause = 2 * time.Second, time.Minute
	// goodWatch is how long a watch lasts that has not failed.
	goodWatch = time.Minute
	// forget is longer than the time in which every machine is looked at anyway.
	forget = 30 * time.Minute
	// maxHeard bytes of reports are kept of all clusters.
	maxHeard = 32 << 20
)

// Follower tells of the ConfigMaps of a namespace in a workload cluster until ctx or the connection ends.
type Follower interface {
	Follow(
		ctx context.Context, cluster client.ObjectKey, namespace string, told func(watch.EventType, *corev1.ConfigMap),
	) error
}

// Ears hear what guests report. There is one watch for each cluster that has a machine which asks, and none where no machine has
// asked for half an hour. Whoever is in a guest, or in its cluster, may say anything there: what is heard is bounded, and it
// wakes no other machine than the guest's own.
type Ears struct {
	Clusters Follower
	// Heard gets the keys of machines whose guest has reported.
	Heard chan<- cloud.Key
	Now   func() time.Time

	mu       sync.Mutex
	ctx      context.Context //nolint:containedctx // because watches begin when a machine asks, and end with the manager
	running  sync.WaitGroup
	clusters map[client.ObjectKey]*hearing
	size     int
}

// hearing is one cluster.
type hearing struct {
	stop    context.CancelFunc
	reports map[string]report    // by node
	asked   map[string]listening // by node
}

type report struct{ object, text string }

type listening struct {
	machine cloud.Key
	at      time.Time
}

// Report is what the guest of a node has reported last, "" if nothing. The machine is woken when the guest reports anew.
func (e *Ears) Report(cluster client.ObjectKey, node string, machine cloud.Key) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.clusters[cluster]
	if h == nil {
		if h = e.open(cluster); h == nil {
			return ""
		}
	}
	h.asked[node] = listening{machine, e.Now()}
	return h.reports[node].text
}

// Object is the name of the object with the guest's reports, "" if none is known. It is not listened to any more.
func (e *Ears) Object(cluster client.ObjectKey, node string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.clusters[cluster]
	if h == nil {
		return ""
	}
	delete(h.asked, node)
	return h.reports[node].object
}

// open begins to listen to a cluster. It must be called with the lock.
func (e *Ears) open(cluster client.ObjectKey) *hearing {
	if e.ctx == nil || e.ctx.Err() != nil {
		return nil // the manager does not run yet, or not any more: the machine is looked at again
	}
	ctx, stop := context.WithCancel(e.ctx)
	h := &hearing{stop: stop, reports: map[string]report{}, asked: map[string]listening{}}
	e.clusters[cluster] = h
	e.running.Go(func() { e.listen(ctx, cluster, h) })
	return h
}

// Start listens until ctx ends.
func (e *Ears) Start(ctx context.Context) error {
	e.mu.Lock()
	e.ctx, e.clusters = ctx, map[client.ObjectKey]*hearing{}
	e.mu.Unlock()
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			e.running.Wait()
			return nil
		case <-ticker.C:
			e.closeUnused()
		}
	}
}

func (e *Ears) closeUnused() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for cluster, h := range e.clusters {
		for node, asked := range h.asked {
			if e.Now().Sub(asked.at) > forget {
				delete(h.asked, node)
			}
		}
		if len(h.asked) > 0 {
			continue
		}
		h.stop()
		delete(e.clusters, cluster)
		for node := range h.reports {
			e.put(h, node, report{})
		}
	}
}

// listen watches a cluster again and again.
func (e *Ears) listen(ctx context.Context, cluster client.ObjectKey, h *hearing) {
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := e.Clusters.Follow(ctx, cluster, Namespace, func(what watch.EventType, object *corev1.ConfigMap) {
			e.take(ctx, h, what, object)
		})
		if err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).V(4).Info("Guests are not heard", "cluster", cluster, "error", err.Error())
		}
		if err == nil || time.Since(began) > goodWatch {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// take keeps what an object says, and wakes its machine.
func (e *Ears) take(ctx context.Context, h *hearing, what watch.EventType, object *corev1.ConfigMap) {
	node, _, named := strings.Cut(object.Name, ".")
	if !named {
		return
	}
	now := report{object: object.Name, text: clip(object.Data[Key])}
	if what == watch.Deleted {
		now = report{}
	}
	e.mu.Lock()
	news := h.reports[node] != now && e.put(h, node, now)
	machine := h.asked[node].machine
	e.mu.Unlock()
	if !news || machine.Name == "" || now.text == "" {
		return
	}
	select {
	case e.Heard <- machine:
	case <-ctx.Done():
	}
}

// clip makes of a text that is too long what cloud.VM.Report wants of it.
func clip(text string) string {
	if len(text) <= cloud.MaxReport {
		return text
	}
	return strings.Clone(text[:cloud.MaxReport+1]) // a part would keep the whole in memory
}

// put keeps a report while there is room. It must be called with the lock.
func (e *Ears) put(h *hearing, node string, now report) (kept bool) {
	size := func(r report) int { return len(r.object) + len(r.text) }
	more := size(now) - size(h.reports[node])
	if more > 0 && e.size+more > maxHeard {
		return false
	}
	e.size += more
	if now == (report{}) {
		delete(h.reports, node)
		return true
	}
	h.reports[node] = now
	return true
}
