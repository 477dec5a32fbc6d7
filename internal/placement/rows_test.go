package placement_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// published is a row of what test/repo/workloads has read.
type published struct {
	Kind, Namespace, Name string
	Spec                  corev1.PodSpec
	Sources               []string
}

func (p published) workload() placement.Workload {
	return placement.Workload{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, Template: corev1.PodTemplateSpec{Spec: p.Spec}}
}

func readPublished(t *testing.T) []published {
	t.Helper()
	var all []published
	expect.OK(t, json.Unmarshal(expect.Got(os.ReadFile("testdata/workloads.json"))(t), &all))
	return all
}

// both are verdicts where the Windows Nodes have the default taint, and where they have none.
type both struct{ tainted, open placement.Verdict }

var (
	never  = both{placement.StaysAway, placement.StaysAway}
	always = both{placement.Lands, placement.Lands}
	meant  = both{placement.ForWindows, placement.ForWindows}
	// careless workloads are kept off by nothing but the taint.
	careless = both{placement.StaysAway, placement.Lands}
	// pending ones are for Windows, and their pods stay Pending where there is the taint.
	pending = both{placement.StaysAway, placement.ForWindows}
)

// judged has each workload of testdata/workloads.json.
var judged = map[string]both{
	"kube-system/coredns":                          never,
	"kube-system/kube-proxy":                       never,
	"kube-system/kube-dns-autoscaler":              never,
	"kube-system/node-local-dns":                   always,
	"kube-system/kube-multus-ds":                   always,
	"kube-system/metrics-server-v0.8.0":            never,
	"kube-system/metrics-server":                   never,
	"kube-system/node-problem-detector":            always,
	"kube-system/vsphere-cpi":                      never,
	"kube-system/vsphere-cloud-controller-manager": never,
	"kube-flannel/kube-flannel-ds":                 never,
	"kube-system/calico-node":                      never,
	"kube-system/calico-kube-controllers":          never,
	"vmware-system-csi/vsphere-csi-controller":     never,
	"vmware-system-csi/vsphere-csi-node":           never,
	"vmware-system-csi/vsphere-csi-node-windows":   meant,
	"kube-system/kube-proxy-windows":               meant,
	"kube-system/csi-proxy":                        pending,
	"kube-system/containerd-logger":                meant,
}

// TestPublishedThatChange: the policy changes exactly what lands in spite of the taint.
func TestPublishedThatChange(t *testing.T) {
	var changed []string
	for _, p := range readPublished(t) {
		name := p.Namespace + "/" + p.Name
		expect.Same(t, name+" gets Linux", judged[name] == always, tainted.GetsLinux(p.workload()))
		if tainted.GetsLinux(p.workload()) {
			changed = append(changed, p.Name)
		}
	}
	slices.Sort(changed)
	want := []string{"kube-multus-ds", "node-local-dns", "node-problem-detector"}
	expect.Same(t, "those that change", want, slices.Compact(changed))
}

func TestPublishedWorkloads(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range readPublished(t) {
		name := p.Namespace + "/" + p.Name
		want, known := judged[name]
		if seen[name] = true; !known {
			t.Errorf("no verdict is written down for %s of %s", name, p.Sources[0])
			continue
		}
		checkBoth(t, p.workload(), want)
	}
	for name := range judged {
		if !seen[name] {
			t.Errorf("nothing publishes %s any more", name)
		}
	}
	t.Logf("%d workloads as they are published", len(seen))
}

func checkBoth(t *testing.T, w placement.Workload, want both) {
	t.Helper()
	for name, one := range map[string]struct {
		cluster placement.Cluster
		want    placement.Verdict
	}{"with the taint": {tainted, want.tainted}, "without a taint": {open, want.open}} {
		if got := one.cluster.Judge(w); got.Verdict != one.want {
			t.Errorf("%s %s: %s, want %s: %s", w, name, got.Verdict, one.want, got.Why)
		}
	}
}

