package linux

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Waiting are the objects of a kind that may wait for the API server of their Cluster.
type Waiting struct {
	// Reader has the objects in a cache, and List is an empty list of them.
	Reader client.Reader
	List   client.ObjectList
	// Needs says whether an object needs the API server to go on. It MUST NOT ask for what a reconcile under way may be about to
	// write, such as the reason of a wait.
	Needs func(client.Object) bool
}

// When wakes the objects of a Cluster once its API server answers again. They look at it every few seconds anyway, but its first
// answer is not to wait for that.
func (w Waiting) When(answering <-chan client.ObjectKey) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case cluster := <-answering:
					w.wake(ctx, cluster, queue)
				}
			}
		}()
		return nil
	})
}

func (w Waiting) wake(ctx context.Context, cluster client.ObjectKey, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	waiting, err := w.of(ctx, cluster)
	if err != nil { // they look by themselves soon
		ctrl.LoggerFrom(ctx).Error(err, "Cannot wake the objects of a Cluster that answers again", "cluster", cluster)
	}
	for _, key := range waiting {
		queue.Add(ctrl.Request{NamespacedName: key})
	}
}

func (w Waiting) of(ctx context.Context, cluster client.ObjectKey) (waiting []client.ObjectKey, err error) {
	list, _ := w.List.DeepCopyObject().(client.ObjectList) // a copy has the type of the original
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
	err = w.Reader.List(ctx, list, client.InNamespace(cluster.Namespace), ofCluster, client.UnsafeDisableDeepCopy) // only read
	if err != nil {
		return nil, fmt.Errorf("list objects of Cluster %s: %w", cluster, err)
	}
	err = meta.EachListItem(list, func(o runtime.Object) error {
		if one, ok := o.(client.Object); ok && w.Needs(one) {
			waiting = append(waiting, client.ObjectKeyFromObject(one))
		}
		return nil
	})
	return waiting, err
}
