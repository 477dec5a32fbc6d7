package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
)

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// asks are the questions of other controllers about clusters, and the answers of the last looks. The zero value has none.
type asks struct {
	mu sync.Mutex
	// clusters gets those to be looked at, and askers who is to ask again.
	clusters, askers queue
	topics           map[topic]*asked
}

// topic is what is asked about a cluster.
type topic struct {
	cluster client.ObjectKey
	name    string
}

type asked struct {
	answer error
	until  time.Time // when the answer serves no more
	// waiting are those who wait for an answer, and woken those who have not fetched the last one.
	waiting, woken map[ctrl.Request]bool
}

// source brings nothing by itself: it hands over the queue of its controller.
func (a *asks) source(into *queue) source.Source {
	return source.Func(func(_ context.Context, queue queue) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		*into = queue
		return nil
	})
}

// ask returns the answer, or else has the cluster looked at. Who was woken gets the answer also when it serves nobody else.
func (a *asks) ask(about topic, who client.ObjectKey, now time.Time) (known bool, answer error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	asker := ctrl.Request{NamespacedName: who}
	if a.topics == nil {
		a.topics = map[topic]*asked{}
	}
	if a.topics[about] == nil {
		a.topics[about] = &asked{waiting: map[ctrl.Request]bool{}}
	}
	found := a.topics[about]
	known = found.woken[asker] || now.Before(found.until)
	delete(found.woken, asker)
	if !known || errors.Is(found.answer, keep.ErrSettling) {
		found.waiting[asker] = true
	}
	if !known && a.clusters != nil { // else the controller begins with a look at each Cluster
		a.clusters.Add(ctrl.Request{NamespacedName: about.cluster})
	}
	return known, found.answer
}

// pending are the names of what somebody waits for in a cluster, and whether it is to be looked at for that now.
func (a *asks) pending(cluster client.ObjectKey, now time.Time) map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	names := map[string]bool{}
	for about, found := range a.topics {
		if about.cluster == cluster && len(found.waiting) > 0 {
			names[about.name] = !now.Before(found.until)
		}
	}
	return names
}

// reply wakes those who wait for an answer.
func (a *asks) reply(about topic, answer error, until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.topics[about]
	if found == nil {
		return // nobody has asked
	}
	found.answer, found.until = answer, until
	found.woken, found.waiting = found.waiting, map[ctrl.Request]bool{}
	for asker := range found.woken {
		if a.askers != nil {
			a.askers.Add(asker)
		}
	}
}

// forget drops the answers about a cluster. Who waits asks again.
func (a *asks) forget(cluster client.ObjectKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for about := range a.topics {
		if about.cluster == cluster {
			delete(a.topics, about)
		}
	}
}
