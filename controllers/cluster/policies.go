package cluster

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	objects "github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// policiesPatience is how long machines wait where nobody finds out about the policies of a cluster that is reached.
	policiesPatience = time.Minute
	// served is how long an answer about the policies serves after the look that it comes from: longer than until the next one.
	served = 2 * time.Minute
	// mostPlanned workloads are counted that the mutating policy will change, and longestPlan is how long they are looked for.
	mostPlanned = 10_000
	longestPlan = 15 * time.Second
)

// Policies are those that keep workloads for Linux off Windows Nodes, as package policies decides.
type Policies struct {
	Lists Lists

	memory policies.Memory
	// answer is that of the last look, and unsure is since when looks find out nothing.
	answer error
	unsure time.Time
}

// Needs implements Keep. What a person has set the annotation to is a need, too, so that it is seen at once.
func (*Policies) Needs(cluster *clusterv1.Cluster, machines client.ObjectList, asked map[string]bool) (needs []string) {
	if _, ok := asked[policies.Name]; ok || meta.LenList(machines) > 0 {
		needs = append(needs, policies.Name)
	}
	if mode, set := cluster.Annotations[infrav1.LinuxPolicyAnnotation]; set {
		needs = append(needs, infrav1.LinuxPolicyAnnotation+"="+mode)
	}
	return needs
}

// Look implements Keep.
func (p *Policies) Look(ctx context.Context, v *Visit) error {
	if len(v.Needs) == 0 {
		*p = Policies{Lists: p.Lists}
		return nil
	}
	api, err := v.Reach(ctx)
	if err != nil {
		return err
	}
	err = p.look(ctx, v, api)
	switch {
	case err == nil && !errors.Is(p.answer, keep.ErrSettling):
		p.unsure = time.Time{}
	case p.unsure.IsZero():
		p.unsure = v.Now
	case v.Now.Sub(p.unsure) >= policiesPatience:
		v.Reply(policies.Name, &policies.UnkeptError{Reason: "Cluster " + v.Cluster.Name + ": the manager could not verify within a " +
			"minute that the policies act that keep workloads for Linux off Windows Nodes"}, served)
	}
	return err
}

// look does one act after the other until there is none.
func (p *Policies) look(ctx context.Context, v *Visit, api *keep.Cluster) error {
	seen := policies.Seen{
		Cluster: v.Cluster.Name, Needed: slices.Contains(v.Needs, policies.Name), Answers: map[policies.Act]error{}, Memory: p.memory,
	}
	seen.Mode, seen.Wrong = policies.ModeOf(v.Cluster)
	api.Fetch(ctx, allPolicies())
	for {
		step := policies.Next(seen, v.Now)
		if step.Act == policies.Rest {
			p.memory, p.answer = step.Memory, step.Answer
			v.LookAgain(step.RecheckIn)
			v.Reply(policies.Name, step.Answer, step.RecheckIn+served)
			return nil
		}
		err := p.perform(ctx, v, api, step.Act)
		if broken := breakOff(ctx, err); broken != nil {
			return broken
		}
		seen.Answers[step.Act] = err
	}
}

func allPolicies() []*unstructured.Unstructured {
	return append(objects.Validating(), objects.Mutating()...)
}

func (p *Policies) perform(ctx context.Context, v *Visit, api *keep.Cluster, act policies.Act) error {
	switch act {
	case policies.Clean:
		return api.RevokeAll(ctx, objects.Leftovers())
	case policies.Remove:
		return api.RevokeAll(ctx, allPolicies())
	case policies.RemoveChanging:
		return api.RevokeAll(ctx, objects.Mutating())
	case policies.WriteRefusing:
		return api.WriteAll(ctx, objects.Validating())
	case policies.Plan:
		return p.plan(ctx, v, api)
	case policies.WriteChanging:
		return api.WriteAll(ctx, objects.Mutating())
	case policies.TryRefusing:
		err := api.Probe(ctx, objects.ProbeValidating())
		if objects.IsRefusal(err) {
			return nil
		}
		return cmp.Or(err, policies.ErrIgnored)
	}
	probe := objects.ProbeMutating()
	if err := api.Probe(ctx, probe); err != nil || objects.IsMutated(probe) {
		return err
	}
	return policies.ErrIgnored
}

// plan makes the event that comes before the mutating policy: what that will change. An API server that does not show its
// workloads is not without the policy for that.
func (p *Policies) plan(ctx context.Context, v *Visit, api *keep.Cluster) error {
	if exists, err := api.IsThere(ctx, objects.Mutating()[0]); exists || err != nil {
		return err
	}
	reading, err := collector(ctx, p.Lists, v, longestPlan)
	if err != nil {
		return err
	}
	if err := reading.Namespaces(ctx); workload.OutOfReach(err) {
		return err
	}
	var names []string
	err = eachWorkload(ctx, reading, func(w placement.Workload) {
		if reading.GetsLinux(w) && len(names) < mostPlanned {
			names = append(names, w.String())
		}
	})
	if workload.OutOfReach(err) {
		return err
	}
	slices.Sort(names)
	if text := placement.Planned(names); text != "" {
		text += "; to have none changed, set the annotation " + infrav1.LinuxPolicyAnnotation + ": " + infrav1.LinuxPolicyWarn +
			" on the Cluster"
		if err != nil || len(reading.Lacking) > 0 {
			text += "; not all workloads were read, so there may be more of them"
		}
		v.report(corev1.EventTypeNormal, infrav1.PlacementFindingReason, "plan", text)
	}
	return nil
}

// Kept returns whether the policies of a Cluster act, so that a machine may get a VM. Answers wakes machines that have asked. If
// the policies cannot act, or do not within a minute, the warning has the reason, and the VM may come all the same.
func (r *Reconciler) Kept(cluster *clusterv1.Cluster, machine client.ObjectKey) (kept bool, warning string) {
	ok, answer := r.Ask(client.ObjectKeyFromObject(cluster), machine, policies.Name)
	if unkept, isUnkept := errors.AsType[*policies.UnkeptError](answer); ok && isUnkept {
		return true, unkept.Reason
	}
	return ok && answer == nil, ""
}
