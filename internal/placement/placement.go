// Package placement decides whether the pods of a workload may be bound to Windows Nodes, and whether they are declared to be
// for Windows. It is pure, and decides by the scheduler's own code (k8s.io/component-helpers): a test gives the same templates
// to a real kube-scheduler.
//
// Seen judges workloads that come one after the other, and adds what is wrong with kube-proxy and with cluster DNS.
//
// The question is whether a pod may ever be bound to the Node, not whether it would be now. So these count: spec.nodeName, the
// nodeSelector, required node affinity, tolerations, and what a RuntimeClass adds to them; the Node's name, labels and taints.
// These do not: requests, host ports, volumes, other pods, cordons, and the taints that Kubernetes, cloud providers and Cluster
// API put on Nodes for a while (passing). For that reason nothing depends on the tolerations that the DaemonSet controller adds
// to its pods: all are for such taints. spec.os counts as a declaration, not for where a pod goes: the scheduler does not look
// at it.
package placement

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
)

// Verdict is where the pods of a workload may go.
type Verdict string

// The verdicts.
const (
	// StaysAway: no Windows Node may get a pod. A workload for Windows whose pods stay Pending stays away, too.
	StaysAway Verdict = "StaysAway"
	// ForWindows: pods may be bound to Windows Nodes, and the workload declares that this is meant.
	ForWindows Verdict = "ForWindows"
	// Lands: pods may be bound to a Windows Node, and there is no sign that they can run there.
	Lands Verdict = "Lands"
)

// RunsOnAnnotation of a workload with the value RunsOnBoth declares that its pods run on Linux and Windows.
const (
	RunsOnAnnotation = "capwin.io/runs-on"
	RunsOnBoth       = "both"
)

// Workload is a Deployment, DaemonSet or StatefulSet: its kind, its metadata, and the template of its pods.
type Workload struct {
	Kind, Namespace, Name string
	Annotations           map[string]string
	Template              corev1.PodTemplateSpec
}

// Cluster is where the pods go.
type Cluster struct {
	// Windows are the Windows Nodes, each once.
	Windows []Node
	// Linux are the other Nodes. A pod that selects a label which none of them has is for Windows. If the list is empty, only the
	// labels of the operating system show that.
	Linux []Node
	// RuntimeClasses are all of the cluster.
	RuntimeClasses []nodev1.RuntimeClass
	// Selectors are what namespaces select for each of their pods, by the namespace: see SelectorOf.
	Selectors map[string]map[string]string
}

// Finding is the verdict on a workload, or on something else of a cluster, and the sentences for people.
type Finding struct {
	// Of is what the finding is about, such as DaemonSet kube-system/kube-proxy.
	Of string
	// Verdict is empty if it is not about a workload.
	Verdict Verdict
	// Problem is empty if nothing is wrong.
	Problem Problem
	// Nodes are the Windows Nodes that may get pods; if it Lands, those for which nothing shows that this is meant. They are the
	// first of them, by name, as each of many workloads may come to each of many Nodes.
	Nodes []string
	// Why is a sentence that begins with what the finding is about. Texts of a cluster stand in it as Named has them.
	Why string
	// Pending: the workload is for Windows, and stays away because its pods lack a toleration.
	Pending bool
	// Mend is the kubectl command after which pods that land stay away, and after which the policies know cluster DNS. It is empty
	// if there is nothing to mend, or no command that does.
	Mend string
	// Allow is the command that makes a workload that lands one for both systems.
	Allow string
}

// Judge decides for one workload.
func (c Cluster) Judge(w Workload) Finding {
	finding, _ := c.judge(w)
	return finding
}

// judge returns as well the Windows Nodes to which pods may come and are meant to.
func (c Cluster) judge(w Workload) (finding Finding, meant []reason) {
	p, refused := c.podOf(w)
	if refused != "" {
		return w.staysAway(refused), nil
	}
	found := map[Verdict][]reason{}
	for i := range c.Windows {
		r := p.decide(&c.Windows[i])
		found[r.verdict] = append(found[r.verdict], r)
	}
	for _, reasons := range found { // a sentence is the same in whatever order the Nodes come
		slices.SortFunc(reasons, func(a, b reason) int { return strings.Compare(a.node.Name, b.node.Name) })
	}
	switch meant = found[ForWindows]; {
	case len(found[Lands]) > 0:
		return p.landing(found[Lands]), meant
	case len(meant) > 0:
		return Finding{
			Of: w.String(), Verdict: ForWindows, Nodes: names(meant), Why: w.String() + " is for Windows: " + meant[0].sign,
		}, meant
	}
	return p.stayingAway(found[StaysAway]), nil
}

// reason is what decides at a Node.
type reason struct {
	node    *Node
	verdict Verdict
	// sign is what shows that the workload is for Windows. It is empty without such a sign, and where it comes to no such Node
	// anyway.
	sign string
	// taint is what keeps pods off that select the Node.
	taint *corev1.Taint
}

// mostNodes are named by a finding.
const mostNodes = 20

// names are those of the first Nodes, for sentences.
func names(reasons []reason) (nodeNames []string) {
	for _, r := range reasons[:min(len(reasons), mostNodes)] {
		nodeNames = append(nodeNames, Named(r.node.Name))
	}
	return nodeNames
}

// String is what people call it: DaemonSet kube-system/kube-proxy. It is safe in a sentence, whatever the workload contains.
func (w Workload) String() string {
	return Named(w.Kind) + " " + Named(cmp.Or(w.Namespace, "default")) + "/" + Named(w.Name)
}