// kubeadm of each minor version from 1.30 to 1.37 is among them.
func TestMinorVersionsOfKubeadm(t *testing.T) {
	minor := regexp.MustCompile(`^k8s\.io/kubernetes@v1\.(\d+)\.`)
	for _, name := range []string{"coredns", "kube-proxy", "node-local-dns"} {
		var minors []string
		for _, p := range readPublished(t) {
			for _, source := range p.Sources {
				if found := minor.FindStringSubmatch(source); p.Name == name && found != nil {
					minors = append(minors, found[1])
				}
			}
		}
		slices.Sort(minors)
		expect.Same(t, name, "30 31 32 33 34 35 36 37", strings.Join(minors, " "))
	}
}

// agents are workloads that came to Windows Nodes, or might have, by the reports of their users; and how they were mended.
var agents = []struct {
	name, kind, spec, source string
	want                     both
}{
	{
		"kubernetes-agent-logs", "DaemonSet", `tolerations: [{operator: Exists}]`,
		"github.com/OneUptime/oneuptime@11a90ec6 HelmChart/Public/kubernetes-agent/templates/daemonset.yaml, pull request 3041",
		always,
	},
	{"kubernetes-agent", "Deployment", ``, "github.com/OneUptime/oneuptime, pull request 3057: the chart's Deployments", careless},
	{
		"kubernetes-agent-logs", "DaemonSet", `{tolerations: [{operator: Exists}], nodeSelector: {kubernetes.io/os: linux}}`,
		"github.com/OneUptime/oneuptime, pull request 3057, as mended", never,
	},
	{"elastic-operator", "StatefulSet", ``, "github.com/elastic/cloud-on-k8s, issue 2447", careless},
	{
		"node-exporter", "DaemonSet", `{tolerations: [{effect: NoSchedule, operator: Exists}], hostNetwork: true}`,
		"github.com/prometheus-community/helm-charts, pull request 3190", always,
	},
	{
		"cilium", "DaemonSet", `{tolerations: [{operator: Exists}], hostNetwork: true}`,
		"github.com/cilium/cilium, issue 14410", always,
	},
	{"cluster-autoscaler", "Deployment", ``, "github.com/kubernetes/autoscaler, issue 3496", careless},
	{
		"rke2-coredns-autoscaler", "Deployment", `tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, ` +
			`effect: NoSchedule}, {key: node-role.kubernetes.io/etcd, operator: Exists, effect: NoExecute}]`,
		"github.com/rancher/rke2, issue 1665", careless,
	},
	{"daemonset-check", "DaemonSet", ``, "github.com/kuberhealthy/kuberhealthy, issue 546", careless},
	{"fluent-bit", "DaemonSet", `{}`, "github.com/fluent/helm-charts, charts/fluent-bit, with its default values", careless},
	{
		"calico-node", "DaemonSet", `{tolerations: [{operator: Exists, effect: NoSchedule}, ` +
			`{key: CriticalAddonsOnly, operator: Exists}, ` +
			`{operator: Exists, effect: NoExecute}], nodeSelector: {kubernetes.io/os: linux}, hostNetwork: true}`,
		"github.com/tigera/operator@03e702b pkg/render/node.go", never,
	},
	// AKS and Datadog's operator know another taint than ours: the pods are for Windows, and stay Pending.
	{
		"datadog-agent-windows", "DaemonSet", `{nodeSelector: {kubernetes.io/os: windows}, ` +
			`tolerations: [{key: node.kubernetes.io/os, value: windows, effect: NoSchedule}]}`,
		"github.com/DataDog/datadog-operator, pull request 3154", pending,
	},
}

func TestAgents(t *testing.T) {
	for _, agent := range agents {
		w := workload(t, agent.kind, agent.spec)
		w.Name = agent.name
		checkBoth(t, w, agent.want)
		if agent.source == "" {
			t.Errorf("%s has no source", agent.name)
		}
	}
	t.Logf("%d agents by the reports of their users", len(agents))
}
