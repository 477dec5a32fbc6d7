package cluster

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// topic is what other controllers ask about a cluster, with the answer of the last look.
type topic struct {
	answer error
	expiry time.Time // when the answer serves no more
	// waiting are those who wait for an answer, and woken those who have not fetched the last one.
	waiting, woken map[ctrl.Request]bool
}

// Asked has the Clusters that somebody asks about, for the controller of Clusters, and Answers the objects that have asked, for
// theirs.
func (r *Reconciler) Asked() source.Source { return r.fill(&r.clusters) }

// Answers is beside Asked.
func (r *Reconciler) Answers() source.Source { return r.fill(&r.askers) }

// fill brings nothing by itself: it hands over the queue of its controller.
func (r *Reconciler) fill(target *queue) source.Source {
	return source.Func(func(_ context.Context, queue queue) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		*target = queue
		return nil
	})
}

// Ask returns the answer to whether a cluster has something of a name, without an error if it has, or else has the cluster looked
// at. An object that asks what is not known, or ErrSettling of package keep, is woken when there is an answer, and gets that also
// when it serves nobody else.
func (r *Reconciler) Ask(cluster, asker client.ObjectKey, name string) (ok bool, answer error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	topics, request := r.memoryOf(cluster).topics, ctrl.Request{NamespacedName: asker}
	if topics[name] == nil {
		topics[name] = &topic{waiting: map[ctrl.Request]bool{}}
	}
	entry := topics[name]
	ok = entry.woken[request] || r.Now().Before(entry.expiry)
	delete(entry.woken, request)
	if !ok || errors.Is(entry.answer, keep.ErrSettling) {
		entry.waiting[request] = true
	}
	if !ok && r.clusters != nil { // else the controller begins with a look at each Cluster
		r.clusters.Add(ctrl.Request{NamespacedName: cluster})
	}
	return ok, entry.answer
}

// asked are the names of what somebody waits for in the cluster, and whether it is to be looked at for that now.
func (v *Visit) asked() map[string]bool {
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	names := map[string]bool{}
	for name, entry := range v.memory.topics {
		if len(entry.waiting) > 0 {
			names[name] = !v.Now.Before(entry.expiry)
		}
	}
	return names
}

// Reply answers those who have asked for a name, and who ask in the next while.
func (v *Visit) Reply(name string, answer error, serves time.Duration) {
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	v.replied[name] = true
	entry := v.memory.topics[name]
	if entry == nil {
		return // nobody has asked
	}
	entry.answer, entry.expiry = workload.Brief(answer), v.Now.Add(serves)
	entry.woken, entry.waiting = entry.waiting, map[ctrl.Request]bool{}
	for asker := range entry.woken {
		if v.r.askers != nil {
			v.r.askers.Add(asker)
		}
	}
}
