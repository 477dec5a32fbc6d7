// Package linux judges whether the pods of a workload cluster stay where they can run: all verdicts of internal/placement, what
// is wrong with kube-proxy and cluster DNS, and what the policies of this cluster do about it. It is pure:
// cmd/clusterctl-windows/management reads the cluster.
package linux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
)

// Cluster is what a workload cluster shows.
type Cluster struct {
	placement.Seen

	// Workloads are all Deployments, DaemonSets and StatefulSets.
	Workloads []placement.Workload
	Policies  Policies
	// Refused is what the API server does not show this user, and that can be done without.
	Refused []string

	// assumed is the taint of a Windows Node that is not there; nil where one is.
	assumed *corev1.Taint
}

// Policies are those of our admission objects that a workload cluster has.
type Policies struct {
	// ServesMutating and ServesValidating say that its API server has the kinds.
	ServesMutating, ServesValidating bool
	// Hidden is set if this user may not see them.
	Hidden bool
	// Present lists our policies and bindings that exist, each with its kind and its name.
	Present []string
	// Tried is set once dry runs have been answered. Refuses and Changes are their results: the API server obeys the validating
	// policies, and the mutating one.
	Tried, Refuses, Changes bool
}

// contains reports whether all of the objects exist.
func (p Policies) contains(objects []*unstructured.Unstructured) bool {
	return !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
		return !slices.Contains(p.Present, o.GetKind()+" "+o.GetName())
	})
}

// Report has a finding for the Nodes, the policies, kube-proxy and cluster DNS, then others, and one for each workload, the worst
// first.
func Report(c Cluster, extra ...cloud.Finding) *report.FindingList {
	c.assumeWindows()
	c.Mutates = c.Policies.contains(policies.Mutating()) && (c.Policies.Changes || !c.Policies.Tried)
	found := []report.Entry{c.ofNodes(), c.ofPolicies()}
	var workloads []report.Entry
	var planned []string
	for _, w := range c.Workloads {
		workloads = append(workloads, c.ofWorkload(c.Take(w), w))
		if c.GetsLinux(w) {
			planned = append(planned, w.String())
		}
	}
	found = append(found, c.ofCluster()...)
	if c.mayMutate() {
		found = append(found, c.ofPlan(planned))
	}
	for _, finding := range extra {
		found = append(found, report.Entry{Finding: finding})
	}
	slices.SortStableFunc(workloads, func(a, b report.Entry) int {
		return cmp.Or(cmp.Compare(severity[a.Result], severity[b.Result]), strings.Compare(a.Check, b.Check))
	})
	return report.FromEntries(append(found, workloads...))
}

// severity sorts: what must be done comes first.
var severity = map[cloud.Result]int{cloud.CheckFailed: 0, cloud.CheckWarning: 1, cloud.CheckSkipped: 2, cloud.CheckOK: 3}

func entry(check string, result cloud.Result, text string, commands ...report.Command) report.Entry {
	return report.Entry{Finding: cloud.Finding{Check: check, Result: result, Text: text}, Commands: commands}
}

// assumeWindows has a cluster without Windows Nodes judged as if it had its first one.
func (c *Cluster) assumeWindows() {
	if len(c.Windows) > 0 {
		return
	}
	// A config without labels and taints of its own has nothing that could be refused.
	node, _ := placement.ToBeMade(&bootstrapv1.WindowsBootstrapConfig{}, &infrav1.WindowsMachine{})
	node.Name = placement.FirstNode
	c.Windows, c.assumed = []placement.Node{node}, &node.Taints[len(node.Taints)-1]
}

func (c *Cluster) ofNodes() report.Entry {
	result, text := cloud.CheckOK, fmt.Sprintf("%d on Windows, %d on Linux", len(c.Kubelets), len(c.Linux))
	if c.assumed != nil {
		result, text = cloud.CheckWarning, "there is none on Windows, so the verdicts are for a first one with the taint "+
			c.assumed.ToString()
	}
	text += "; the API server is " + placement.Named(c.Version)
	if c.Joining > 0 {
		text += fmt.Sprintf("; %d more will join as Windows machines of the Cluster", c.Joining)
	}
	if len(c.Refused) > 0 {
		result = cloud.CheckWarning
		text += "; it does not show you " + strings.Join(c.Refused, ", ") + ", which may change verdicts"
	}
	return entry("Nodes", result, text)
}

