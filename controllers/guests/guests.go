// Package guests gives the guests of machines whose cloud carries no reports a place in the workload cluster: each may replace
// its own object there, and do nothing else. guests.yaml has the rights. The policy that limits a guest to its own object is
// served before any guest may write: an API server that does not know such policies gets no RoleBinding. What the package does
// never stops a machine: without the place, its progress comes from the Node alone.
package guests

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// settle is how long the policy is there before it is tried: each API server of the control plane reads it every second.
	settle = 10 * time.Second
	// patience is how long machines of a cluster wait for its rights.
	patience = time.Minute
	// keep is how soon the rights of a cluster are read again: a person may have changed or removed them.
	keep = 10 * time.Minute
	// unasked is how long the rights of a cluster are remembered that no machine asks for: it may be gone. They stay in the
	// cluster itself.
	unasked = 24 * time.Hour
	// probe is the name of an object that the policy refuses to everyone.
	probe = "probe"

	// alone ends each sentence that says why guests cannot report.
	alone = ", so guests cannot report there, and progress comes from the Node alone"
	// maxCause is how much of an API server's own words people see.
	maxCause = 256
)

//go:embed guests.yaml
var manifest string

// State is how far a cluster's rights are.
type State struct {
	// Open says that guests may write. Else Why is a sentence for people; it is empty while that is about to come.
	Open bool
	Why  string
	// NameTaken says that Why is about an object of somebody else that has the name of one of ours.
	NameTaken bool
	// Again is how soon to ask again.
	Again time.Duration
}

// Rights are those of the guests in all workload clusters. The zero value with Now is ready to use.
type Rights struct {
	Now func() time.Time

	mu       sync.Mutex
	clusters map[client.ObjectKey]*rights
	pruned   time.Time
}

// rights are those in one cluster.
type rights struct {
	cluster client.ObjectKey
	asked   time.Time // guarded by the lock of Rights

	mu      sync.Mutex
	settled time.Time // when the policy may be tried; zero when it was not written yet
	since   time.Time // when machines began to wait
	due     time.Time // when to look again
	state   State
}

// Ensure brings the rights in a cluster a step further, when it is time for that. Of many callers, one does it. An error means
// that the cluster cannot be reached.
func (r *Rights) Ensure(ctx context.Context, cluster client.ObjectKey, api client.Client) (State, error) {
	known := r.of(cluster)
	known.mu.Lock()
	defer known.mu.Unlock()
	now := r.Now()
	if now.Before(known.due) {
		state := known.state
		state.Again = known.due.Sub(now)
		return state, nil
	}
	state, err := known.look(ctx, api, now)
	if err != nil && (workload.OutOfReach(err) || ctx.Err() != nil) {
		return State{}, err
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).V(4).Info("Guests get no rights", "cluster", cluster, "error", err.Error())
	}
	known.state = known.bound(state, err, now)
	known.due = now.Add(known.state.Again)
	return known.state, nil
}

// bound ends the machines' wait for what does not come.
func (k *rights) bound(state State, err error, now time.Time) State {
	if err != nil {
		state = State{Again: settle}
	}
	if state.Open || state.Why != "" {
		k.since = time.Time{}
		return state
	}
	if k.since.IsZero() {
		k.since = now
	}
	if now.Sub(k.since) < patience {
		return state
	}
	k.since = time.Time{}
	state = State{Why: "the workload cluster does not enforce the ValidatingAdmissionPolicy capwin-guests" + alone, Again: keep}
	if err != nil {
		state.Why = Mute(err)
	}
	return state
}

func (r *Rights) of(cluster client.ObjectKey) *rights {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	if now.Sub(r.pruned) > keep {
		maps.DeleteFunc(r.clusters, func(_ client.ObjectKey, of *rights) bool { return now.Sub(of.asked) > unasked })
		r.pruned = now
	}
	if r.clusters == nil {
		r.clusters = map[client.ObjectKey]*rights{}
	}
	if r.clusters[cluster] == nil {
		r.clusters[cluster] = &rights{cluster: cluster}
	}
	r.clusters[cluster].asked = now
	return r.clusters[cluster]
}

// look writes all but the RoleBinding, and the RoleBinding once the policy has settled and is seen to work.
func (k *rights) look(ctx context.Context, api client.Client, now time.Time) (State, error) {
	objects, err := wanted()
	if err != nil {
		return State{}, err
	}
	last := len(objects) - 1
	for _, object := range objects[:last] {
		if err := write(ctx, api, object); err != nil {
			return k.refused(ctx, api, objects[last], err)
		}
	}
	if k.settled.IsZero() {
		k.settled = now.Add(settle)
	}
	if now.Before(k.settled) {
		return State{Again: k.settled.Sub(now)}, nil
	}
	served, err := isServed(ctx, api)
	if err != nil {
		return closed(err)
	}
	if !served {
		return State{Again: settle}, nil
	}
	if err := write(ctx, api, objects[last]); err != nil {
		return k.refused(ctx, api, objects[last], err)
	}
	return State{Open: true, Again: keep}, nil
}

// closed tells what time does not mend in a sentence.
func closed(err error) (State, error) {
	var why string
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		why = "the workload cluster has no ValidatingAdmissionPolicy, which Kubernetes has from 1.30 on"
	case apierrors.IsForbidden(err):
		why = "the Cluster's kubeconfig may not read and write Namespace, Role, RoleBinding and ValidatingAdmissionPolicy"
	default:
		return State{}, err
	}
	return State{Why: why + alone, Again: keep}, nil
}

// isServed says whether the policy refuses what only it refuses. Nothing is made.
func isServed(ctx context.Context, api client.Client) (bool, error) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: probe}}
	err := api.Create(ctx, object, client.DryRunAll)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
		return true, nil
	}
	return false, err
}

// wanted reads guests.yaml, in its order.
func wanted() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			return nil, fmt.Errorf("read guests.yaml: %w", err)
		}
		all = append(all, object)
	}
	return all, nil
}
