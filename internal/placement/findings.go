package placement

import (
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
	// PoliciesIncomplete: the policies that keep pods on Linux are not all there, or do not act. Who keeps them says so.
	PoliciesIncomplete Problem = "PoliciesIncomplete"
)

// Problems are all there are.
func Problems() []Problem {
	return []Problem{
		PodsLand, DNSNotKept, KubeProxyMissing, KubeProxyTwice, KubeProxyTooNew, KubeProxyTooOld, PoliciesIncomplete,
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
	// Joining is how many Windows machines have no Node yet.
	Joining int
	// Version is that of the API server, such as v1.36.3. If it is empty, nobody is told of versions.
	Version string
	// Mutates says that the cluster's API server writes the Linux selection into templates that change, by our policy.
	Mutates bool
}

// Findings are the verdicts on all workloads, in their order, and then what is wrong with cluster DNS and with kube-proxy.
func (s Seen) Findings() (all []Finding) {
	for _, w := range s.Workloads {
		all = append(all, s.judge(w))
	}
	return append(all, s.ofCluster()...)
}

func (s Seen) judge(w Workload) Finding {
	finding := s.Judge(w)
	if finding.Verdict == Lands && s.Mutates && s.GetsLinux(w) {
		finding.Why += "; the policy adds it when the template changes next"
	}
	return finding
}

func (s Seen) ofCluster() []Finding { return append(s.ofDNS(), s.ofProxies()...) }