func (c *Cluster) ofPolicies() report.Entry {
	result, text := cloud.CheckWarning, c.Policies.lack()
	switch {
	case c.Policies.Hidden:
		result, text = cloud.CheckSkipped, "the user of this kubeconfig may not list them, so it is not known which exist"
	case text == "":
		result, text = cloud.CheckOK, "the API server keeps cluster DNS on Linux, and selects Linux in new and changed templates "+
			"that select nothing, and tolerate every taint or are in kube-system"
	}
	return entry("policies", result, text)
}

// lack lists what the policies do not do, and why.
func (p Policies) lack() string {
	const absent = "the manager writes them before the first Windows machine of the Cluster, unless the Cluster has the " +
		"annotation capwin.io/linux-policy: off or warn"
	keeps := "the API server keeps cluster DNS on Linux; "
	if !p.Tried {
		keeps = "the policies exist; whether they act was not tried, because the dry run needs the right to create configmaps in " +
			"kube-system; "
	}
	switch {
	case !p.ServesValidating:
		return "the API server has no policies that keep pods on Linux, which come with Kubernetes 1.30: what is wrong is reported, " +
			"and not prevented"
	case !p.contains(policies.Validating()):
		return "not all policies that keep pods on Linux exist: " + absent
	case p.Tried && !p.Refuses:
		return "the policies exist, but the API server does not enforce them, as a dry run shows: its admission plug-in " +
			"ValidatingAdmissionPolicy is switched off, or they are not as the manager writes them"
	case !p.ServesMutating:
		return keeps + "of other pods for Windows Nodes it can only warn, as it has no policies that change workloads, which " +
			"come with Kubernetes 1.36"
	case !p.contains(policies.Mutating()):
		return keeps + "the policy that selects Linux in the templates of workloads does not exist: " + absent
	case p.Tried && !p.Changes:
		return keeps + "the policy that selects Linux in the templates of workloads exists, but the API server does not enforce it, " +
			"as a dry run shows: its feature gate or its admission plug-in MutatingAdmissionPolicy is switched off, or it is not as the " +
			"manager writes it"
	case !p.Tried:
		return strings.TrimSuffix(keeps, "; ")
	}
	return ""
}

// mayMutate reports whether the policy that changes workloads is there or can come: the API server has the kind, and nothing
// shows that it does not obey it.
func (c *Cluster) mayMutate() bool {
	return c.Policies.ServesMutating && (c.Policies.Changes || !c.Policies.Tried || !c.Policies.contains(policies.Mutating()))
}

// ofPlan lists what the policy changes, or will change once it exists.
func (c *Cluster) ofPlan(workloads []string) report.Entry {
	result, text := cloud.CheckOK, placement.Planned(workloads)
	if text != "" && !c.Mutates {
		result = cloud.CheckWarning
	}
	return entry("next changes", result, cmp.Or(text, "the policy has nothing to change in the existing workloads"))
}

const kubeProxy = "kube-proxy"

// ofCluster is about kube-proxy and cluster DNS.
func (c *Cluster) ofCluster() (entries []report.Entry) {
	proxied := len(c.Kubelets) == 0
	for _, f := range c.OfCluster() {
		result := cloud.CheckWarning
		if f.Problem != "" && f.Problem != placement.DNSNotKept {
			result = cloud.CheckFailed
		}
		check, _, _ := strings.Cut(f.Of, ":")
		proxied = proxied || check == kubeProxy
		entries = append(entries, entry(check, result, f.Why, report.Command{Purpose: mends, Run: f.Mend}))
	}
	if !proxied {
		entries = append(entries, entry(kubeProxy, cloud.CheckOK,
			"each Windows Node has what its config requires, of a version that fits the API server"))
	}
	return entries
}

const mends = "this mends it"

func (c *Cluster) ofWorkload(f placement.Finding, w placement.Workload) report.Entry {
	result := cloud.CheckOK
	switch {
	case f.Problem != "":
		result = cloud.CheckFailed
	case f.Pending:
		result = cloud.CheckWarning
	}
	_, text, _ := strings.Cut(f.Why, f.Of+" ")
	text = cmp.Or(text, f.Why)
	if c.mayMutate() && c.GetsLinux(w) && (f.Verdict != placement.Lands || !c.Mutates) { // else the finding has it
		text += "; the policy selects Linux for it when its template changes next"
	}
	return entry(f.Of, result, text, report.Command{Purpose: mends, Run: f.Mend},
		report.Command{Purpose: "or, if its pods run on both systems", Run: f.Allow})
}
