// Package linux says of a workload cluster whether its pods stay where they can run: all verdicts of internal/placement, what
// is wrong with kube-proxy and cluster DNS, and what the policies of this cluster do about it. It is pure:
// internal/plugin/management reads the cluster.
package linux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/report"
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
	// Hidden says that this user may not see them.
	Hidden bool
	// There are ours that are there, policies and bindings, each with its kind and its name.
	There []string
	// Tried says that dry runs have been answered. Refuses and Changes say what they have shown: that the API server obeys the
	// validating policies, and the mutating one.
	Tried, Refuses, Changes bool
}

// lacks says whether one of the objects is not there.
func (p Policies) lacks(objects []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
		return !slices.Contains(p.There, o.GetKind()+" "+o.GetName())
	})
}

// The minor versions from which on API servers have the kinds.
const (
	validatingFrom = 30
	mutatingFrom   = 36
)

// Report has a finding for the Nodes, the policies, kube-proxy and cluster DNS, then others, and one for each workload, the worst
// first.
func Report(c Cluster, others ...cloud.Finding) *report.FindingList {
	c.assumeWindows()
	c.Mutates = c.mutates()
	found := []entry{c.ofNodes(), c.ofPolicies()}
	var workloads []entry
	for _, w := range c.Workloads {
		workloads = append(workloads, c.ofWorkload(c.Take(w), w))
	}
	proxied := false
	for _, finding := range c.OfCluster() {
		proxied = proxied || strings.HasPrefix(finding.Of, kubeProxy)
		found = append(found, ofCluster(finding))
	}
	if !proxied && len(c.Kubelets) > 0 {
		found = append(found, entry{Finding: cloud.Finding{
			Check: kubeProxy, Result: cloud.CheckOK,
			Text: "each Windows Node has what its config wants, of a version that fits the API server",
		}})
	}
	found = append(found, c.planned()...)
	for _, one := range others {
		found = append(found, entry{Finding: one})
	}
	slices.SortStableFunc(workloads, func(a, b entry) int {
		return cmp.Or(cmp.Compare(severity[a.Result], severity[b.Result]), strings.Compare(a.Check, b.Check))
	})
	return list(append(found, workloads...))
}

const kubeProxy = "kube-proxy"

// severity sorts: what must be done comes first.
var severity = map[cloud.Result]int{cloud.CheckFailed: 0, cloud.CheckWarning: 1, cloud.CheckSkipped: 2, cloud.CheckOK: 3}

// entry is a finding with its commands.
type entry struct {
	cloud.Finding

	commands []report.Command
}

func (e entry) with(purpose, command string) entry {
	e.commands = append(e.commands, report.Command{For: purpose, Run: command})
	return e
}

