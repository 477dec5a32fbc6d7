package placement

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// Problem says what is wrong.
type Problem string

// The problems.
const (
	// PodsLand: pods of a workload may be bound to Windows Nodes, and nothing says that they can run there.
	PodsLand Problem = "PodsLand"
	// DNSNotKept: no policy keeps cluster DNS on Linux, because it is not where the policies look for it.
	DNSNotKept Problem = "DNSNotKept"
	// KubeProxyMissing: a Windows Node that is to have a kube-proxy has none.
	KubeProxyMissing Problem = "KubeProxyMissing"
	// KubeProxyTwice: a Windows Node has two, each of which removes the other's load balancers.
	KubeProxyTwice Problem = "KubeProxyTwice"
	// KubeProxyTooNew: a kube-proxy is newer than the API server.
	KubeProxyTooNew Problem = "KubeProxyTooNew"
	// KubeProxyTooOld: a kube-proxy is more than three minor versions older than the API server.
	KubeProxyTooOld Problem = "KubeProxyTooOld"
	// FirstWriteRolls: the policy of the cluster changes workloads that were there before it when somebody writes them. That is
	// told beforehand, and no pod is where it cannot run.
	FirstWriteRolls Problem = "FirstWriteRolls"
	// PoliciesIncomplete: the policies that keep pods on Linux are not all there, or do not act. Who keeps them says so.
	PoliciesIncomplete Problem = "PoliciesIncomplete"
)

// Problems are all there are.
func Problems() []Problem {
	return []Problem{
		PodsLand, DNSNotKept, KubeProxyMissing, KubeProxyTwice, KubeProxyTooNew, KubeProxyTooOld, FirstWriteRolls,
		PoliciesIncomplete,
	}
}

// Seen is what is known of a cluster.
type Seen struct {
	Cluster

	// Workloads are all Deployments, DaemonSets and StatefulSets. Of their containers, those of kube-proxy must be there.
	Workloads []Workload
	// DNS is the selector of the Service kube-system/kube-dns; nil if there is no such Service.
	DNS map[string]string
	// Kubelets have the version of the kubelet of each Windows Node that is there, by the Node's name.
	Kubelets map[string]string
	// ProxyRuns say who is to run kube-proxy on a Windows Node, by the Node's name. Those of which no config is known are not in it.
	ProxyRuns map[string]bootstrapv1.KubeProxyRun
	// Version is that of the API server, such as v1.36.3. If it is empty, nobody is told of versions.
	Version string
	// Mutates says that the cluster's API server writes the Linux selection into templates, by our policy, at each write to them.
	Mutates bool
	// Spared are workloads that it leaves alone, as they had Ready pods on Windows Nodes before it was there; each as String has it.
	Spared map[string]bool
}

// Findings are the verdicts on all workloads, in their order, and then what is wrong with cluster DNS and with kube-proxy, and
// which workloads the policy will change.
func (s Seen) Findings() (all []Finding) {
	var rolled []string
	for _, w := range s.Workloads {
		all = append(all, s.judge(w))
		if s.Mutates && s.Rolls(w) {
			rolled = append(rolled, w.String())
		}
	}
	return append(append(all, s.ofCluster()...), FirstWrites(rolled)...)
}

// Rolls says whether the mutating policy, if it is there, changes the workload at the next write to it, and so rolls its pods.
func (s Seen) Rolls(w Workload) bool { return s.Mutable(w) && !s.Spared[w.String()] }

// FirstWrites tells beforehand what the policy does at the first writes to these workloads.
func FirstWrites(workloads []string) []Finding {
	if len(workloads) == 0 {
		return nil
	}
	const of = "first writes"
	return []Finding{{
		Of: of, Problem: FirstWriteRolls,
		Why: fmt.Sprintf("%s to %d workloads that name no system (%s): the policy adds the nodeSelector %s: %s to the template of "+
			"each at its next write, also of a label, which rolls its pods once; the annotation %s: %s on a workload postpones that, and "+
			"clusterctl windows check linux lists them all",
			of, len(workloads), list(workloads), corev1.LabelOSStable, linux, RunsOnAnnotation, RunsOnBoth),
	}}
}

func (s Seen) judge(w Workload) Finding {
	finding := s.Judge(w)
	switch {
	case s.Spared[w.String()]:
		finding.Why += "; the policy leaves it alone, because it had Ready pods on Windows Nodes before the policy was there"
	case finding.Verdict == Lands && s.Mutates && s.Mutable(w):
		if finding.Again = w.kubectl("label", "--overwrite "+againLabel); finding.Again != "" {
			finding.Why += "; or let the policy add it at the next write, also of a label, which rolls its pods once"
		}
	}
	return finding
}

func (s Seen) ofCluster() []Finding { return append(s.ofDNS(), s.ofProxies()...) }

// againLabel is a label that means nothing: what counts is that the workload is written.
const againLabel = "capwin.io/seen=true"
