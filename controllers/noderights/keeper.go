package noderights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capilabels "sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	every = time.Minute
	// atOnce is how many clusters are asked at the same time: one that does not answer holds a caller for seconds.
	atOnce = 10
	// mostConfigs of a Cluster are read at once before a role is revoked.
	mostConfigs = 500
	// maxNote is how long the note of an Event may be.
	maxNote = 1024
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
	// Rights are those of this process: what they write must be revoked one day, also where no config is seen that needed it.
	Rights *Rights
	// Events are about Clusters, and tell what a person must mend.
	Events events.EventRecorder
	Now    func() time.Time
	// WatchFilter is the value of the watch-filter label, if this manager is limited by it.
	WatchFilter string

	known map[client.ObjectKey]state
}

// state is what is known of a cluster after a look at it.
type state struct {
	needs []Role // of its configs
	// due is when to look again; zero where nothing is needed and nothing is left.
	due time.Time
	// unneeded is since when nobody needs a role that is there.
	unneeded map[Role]time.Time
	// refusals are what an event has told of them; empty if nothing is refused. tellAt is when to tell it once more.
	refusals string
	tellAt   time.Time
}

// holds says that there is no reason to look again.
func (s state) holds(needs []Role, now time.Time) bool {
	return slices.Equal(s.needs, needs) && (s.due.IsZero() || now.Before(s.due))
}

// lookBy has the next look no later than at a time.
func (s *state) lookBy(t time.Time) {
	if s.due.IsZero() || t.Before(s.due) {
		s.due = t
	}
}

// Start looks every minute until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithName("noderights"))
	// Its only error is that ctx has ended.
	_ = wait.PollUntilContextCancel(ctx, every, false, func(ctx context.Context) (bool, error) {
		if err := k.Look(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Cannot look after the rights of nodes")
		}
		return false, nil
	})
	return nil
}

// Look brings all clusters whose turn it is to what they need, once. Start calls it. Each Cluster is asked when the process is
// new, because no object of the management cluster says whether a role was left there. One that is gone, paused or another
// manager's is forgotten, and looked at anew when it comes back.
func (k *Keeper) Look(ctx context.Context) error {
	clusters, err := k.clusters(ctx)
	if err != nil {
		return err
	}
	written := k.Rights.takeWritten()
	states := make([]state, len(clusters))
	var asks errgroup.Group
	asks.SetLimit(atOnce)
	for i, c := range clusters {
		last, seen := k.known[c.key]
		if seen && !written[c.key] && last.holds(c.needs, k.Now()) {
			states[i] = last
			continue
		}
		asks.Go(func() error {
			states[i] = last // unless the look comes to its end
			states[i].needs, states[i].due = c.needs, k.Now().Add(every)
			_ = workload.Guard(ctx, func() error {
				states[i] = k.look(ctx, c, last)
				return nil
			})
			return nil
		})
	}
	if err := asks.Wait(); err != nil {
		return err
	}
	k.known = map[client.ObjectKey]state{}
	for i, c := range clusters {
		k.known[c.key] = states[i]
	}
	return nil
}

// cluster is one that can be asked, and what its configs need.
type cluster struct {
	key    client.ObjectKey
	object *clusterv1.Cluster // of the cache
	needs  []Role
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
		needs[key] = append(needs[key], NeededBy(config.Spec)...)
		here[key] = here[key] || capilabels.HasWatchLabel(&config, k.WatchFilter)
	}
	for _, c := range all.Items {
		key := client.ObjectKeyFromObject(&c)
		mine := k.WatchFilter == "" || here[key] || capilabels.HasWatchLabel(&c, k.WatchFilter)
		if mine && workload.IsUp(&c) {
			found = append(found, cluster{key, &c, slices.Compact(slices.Sorted(slices.Values(needs[key])))})
		}
	}
	return found, nil
}

