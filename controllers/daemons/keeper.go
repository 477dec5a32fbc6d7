package daemons

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	capilabels "sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	every = time.Minute
	// atOnce is how many clusters are asked at the same time: one that does not answer holds a caller for seconds.
	atOnce = 10
	// mostConfigs of a Cluster are read at once before a role is taken away.
	mostConfigs = 500
)

// Clusters reach the workload clusters.
type Clusters interface {
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
}

// Keeper keeps the roles of all Clusters as the package promises. It is a Runnable of a manager. Set its fields before use.
type Keeper struct {
	// Client reads the cache, and Live the API server itself.
	Client, Live client.Reader
	Workload     Clusters
	Now          func() time.Time
	// WatchFilter is the value of the watch-filter label, if this manager is limited by it.
	WatchFilter string

	due     map[client.ObjectKey]time.Time // when a cluster is looked at again
	needing map[client.ObjectKey]string    // what a cluster needed at the last look
	idle    map[place]time.Time            // since when nobody needs a role that is there
}

// Start looks every minute until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithName("daemons"))
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := k.Look(ctx); err != nil && ctx.Err() == nil {
				ctrl.LoggerFrom(ctx).Error(err, "Cannot look after the rights of nodes")
			}
		}
	}
}

// Look brings all clusters whose turn it is to what they need, once. Start calls it. Each Cluster is asked once when the process
// is new, because no object of the management cluster says whether a role was left there.
func (k *Keeper) Look(ctx context.Context) error {
	clusters, err := k.clusters(ctx)
	if err != nil {
		return err
	}
	if k.due == nil {
		k.due, k.needing, k.idle = map[client.ObjectKey]time.Time{}, map[client.ObjectKey]string{}, map[place]time.Time{}
	}
	k.forget(clusters)
	var asks errgroup.Group
	asks.SetLimit(atOnce)
	ends := make([]end, len(clusters))
	for i, c := range clusters {
		needs := fmt.Sprint(c.needs)
		if k.needing[c.key] == needs && k.Now().Before(k.due[c.key]) {
			continue
		}
		k.needing[c.key] = needs
		asks.Go(func() error {
			ends[i] = k.look(ctx, c)
			return nil
		})
	}
	if err := asks.Wait(); err != nil {
		return err
	}
	for i, c := range clusters {
		k.note(c.key, ends[i])
	}
	return nil
}

// cluster is one that can be asked, and what its configs need.
type cluster struct {
	key   client.ObjectKey
	needs []Role
}

// clusters are those that this manager looks after and that are not paused, with what the cache has of their configs.
func (k *Keeper) clusters(ctx context.Context) (found []cluster, err error) {
	var all clusterv1.ClusterList
	if err := k.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	var configs bootstrapv1.WindowsBootstrapConfigList
	if err := k.Client.List(ctx, &configs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list windowsbootstrapconfigs: %w", err)
	}
	needs, here := map[client.ObjectKey][]Role{}, map[client.ObjectKey]bool{}
	for _, config := range configs.Items {
		key := client.ObjectKey{Namespace: config.Namespace, Name: config.Labels[clusterv1.ClusterNameLabel]}
		needs[key] = append(needs[key], Of(config.Spec)...)
		here[key] = here[key] || capilabels.HasWatchLabel(&config, k.WatchFilter)
	}
	for _, c := range all.Items {
		key := client.ObjectKeyFromObject(&c)
		mine := k.WatchFilter == "" || here[key] || capilabels.HasWatchLabel(&c, k.WatchFilter)
		if mine && isUp(&c) {
			found = append(found, cluster{key, slices.Compact(slices.Sorted(slices.Values(needs[key])))})
		}
	}
	return found, nil
}

// isUp says that the Cluster has an API server and is nobody's work in progress.
func isUp(c *clusterv1.Cluster) bool {
	return c.DeletionTimestamp.IsZero() && ptr.Deref(c.Status.Initialization.ControlPlaneInitialized, false) &&
		!annotations.IsPaused(c, c)
}

