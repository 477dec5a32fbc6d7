// Package placement keeps workloads for Linux off the Windows Nodes of workload clusters, by admission objects of ours there
// (internal/policies), and tells of workloads that may come there all the same. A reader may rely on this:
//
//   - Our objects are in each cluster from its first WindowsMachine on, and stay when the last one is gone. They go when the
//     Cluster gets the annotation capwin.io/linux-policy: off, or with the cluster. With warn, that which changes workloads goes.
//   - One that was removed or edited is back within a minute, by one write. What has one of our names and was not made by us is
//     neither changed nor removed. No workload of anybody's is written.
//   - Where they are refused, or where the API server has no such kinds, people are told, and no machine waits.
//   - While nothing changes, there are only watches, and a probe each ten minutes: dry runs, and a question for the version.
//     Where something has changed, the version is asked for once a minute at most.
//   - No cluster holds up another. One that cannot be reached is tried by one connection at a time, with pauses. What a cluster
//     tells is bounded.
package placement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capilabels "sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// every is how soon a new Cluster, or a new annotation, is noticed.
	every = time.Minute
	// patience is how long machines of a cluster wait for its policies.
	patience = time.Minute
)

// Clusters reach the workload clusters.
type Clusters interface {
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	// FollowAll tells of all feeds until ctx or a watch ends.
	FollowAll(ctx context.Context, cluster client.ObjectKey, feeds ...*workload.Feed) error
	// Version is that of the API server.
	Version(ctx context.Context, cluster client.ObjectKey) (string, error)
}

// Keeper keeps the policies of all Clusters as the package promises. It is a Runnable of a manager. Set its fields before use.
type Keeper struct {
	// Client reads the cache.
	Client   client.Reader
	Workload Clusters
	// WatchFilter is the value of the watch-filter label, if this manager is limited by it.
	WatchFilter string
	// Teller tells people what it finds.
	Teller teller

	mu       sync.Mutex
	ctx      context.Context //nolint:containedctx // because clusters are looked after from a machine's first question on
	running  sync.WaitGroup
	clusters map[client.ObjectKey]*cluster
	// shared counts what is kept of the clusters of a namespace.
	shared map[string]*atomic.Int64
	unsure unsure
}

// Start looks after clusters until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithName("placement"))
	k.mu.Lock()
	k.ctx, k.clusters, k.unsure = ctx, map[client.ObjectKey]*cluster{}, newUnsure()
	k.shared = map[string]*atomic.Int64{}
	k.mu.Unlock()
	defer k.running.Wait()
	look := time.NewTicker(every)
	defer look.Stop()
	for {
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Cannot look for clusters with Windows")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// Kept says whether the policies of a Cluster act, so that it may get a Windows VM. If they cannot, or do not within a minute, it
// says why in a sentence, and that it may all the same.
func (k *Keeper) Kept(about *clusterv1.Cluster) (kept bool, warning string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx == nil || k.ctx.Err() != nil {
		return false, "" // the manager does not run yet, or not any more: the machine asks again
	}
	return k.open(about).answer(time.Now())
}

// open begins to look after a cluster, unless that is done already. It must be called with the lock.
func (k *Keeper) open(about *clusterv1.Cluster) *cluster {
	key := client.ObjectKeyFromObject(about)
	known := k.clusters[key]
	if known != nil && known.uid == about.UID {
		known.update(about)
		return known
	}
	k.close(key)
	ctx, stop := context.WithCancel(ctrl.LoggerInto(k.ctx, ctrl.LoggerFrom(k.ctx).WithValues("cluster", key)))
	if k.shared[key.Namespace] == nil {
		k.shared[key.Namespace] = &atomic.Int64{}
	}
	opened := newCluster(k, about, stop)
	opened.view.share(k.shared[key.Namespace])
	k.clusters[key] = opened
	k.running.Go(func() { opened.watch(ctx) })
	k.running.Go(func() { opened.work(ctx) })
	return opened
}

// close must be called with the lock.
func (k *Keeper) close(key client.ObjectKey) {
	if known := k.clusters[key]; known != nil {
		known.stop()
		delete(k.clusters, key)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(k.clusters)), func(other client.ObjectKey) bool {
			return other.Namespace == key.Namespace
		}) {
			delete(k.shared, key.Namespace)
		}
		if k.Teller != nil {
			k.Teller.forget(key)
		}
	}
}

// look opens the clusters that need it, and closes those that are gone, paused or another manager's.
func (k *Keeper) look(ctx context.Context) error {
	found, err := k.find(ctx)
	if err != nil {
		return err
	}
	k.mu.Lock()
	unknown := map[string][]*clusterv1.Cluster{}
	for key := range k.clusters {
		if found[key] == nil {
			k.close(key)
		}
	}
	for key, one := range found {
		switch {
		case one.hasWindows || k.clusters[key] != nil:
			k.open(one.object)
		case k.unsure.isDue(one.object.UID):
			unknown[key.Namespace] = append(unknown[key.Namespace], one.object)
		}
	}
	k.ask(unknown)
	k.mu.Unlock()
	return nil
}

// found is a Cluster that this manager looks after.
type found struct {
	object     *clusterv1.Cluster // of the cache
	hasWindows bool
}

// find reads the cache.
func (k *Keeper) find(ctx context.Context) (map[client.ObjectKey]*found, error) {
	var all clusterv1.ClusterList
	if err := k.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	var machines infrav1.WindowsMachineList
	if err := k.Client.List(ctx, &machines, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list windowsmachines: %w", err)
	}
	hasWindows, here := map[client.ObjectKey]bool{}, map[client.ObjectKey]bool{}
	for i := range machines.Items {
		machine := &machines.Items[i]
		key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Labels[clusterv1.ClusterNameLabel]}
		hasWindows[key] = true
		here[key] = here[key] || capilabels.HasWatchLabel(machine, k.WatchFilter)
	}
	clusters := map[client.ObjectKey]*found{}
	for i := range all.Items {
		c := &all.Items[i]
		key := client.ObjectKeyFromObject(c)
		mine := k.WatchFilter == "" || here[key] || capilabels.HasWatchLabel(c, k.WatchFilter)
		if mine && workload.IsUp(c) {
			clusters[key] = &found{object: c, hasWindows: hasWindows[key]}
		}
	}
	k.forgetUnsure(clusters)
	return clusters, nil
}
