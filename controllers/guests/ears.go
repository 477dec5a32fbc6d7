package guests

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// firstPause and longestPause are between two watches of a cluster, longer each time that one fails.
	firstPause, longestPause = 2 * time.Second, time.Minute
	// goodWatch is how long a watch lasts that has not failed.
	goodWatch = time.Minute
	// forget is longer than the time in which every machine is looked at anyway.
	forget = 30 * time.Minute
	// maxStrange bytes are kept of a cluster's reports that no machine has asked for. Each that asks has room for its own.
	maxStrange = 1 << 20
)

// Follower tells of the objects of a resource in a workload cluster until ctx or the connection ends.
type Follower interface {
	Follow(ctx context.Context, cluster client.ObjectKey, feed *workload.Feed) error
}

// Ears hear what guests report. There is one watch for each cluster that has a machine which asks, and none where no machine has
// asked for half an hour. Whoever is in a guest, or in its cluster, may say anything there: what is heard is bounded, it takes no
// room from another cluster, and it wakes no other machine than the guest's own.
type Ears struct {
	Clusters Follower
	// Heard gets the keys of machines whose guest has reported.
	Heard chan cloud.Key
	Now   func() time.Time

	mu       sync.Mutex
	ctx      context.Context //nolint:containedctx // because watches begin when a machine asks, and end with the manager
	running  sync.WaitGroup
	clusters map[client.ObjectKey]*hearing
}

// hearing is one cluster.
type hearing struct {
	stop    context.CancelFunc
	objects map[string]*object // by name
	strange int                // bytes of those that no machine has asked for
	refused int                // reports for which there was no room, in this watch
}

// object is one that a guest reports to.
type object struct {
	text string
	// machine is whose guest it is, once that has asked. last is when it did, or else when the object came.
	machine cloud.Key
	last    time.Time
	told    time.Time // when a watch told of it
}

func (o *object) isStrange() bool { return o.machine.Name == "" }

func (o *object) size(name string) int { return len(name) + len(o.text) }

// Report is what the guest has told its object last, "" if nothing. The machine is woken when the guest reports anew.
func (e *Ears) Report(cluster client.ObjectKey, name string, machine cloud.Key) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.clusters[cluster]
	if h == nil {
		if h = e.open(cluster); h == nil {
			return ""
		}
	}
	o := h.objects[name]
	switch {
	case o == nil:
		o = &object{}
		h.objects[name] = o
	case o.isStrange():
		h.strange -= o.size(name)
	}
	o.machine, o.last = machine, e.Now()
	return o.text
}

// open begins to listen to a cluster. It must be called with the lock.
func (e *Ears) open(cluster client.ObjectKey) *hearing {
	if e.ctx == nil || e.ctx.Err() != nil {
		return nil // the manager does not run yet, or not any more: the machine is looked at again
	}
	ctx, stop := context.WithCancel(e.ctx)
	h := &hearing{stop: stop, objects: map[string]*object{}}
	e.clusters[cluster] = h
	e.running.Go(func() { e.listen(ctx, cluster, h) })
	return h
}

// Start listens until ctx ends.
func (e *Ears) Start(ctx context.Context) error {
	e.mu.Lock()
	e.ctx, e.clusters = ctx, map[client.ObjectKey]*hearing{}
	e.mu.Unlock()
	look := time.Tick(time.Minute)
	for {
		select {
		case <-ctx.Done():
			e.running.Wait()
			return nil
		case <-look:
			e.forgetOld()
		}
	}
}

// forgetOld forgets what no machine asks for, and ends the watch of a cluster where none does.
func (e *Ears) forgetOld() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for cluster, h := range e.clusters {
		machines := 0
		for name, o := range h.objects {
			switch {
			case e.Now().Sub(o.last) > forget:
				h.drop(name)
			case !o.isStrange():
				machines++
			}
		}
		if machines == 0 {
			h.stop()
			delete(e.clusters, cluster)
		}
	}
}

// listen watches a cluster again and again.
func (e *Ears) listen(ctx context.Context, cluster client.ObjectKey, h *hearing) {
	pause := firstPause
	for ctx.Err() == nil {
		began, from := time.Now(), e.Now()
		err := e.Clusters.Follow(ctx, cluster, &workload.Feed{
			Resource: workload.Resource{Version: "v1", Name: "configmaps", Namespace: Namespace},
			Told:     func(event workload.Event) { e.take(ctx, h, event) },
		})
		if err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).V(4).Info("Guests are not heard", "cluster", cluster, "error", err.Error())
		}
		good := time.Since(began) > goodWatch
		if left := e.end(h, from, good && err == nil); left > 0 {
			ctrl.LoggerFrom(ctx).Info("Objects for guests' reports that no machine asks for were left out", "cluster", cluster,
				"reports", left)
		}
		if good {
			pause = firstPause
			if err == nil {
				continue // an API server ends each watch after some minutes
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// end says how many reports a watch had no room for. A good one has told of all objects that are there: the others went while
// nobody watched.
func (e *Ears) end(h *hearing, began time.Time, good bool) (left int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	left, h.refused = h.refused, 0
	for name, o := range h.objects {
		switch {
		case !good || !o.told.Before(began):
		case o.isStrange():
			h.drop(name)
		default:
			o.text = ""
		}
	}
	return left
}

// take keeps what an object says, and wakes its machine.
func (e *Ears) take(ctx context.Context, h *hearing, event workload.Event) {
	var told corev1.ConfigMap
	if event.Type != workload.LeftOut && json.Unmarshal(event.Object, &told) != nil {
		event.Type = workload.LeftOut // it is no ConfigMap
	}
	machine, news := func() (cloud.Key, bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return h.take(event.Type, &told, e.Now())
	}()
	if !news {
		return
	}
	select {
	case e.Heard <- machine:
	case <-ctx.Done():
	}
}

// take says whose machine the news are for, if they are for one.
func (h *hearing) take(what watch.EventType, told *corev1.ConfigMap, now time.Time) (cloud.Key, bool) {
	text := clip(told.Data[Key])
	known := h.objects[told.Name]
	switch {
	case what == workload.LeftOut:
		h.refused++
	case what == watch.Deleted && known == nil:
	case what == watch.Deleted && known.isStrange():
		h.drop(told.Name)
	case what == watch.Deleted:
		known.text = "" // its machine may still ask
	case known != nil && !known.isStrange():
		news := known.text != text && text != ""
		known.text, known.told = text, now
		return known.machine, news
	default:
		if known != nil {
			h.drop(told.Name)
		}
		next := &object{text: text, last: now, told: now}
		if size := next.size(told.Name); h.strange+size <= maxStrange {
			h.objects[told.Name] = next
			h.strange += size
		} else {
			h.refused++
		}
	}
	return cloud.Key{}, false
}

func (h *hearing) drop(name string) {
	if o := h.objects[name]; o.isStrange() {
		h.strange -= o.size(name)
	}
	delete(h.objects, name)
}

// clip makes of a text that is too long what cloud.VM.Report wants of it.
func clip(text string) string {
	if len(text) <= cloud.MaxReport {
		return text
	}
	return strings.Clone(text[:cloud.MaxReport+1]) // a part would keep the whole in memory
}
