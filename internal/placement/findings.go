package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// Problem is what is wrong.
type Problem string

// The problems.
const (
	// PodsLand: pods of a workload may be bound to Windows Nodes, and there is no sign that they can run there.
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
	// PoliciesIncomplete: the policies that keep pods on Linux are not all there, or do not act. The caller that keeps them reports
	// it.
	PoliciesIncomplete Problem = "PoliciesIncomplete"
)

// Problems are all there are.
func Problems() []Problem {
	return []Problem{
		PodsLand, DNSNotKept, KubeProxyMissing, KubeProxyTwice, KubeProxyTooNew, KubeProxyTooOld, PoliciesIncomplete,
	}
}

// Seen is what is known of a cluster. Take gets its workloads, one after the other; after that, OfCluster has what they mean to
// the cluster.
type Seen struct {
	Cluster

	// DNS is the selector of the Service kube-system/kube-dns; nil if there is no such Service.
	DNS map[string]string
	// Kubelets have the version of the kubelet of each Windows Node that is there, by the Node's name.
	Kubelets map[string]string
	// ProxyRuns are what is to run kube-proxy on a Windows Node, by the Node's name. Nodes whose config is not known are not in it.
	ProxyRuns map[string]bootstrapv1.KubeProxyRun
	// Joining is how many Windows machines have no Node yet.
	Joining int
	// Version is that of the API server, such as v1.36.3. If it is empty, versions are not compared.
	Version string
	// Mutates is true if the cluster's API server writes the Linux selection into templates that change, by our policy.
	Mutates bool

	hasDNS  bool      // a workload has the pods of cluster DNS
	unkept  []Finding // on cluster DNS that no policy knows
	proxies []proxy
}

// Take is the verdict on a Deployment, DaemonSet or StatefulSet. Of its containers, those of kube-proxy must be there.
func (s *Seen) Take(w Workload) Finding {
	finding, meant := s.judge(w)
	if finding.Verdict == Lands && s.Mutates && s.GetsLinux(w) {
		finding.Why += "; the policy adds it when the template changes next"
	}
	s.takeDNS(w)
	s.takeProxy(w, meant)
	return finding
}

// OfCluster are the findings on cluster DNS and on kube-proxy.
func (s *Seen) OfCluster() []Finding { return slices.Concat(s.ofDNS(), s.ofProxies()) }

// GetsLinux is the rule of internal/policies/policies.yaml (needsLinux) once more, for people to read before it acts: the policy
// gives the nodeSelector of Linux to such a template when it changes. A test on real API servers compares the two.
func (c Cluster) GetsLinux(w Workload) bool {
	spec := &w.Template.Spec
	_, ofNamespace := c.Selectors[w.Namespace]
	required := requiredOf(spec)
	switch {
	case w.Namespace != metav1.NamespaceSystem && !slices.ContainsFunc(spec.Tolerations, ofEveryTaint):
		return false
	case ofNamespace, len(spec.NodeSelector) > 0, required != nil && len(required.NodeSelectorTerms) > 0, spec.NodeName != "",
		spec.RuntimeClassName != nil,
		spec.OS != nil && spec.OS.Name == corev1.Windows, hasWindowsOptions(spec):
		return false
	}
	return w.Annotations[RunsOnAnnotation] != RunsOnBoth
}

// ofEveryTaint reports whether it passes the taint of Windows Nodes, whatever that is.
func ofEveryTaint(t corev1.Toleration) bool {
	effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}
	return t.Key == "" && slices.Contains(effects, t.Effect)
}

// Planned is the sentence for workloads that the policy will change, each of which gets Linux. It is empty if there is none.
func Planned(workloads []string) string {
	if len(workloads) == 0 {
		return ""
	}
	return fmt.Sprintf("workloads that select nothing: %d (%s); the policy adds the nodeSelector %s: %s to each when its pod "+
		"template changes next, and restarts no pod before that; to leave a workload as it is, set its annotation %s: %s",
		len(workloads), List(workloads), corev1.LabelOSStable, linux, RunsOnAnnotation, RunsOnBoth)
}

const (
	dnsService = "Service " + metav1.NamespaceSystem + "/kube-dns"
	// dnsLabel is what kubeadm gives the pods of cluster DNS, and what our policies look for.
	dnsLabel, dnsValue = "k8s-app", "kube-dns"
	// mostUnkept are the workloads of cluster DNS that are reported. No cluster has as many.
	mostUnkept = 200
)

// takeDNS notes a workload of cluster DNS. The policies look for Deployments and DaemonSets of kube-system whose pods have the
// label of kubeadm's.
func (s *Seen) takeDNS(w Workload) {
	if w.Namespace != metav1.NamespaceSystem || len(s.DNS) == 0 ||
		!labels.SelectorFromSet(s.DNS).Matches(labels.Set(w.Template.Labels)) {
		return
	}
	s.hasDNS = true
	kept := w.Kind != "StatefulSet" && w.Template.Labels[dnsLabel] == dnsValue
	if kept || len(s.unkept) >= mostUnkept {
		return
	}
	finding := Finding{Of: "cluster DNS " + w.String(), Problem: DNSNotKept, Why: fmt.Sprintf("%s is cluster DNS, and no policy "+
		"refuses an update that removes its Linux selection: the policies look for Deployments and DaemonSets whose pods have the "+
		"label %s: %s; keep kubernetes.io/os=linux in its pod template", w, dnsLabel, dnsValue)}
	if w.Template.Labels[dnsLabel] == "" && w.Kind != "StatefulSet" {
		finding.Mend = w.patch(map[string]any{"metadata": map[string]any{"labels": map[string]string{dnsLabel: dnsValue}}})
	}
	s.unkept = append(s.unkept, finding)
}

func (s *Seen) ofDNS() []Finding {
	problem := " has no selector, so the pods of cluster DNS cannot be found, and nothing keeps them on Linux"
	switch {
	case s.DNS == nil || s.hasDNS:
		return s.unkept
	case len(s.DNS) > 0:
		problem = " selects no Deployment, DaemonSet or StatefulSet of kube-system, so nothing keeps cluster DNS on Linux"
	}
	return []Finding{{
		Of: dnsService, Problem: DNSNotKept, Why: dnsService + problem + "; see to it that its pods select kubernetes.io/os=linux",
	}}
}
