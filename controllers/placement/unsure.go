package placement

import (
	"context"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// atOnce is how many clusters of a namespace are asked at the same time whether they have our objects.
	atOnce = 4
	// longestDoubt is the longest pause until a cluster that did not answer is asked again.
	longestDoubt = time.Hour
	// someOurs are as many objects as there are of a kind of ours, and more.
	someOurs = 20
)

// unsure has the Clusters without Windows: nothing in the management cluster tells whether they have our objects. Whoever may
// make Clusters in a namespace holds up its other Clusters at most, with any number of them that do not answer.
type unsure struct {
	doubts map[types.UID]*doubt
	asking map[string]bool // by namespace
}

// doubt is what is known of such a Cluster: nothing more is to be found out, or when to ask again.
type doubt struct {
	answered bool
	next     time.Time
	pause    time.Duration
}

func newUnsure() unsure { return unsure{map[types.UID]*doubt{}, map[string]bool{}} }

func (u unsure) isDue(uid types.UID) bool {
	d := u.doubts[uid]
	return d == nil || !d.answered && !time.Now().Before(d.next)
}

// failed has a Cluster asked later, and later each time.
func (u unsure) failed(uid types.UID) {
	d := u.doubts[uid]
	if d == nil {
		d = &doubt{pause: every / 2}
		u.doubts[uid] = d
	}
	d.pause = min(2*d.pause, longestDoubt)
	d.next = time.Now().Add(d.pause)
}

// ask opens the Clusters that have our objects, and does not wait for them. Those of a namespace that is being asked wait for the
// next look. It must be called with the lock.
func (k *Keeper) ask(unknown map[string][]*clusterv1.Cluster) {
	for namespace, clusters := range unknown {
		if k.unsure.asking[namespace] {
			continue
		}
		k.unsure.asking[namespace] = true
		k.running.Go(func() {
			var asks errgroup.Group
			asks.SetLimit(atOnce)
			for _, about := range clusters {
				asks.Go(func() error {
					k.askOne(about)
					return nil
				})
			}
			_ = asks.Wait() // none has an error
			k.mu.Lock()
			defer k.mu.Unlock()
			delete(k.unsure.asking, namespace)
		})
	}
}

func (k *Keeper) askOne(about *clusterv1.Cluster) {
	key := client.ObjectKeyFromObject(about)
	if k.ctx.Err() != nil {
		return
	}
	there := false
	err := workload.Guard(k.ctx, func() (err error) {
		there, err = k.hasOurs(k.ctx, key)
		return err
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.ctx.Err() != nil:
	case err != nil:
		ctrl.LoggerFrom(k.ctx).V(4).Info("It is not known whether a cluster has our policies", "cluster", key, "error", err.Error())
		k.unsure.failed(about.UID)
	case there:
		k.open(about)
	default:
		k.unsure.doubts[about.UID] = &doubt{answered: true}
	}
}

// hasOurs says whether a cluster has a policy of ours, whatever somebody has removed.
func (k *Keeper) hasOurs(ctx context.Context, key client.ObjectKey) (bool, error) {
	api, err := k.Workload.GetClient(ctx, key)
	if err != nil {
		return false, err
	}
	for _, one := range []*unstructured.Unstructured{policies.Validating()[0], policies.Mutating()[0]} {
		var all unstructured.UnstructuredList
		kind := one.GroupVersionKind()
		kind.Kind += "List"
		all.SetGroupVersionKind(kind)
		err := api.List(ctx, &all, client.MatchingLabels{policies.Label: policies.LabelValue}, client.Limit(someOurs))
		if ignoreRefused(err) != nil {
			return false, err
		}
		for i := range all.Items {
			if isOurs(&all.Items[i]) {
				return true, nil
			}
		}
	}
	return false, nil
}

// forgetUnsure forgets Clusters that are gone.
func (k *Keeper) forgetUnsure(clusters map[client.ObjectKey]*found) {
	k.mu.Lock()
	defer k.mu.Unlock()
	there := map[types.UID]bool{}
	for _, one := range clusters {
		there[one.object.UID] = true
	}
	maps.DeleteFunc(k.unsure.doubts, func(uid types.UID, _ *doubt) bool { return !there[uid] })
}