// look gives one cluster the roles that it needs, and revokes those that nobody has needed for long enough.
func (k *Keeper) look(ctx context.Context, c cluster, last state) state {
	next := state{needs: c.needs, unneeded: map[Role]time.Time{}, refusals: last.refusals, tellAt: last.tellAt}
	log := ctrl.LoggerFrom(ctx).WithValues("cluster", c.key)
	api, err := k.Workload.GetClient(ctx, c.key)
	failures := []error{err}
	for _, role := range []Role{KubeProxy, Flannel} {
		switch {
		case api == nil:
		case slices.Contains(c.needs, role):
			next.lookBy(k.Now().Add(recheck))
			failures = append(failures, write(ctx, api, role))
		default:
			failures = append(failures, k.revokeUnneeded(ctx, api, grant{c.key, role}, last, &next))
		}
	}
	switch err := errors.Join(failures...); {
	case err == nil:
		next.refusals = ""
		return next
	case workload.OutOfReach(err):
		log.V(4).Info("The rights of nodes are not looked after", "error", err.Error())
	default:
		log.Info("The rights of nodes are not as they should be", "error", err.Error())
	}
	next.lookBy(k.Now().Add(every))
	k.tell(c.object, failures, &next)
	return next
}

// tell makes an event of what a person must mend, unless it has been told just now. It is one for both roles: the recorder takes
// events about the same object with the same reason for one.
func (k *Keeper) tell(about *clusterv1.Cluster, failures []error, next *state) {
	var sentences []string
	for _, err := range failures {
		if refusal, ok := errors.AsType[*RefusedError](err); ok {
			sentences = append(sentences, refusal.Error())
		}
	}
	note := strings.Join(sentences, ". ")
	if note == "" || note == next.refusals && k.Now().Before(next.tellAt) {
		return
	}
	next.refusals, next.tellAt = note, k.Now().Add(tellAgain)
	k.Events.Eventf(about, nil, corev1.EventTypeWarning, bootstrapv1.DaemonRightsRefusedReason, "Look", "%s",
		cloud.Clean(note, maxNote))
}

// revokeUnneeded revokes a role that is there once nobody has needed it for long enough.
func (k *Keeper) revokeUnneeded(ctx context.Context, api client.Client, key grant, last state, next *state) error {
	there, err := isThere(ctx, api, key.role)
	if err != nil || !there {
		return err
	}
	next.lookBy(k.Now().Add(recheck))
	needed, err := k.isNeeded(ctx, api, key)
	if err != nil || needed {
		return err
	}
	since, counts := last.unneeded[key.role]
	if !counts {
		since = k.Now()
	}
	if k.Now().Sub(since) < revokeAfter {
		next.unneeded[key.role] = since
		next.lookBy(k.Now().Add(every))
		return nil
	}
	if err := remove(ctx, api, key.role); err != nil {
		return kept(key.role, err)
	}
	ctrl.LoggerFrom(ctx).Info("Nodes have lost a right that none needs", "cluster", key.cluster, "role", key.role)
	return nil
}

// isNeeded asks the API servers themselves.
func (k *Keeper) isNeeded(ctx context.Context, api client.Client, key grant) (bool, error) {
	var nodes corev1.NodeList
	on := client.MatchingLabels{labels[key.role]: bootstrap.LabelService}
	if err := api.List(ctx, &nodes, on, client.Limit(1)); err != nil {
		return false, fmt.Errorf("list nodes: %w", err)
	}
	if len(nodes.Items) > 0 {
		return true, nil
	}
	its := client.MatchingLabels{clusterv1.ClusterNameLabel: key.cluster.Name}
	for next := ""; ; {
		var configs bootstrapv1.WindowsBootstrapConfigList
		page := []client.ListOption{client.InNamespace(key.cluster.Namespace), its, client.Limit(mostConfigs), client.Continue(next)}
		if err := k.Live.List(ctx, &configs, page...); err != nil {
			return false, fmt.Errorf("list windowsbootstrapconfigs: %w", err)
		}
		if slices.ContainsFunc(configs.Items, func(c bootstrapv1.WindowsBootstrapConfig) bool {
			return slices.Contains(NeededBy(c.Spec), key.role)
		}) {
			return true, nil
		}
		if next = configs.Continue; next == "" {
			return false, nil
		}
	}
}