func list(entries []entry) *report.FindingList {
	found := make([]cloud.Finding, len(entries))
	for i, one := range entries {
		found[i] = one.Finding
	}
	all := report.New(found)
	for i, one := range entries {
		for _, command := range one.commands {
			all.Items[i].Offer(command.For, command.Run)
		}
	}
	return all
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

// mutates says whether the policy is there that changes workloads, and nothing shows that the API server does not obey it.
func (c *Cluster) mutates() bool {
	return !c.Policies.lacks(policies.Mutating()) && (c.Policies.Changes || !c.Policies.Tried)
}

func (c *Cluster) ofNodes() entry {
	text := fmt.Sprintf("%d on Windows, %d on Linux; the API server is %s", len(c.Kubelets), len(c.Linux),
		placement.Named(c.Version))
	if c.Joining > 0 {
		text += fmt.Sprintf("; %d more will join as Windows machines of the Cluster", c.Joining)
	}
	result := cloud.CheckOK
	if c.assumed != nil {
		result = cloud.CheckWarning
		text = fmt.Sprintf("there is none on Windows, so the verdicts are for a first one with the taint %s; the API server is %s",
			c.assumed.ToString(), placement.Named(c.Version))
	}
	if len(c.Refused) > 0 {
		result = cloud.CheckWarning
		text += "; it does not show you " + strings.Join(c.Refused, ", ") + ", which may change verdicts"
	}
	return entry{Finding: cloud.Finding{Check: "Nodes", Result: result, Text: text}}
}

func (c *Cluster) ofPolicies() entry {
	warn := func(text string) entry {
		return entry{Finding: cloud.Finding{Check: "policies", Result: cloud.CheckWarning, Text: text}}
	}
	const absent = "the manager writes them before the first Windows machine of the Cluster, unless the Cluster has the " +
		"annotation capwin.io/linux-policy: off or warn"
	keeps := "the API server keeps cluster DNS on Linux"
	if !c.Policies.Tried {
		keeps = "the policies are there; whether they act was not tried, as that takes the right to create configmaps in " +
			"kube-system, by a dry run"
	}
	switch p := c.Policies; {
	case p.Hidden:
		return entry{Finding: cloud.Finding{
			Check: "policies", Result: cloud.CheckSkipped,
			Text: "the user of this kubeconfig may not list them, so nobody knows which are there",
		}}
	case !p.ServesValidating:
		return warn(fmt.Sprintf("the API server has no policies that keep pods on Linux, which come with Kubernetes 1.%d: what is "+
			"wrong is reported, and not prevented", validatingFrom))
	case p.lacks(policies.Validating()):
		return warn("not all policies that keep pods on Linux are there: " + absent)
	case p.Tried && !p.Refuses:
		return warn("the policies are there, and the API server does not obey them, as a dry run shows: its admission plug-in " +
			"ValidatingAdmissionPolicy is switched off, or they are not as the manager writes them")
	case !p.ServesMutating:
		return warn(fmt.Sprintf("%s; of what else may come to Windows Nodes it can only warn, as it has no policies that change "+
			"workloads, which come with Kubernetes 1.%d", keeps, mutatingFrom))
	case p.lacks(policies.Mutating()):
		return warn(keeps + "; the policy that selects Linux in the templates of workloads is not there: " + absent)
	case p.Tried && !p.Changes:
		return warn(keeps + "; the policy that selects Linux in the templates of workloads is there, and the API server does not " +
			"obey it, as a dry run shows: its feature gate or its admission plug-in MutatingAdmissionPolicy is switched off, or it is " +
			"not as the manager writes it")
	case !p.Tried:
		return warn(keeps)
	}
	return entry{Finding: cloud.Finding{
		Check: "policies", Result: cloud.CheckOK,
		Text: "the API server keeps cluster DNS on Linux, and selects Linux in templates that somebody makes or changes, if they " +
			"select nothing, and tolerate every taint or are in kube-system",
	}}
}

// planned says what the policy changes or, where the API server can get it, will change.
func (c *Cluster) planned() []entry {
	if !c.mayMutate() {
		return nil
	}
	var names []string
	for _, w := range c.Workloads {
		if c.GetsLinux(w) {
			names = append(names, w.String())
		}
	}
	finding := cloud.Finding{
		Check: "next changes", Result: cloud.CheckOK, Text: "the policy has nothing to change in the workloads that are there",
	}
	if text := placement.Planned(names); text != "" {
		finding.Text = text
		if !c.Mutates {
			finding.Result = cloud.CheckWarning
		}
	}
	return []entry{{Finding: finding}}
}

// mayMutate says whether the policy that changes workloads is there or can come: the API server is of this version or a later
// one, has the kind, and nothing shows that it does not obey it.
func (c *Cluster) mayMutate() bool {
	if p := c.Policies; p.Tried && !p.Changes && !p.lacks(policies.Mutating()) {
		return false
	}
	server, err := version.ParseGeneric(c.Version)
	return c.Policies.ServesMutating && err == nil && server.Minor() >= mutatingFrom
}

// ofCluster is what is told of kube-proxy and of cluster DNS.
func ofCluster(f placement.Finding) entry {
	result := cloud.CheckWarning
	if f.Problem != "" && f.Problem != placement.DNSNotKept {
		result = cloud.CheckFailed
	}
	check, _, _ := strings.Cut(f.Of, ":")
	return entry{Finding: cloud.Finding{Check: check, Result: result, Text: f.Why}}.with("this mends it", f.Mend)
}

func (c *Cluster) ofWorkload(f placement.Finding, w placement.Workload) entry {
	result := cloud.CheckOK
	switch {
	case f.Problem != "":
		result = cloud.CheckFailed
	case f.Pending:
		result = cloud.CheckWarning
	}
	_, text, _ := strings.Cut(f.Why, f.Of+" ")
	e := entry{Finding: cloud.Finding{Check: f.Of, Result: result, Text: cmp.Or(text, f.Why)}}.
		with("this mends it", f.Mend).
		with("or, if its pods run on both systems", f.Allow)
	if c.mayMutate() && c.GetsLinux(w) && (f.Verdict != placement.Lands || !c.Mutates) { // else the finding has it
		e.Text += "; the policy selects Linux for it when its template changes next"
	}
	return e
}
