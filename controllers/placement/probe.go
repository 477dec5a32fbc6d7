package placement

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// probing is what probes have found out.
type probing struct {
	// due is when to probe again, and since is when policies that are there began not to act.
	due, since time.Time
	// deaf is how many probes in a row say so, and version is that of the API server when it was asked for it last.
	deaf    int
	version string
	asked   time.Time
	// needs are the policies that are there, and acts those of them that act.
	needs, acts policySet
	// tried says that a probe has been answered since needs changed, and refused why another one was not.
	tried   bool
	refused error
}

// policySet are the validating ones, which refuse a probe, and the mutating one, which changes it.
type policySet struct{ refusing, changing bool }

// isPending says that machines wait for a better answer.
func (p *probing) isPending() bool {
	return p.needs != policySet{} && (!p.tried || !p.since.IsZero() && !p.isSure(time.Now()))
}

// isSure says that it was not one API server of several that has not read the policies yet, or that is being replaced.
func (p *probing) isSure(now time.Time) bool { return p.deaf > 1 && now.Sub(p.since) >= patience }

// hasFrom says whether the API server that was probed knows a kind. One of no known version may.
func (p *probing) hasFrom(kind string) bool {
	is, err := version.ParseGeneric(p.version)
	return err != nil || is.AtLeast(version.MustParseGeneric(servedFrom[kind]))
}

// probePolicies finds out whether the policies act: that they are there does not say so, as a feature gate or a plug-in may be
// off. It also asks for the version.
func (c *cluster) probePolicies(ctx context.Context, needs policySet, next *deadline) {
	p, now := &c.probe, time.Now()
	if needs != p.needs {
		p.needs, p.tried, p.since, p.deaf, p.due = needs, false, time.Time{}, 0, now.Add(settle)
	}
	if now.Before(p.due) {
		next.by(p.due)
		return
	}
	acts, err := c.probeOnce(ctx, needs)
	switch {
	case err != nil && !isTurnedDown(err):
		ctrl.LoggerFrom(ctx).V(4).Info("The policies cannot be probed", "error", err.Error())
		p.due = now.Add(retry)
	default:
		p.tried, p.refused, p.acts = true, err, acts
		p.judge(now)
	}
	next.by(p.due)
}

// judge says when to probe again.
func (p *probing) judge(now time.Time) {
	p.due = now.Add(recheck)
	if p.acts == p.needs || p.refused != nil {
		p.since, p.deaf = time.Time{}, 0
		return
	}
	p.deaf++
	if p.since.IsZero() {
		p.since = now
	}
	if !p.isSure(now) {
		p.due = now.Add(settle)
	}
}

// probeOnce makes dry runs. Nothing is made.
func (c *cluster) probeOnce(ctx context.Context, needs policySet) (acts policySet, err error) {
	api, err := c.keeper.Workload.GetClient(ctx, c.key)
	if err != nil {
		return acts, err
	}
	if err := c.readVersion(ctx); workload.OutOfReach(err) {
		return acts, err
	}
	if needs.refusing {
		err := api.Create(ctx, policies.ProbeValidating(), client.DryRunAll)
		acts.refusing = policies.IsRefusal(err)
		if err != nil && !acts.refusing {
			return acts, err
		}
	}
	if needs.changing {
		object := policies.ProbeMutating()
		if err := api.Create(ctx, object, client.DryRunAll); err != nil {
			return acts, err
		}
		acts.changing = policies.IsMutated(object)
	}
	return acts, nil
}

// readVersion asks the API server for its version.
func (c *cluster) readVersion(ctx context.Context) error {
	c.probe.asked = time.Now()
	said, err := c.keeper.Workload.Version(ctx, c.key)
	if err == nil {
		c.probe.version = said
		c.view.setVersion(said)
	}
	return err
}

// sentences tell people what the probes have found.
func (p *probing) sentences(name string) (all []string) {
	if !p.tried {
		return nil
	}
	if p.refused != nil {
		return []string{fmt.Sprintf("Cluster %s does not let the user of Secret %s-kubeconfig make ConfigMaps in kube-system by a dry "+
			"run, so it is not known whether the policies act that keep workloads for Linux off Windows Nodes: %s", name, name,
			saidBy(p.refused))}
	}
	if !p.isSure(time.Now()) {
		return nil
	}
	if p.needs.refusing && !p.acts.refusing && p.hasFrom("ValidatingAdmissionPolicy") {
		all = append(all, fmt.Sprintf("Cluster %s has the ValidatingAdmissionPolicies of capwin and does not obey them: its API "+
			"server has the admission plug-in ValidatingAdmissionPolicy switched off, or is being upgraded", name))
	}
	if p.needs.changing && !p.acts.changing && p.hasFrom("MutatingAdmissionPolicy") {
		all = append(all, fmt.Sprintf("Cluster %s has the MutatingAdmissionPolicy of capwin and does not obey it: its API server has "+
			"the feature gate or the admission plug-in MutatingAdmissionPolicy switched off, or is being upgraded", name))
	}
	return all
}