// forget forgets clusters that are gone, paused or another manager's: they are looked at anew when they come back.
func (k *Keeper) forget(clusters []cluster) {
	here := map[client.ObjectKey]bool{}
	for _, c := range clusters {
		here[c.key] = true
	}
	maps.DeleteFunc(k.due, func(key client.ObjectKey, _ time.Time) bool { return !here[key] })
	maps.DeleteFunc(k.needing, func(key client.ObjectKey, _ string) bool { return !here[key] })
	maps.DeleteFunc(k.idle, func(at place, _ time.Time) bool { return !here[at.cluster] })
}

// end is how a look at a cluster ended.
type end struct {
	looked bool
	// again is when to look again, and idle since when the roles are left that nobody needs.
	again time.Time
	idle  map[Role]time.Time
}

func (k *Keeper) note(key client.ObjectKey, e end) {
	if !e.looked {
		return
	}
	k.due[key] = e.again
	for role := range labels {
		delete(k.idle, place{key, role})
		if since, left := e.idle[role]; left {
			k.idle[place{key, role}] = since
		}
	}
}

// look gives one cluster the roles that it needs, and takes those that nobody has needed for long enough.
func (k *Keeper) look(ctx context.Context, c cluster) end {
	e := end{looked: true, again: k.Now().Add(keep), idle: map[Role]time.Time{}}
	log := ctrl.LoggerFrom(ctx).WithValues("cluster", c.key)
	api, err := k.Workload.GetClient(ctx, c.key)
	for role := range labels {
		switch {
		case api == nil:
		case slices.Contains(c.needs, role):
			err = errors.Join(err, give(ctx, api, role))
		default:
			err = errors.Join(err, k.tend(ctx, api, place{c.key, role}, &e))
		}
	}
	switch {
	case workload.OutOfReach(err):
		log.V(4).Info("The rights of nodes are not looked after", "error", err.Error())
	case err != nil:
		log.Info("The rights of nodes are not as they should be", "error", err.Error())
	}
	if err != nil {
		e.again = k.Now().Add(every)
	}
	return e
}

// tend takes a role that is there away once nobody has needed it for long enough.
func (k *Keeper) tend(ctx context.Context, api client.Client, at place, e *end) error {
	there, err := given(ctx, api, at.role)
	if err != nil || !there {
		return err
	}
	needed, err := k.isNeeded(ctx, api, at)
	if err != nil || needed {
		return err
	}
	since, known := k.idle[at]
	if !known {
		since = k.Now()
	}
	if k.Now().Sub(since) < unused {
		e.idle[at.role], e.again = since, k.Now().Add(every)
		return nil
	}
	if err := take(ctx, api, at.role); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Nodes have lost a right that none needs", "cluster", at.cluster, "role", at.role)
	return nil
}

// isNeeded asks the API servers themselves.
func (k *Keeper) isNeeded(ctx context.Context, api client.Client, at place) (bool, error) {
	var nodes corev1.NodeList
	on := client.MatchingLabels{labels[at.role]: bootstrap.LabelService}
	if err := api.List(ctx, &nodes, on, client.Limit(1)); err != nil {
		return false, fmt.Errorf("list nodes: %w", err)
	}
	if len(nodes.Items) > 0 {
		return true, nil
	}
	its := client.MatchingLabels{clusterv1.ClusterNameLabel: at.cluster.Name}
	for next := ""; ; {
		var configs bootstrapv1.WindowsBootstrapConfigList
		page := []client.ListOption{client.InNamespace(at.cluster.Namespace), its, client.Limit(mostConfigs), client.Continue(next)}
		if err := k.Live.List(ctx, &configs, page...); err != nil {
			return false, fmt.Errorf("list windowsbootstrapconfigs: %w", err)
		}
		if slices.ContainsFunc(configs.Items, func(c bootstrapv1.WindowsBootstrapConfig) bool {
			return slices.Contains(Of(c.Spec), at.role)
		}) {
			return true, nil
		}
		if next = configs.Continue; next == "" {
			return false, nil
		}
	}
}
