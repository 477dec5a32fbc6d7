package placement

import (
	"context"
	"fmt"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
)

// mode is what a person wants of our policies in a cluster.
type mode string

const (
	// change has the API server change templates, where it can.
	change mode = ""
	// warn has it change nothing, and warn.
	warn mode = infrav1.LinuxPolicyWarn
	// off has our objects removed.
	off mode = infrav1.LinuxPolicyOff
)

// modeOf reads the annotation. A value that means nothing is the same as none, and the second result is a sentence about it.
func modeOf(about *clusterv1.Cluster) (is mode, wrong string) {
	value, set := about.Annotations[infrav1.LinuxPolicyAnnotation]
	switch is = mode(value); {
	case !set, is == warn, is == off:
		return is, ""
	}
	return change, fmt.Sprintf("Cluster %s has the annotation %s with a value that means nothing, so the policies are as if it had "+
		"none; set it to %s or %s, or remove it", about.Name, infrav1.LinuxPolicyAnnotation, warn, off)
}

// hasOtherMode says whether the annotation of a Cluster has changed.
func hasOtherMode(a, b *clusterv1.Cluster) bool {
	return a.Annotations[infrav1.LinuxPolicyAnnotation] != b.Annotations[infrav1.LinuxPolicyAnnotation]
}

// plan tells people once what the mutating policy will change, before it is there for the first time. It is false while that is
// not known.
func (c *cluster) plan(ctx context.Context, about *clusterv1.Cluster, policy ownObject, next *deadline) bool {
	const key = "plan"
	delete(c.why, key)
	if c.planned || c.view.isAbsent(policy.resource) || c.view.ownBrief(policy).Ours {
		return true
	}
	if late := c.opened.Add(planTime); !c.view.isPlannable(policy.resource) && time.Now().Before(late) {
		next.by(late)
		c.why[key] = errPending
		return false
	}
	c.planned = true
	var names []string
	for w := range c.view.workloads() {
		if w.GetsLinux() {
			names = append(names, w.String())
		}
	}
	slices.Sort(names)
	if text := verdict.Planned(names); text != "" && c.keeper.Teller != nil {
		c.keeper.Teller.plan(ctx, about, text)
	}
	return true
}

// planTime is how long it may take until a cluster has shown its workloads: one that does not must not be without the policy.
const planTime = 30 * time.Second

// isPlannable says that all workloads are known, and which objects there are of a resource, but for what the API server hides.
func (v *view) isPlannable(resource string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, one := range []string{resource, daemonSets, deployments, statefulSets} {
		if s := v.store(one); !s.listed && s.hidden == "" {
			return false
		}
	}
	return true
}

// clean removes once what earlier versions wrote beside the policies, if it is ours.
func (c *cluster) clean(ctx context.Context, next *deadline) {
	const key = "leftover"
	if c.cleaned {
		return
	}
	if wait := c.again[key]; time.Now().Before(wait) {
		next.by(wait)
		return
	}
	api, err := c.keeper.Workload.GetClient(ctx, c.key)
	if err == nil {
		err = removeLeftover(ctx, api)
	}
	if err == nil || isTurnedDown(err) {
		c.cleaned = true
		return
	}
	ctrl.LoggerFrom(ctx).V(4).Info("What earlier versions wrote is not removed", "error", err.Error())
	c.again[key] = time.Now().Add(retry)
	next.by(c.again[key])
}

func removeLeftover(ctx context.Context, api client.Client) error {
	there := policies.Leftover()
	err := api.Get(ctx, client.ObjectKeyFromObject(there), there)
	if err != nil || !isOurs(there) || there.GetLabels()[policies.Label] != policies.LabelValue {
		return client.IgnoreNotFound(err)
	}
	uid := there.GetUID()
	return client.IgnoreNotFound(api.Delete(ctx, there, client.Preconditions{UID: &uid}))
}
