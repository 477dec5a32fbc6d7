package placement_test

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/repo/templates"
)

// node makes one of a cluster from its taint, such as os=windows:NoSchedule, and labels.
func node(name, taint string, labels map[string]string) placement.Node {
	n := placement.Node{Name: name, Labels: map[string]string{
		corev1.LabelOSStable: "windows", "beta.kubernetes.io/os": "windows",
		corev1.LabelArchStable: "amd64", corev1.LabelHostname: name,
		corev1.LabelWindowsBuild: "10.0.20348", corev1.LabelTopologyZone: "2",
	}}
	maps.Copy(n.Labels, labels)
	if key, rest, ok := strings.Cut(taint, "="); ok {
		value, effect, _ := strings.Cut(rest, ":")
		n.Taints = []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}}
	}
	return n
}

// What the random templates have, too.
var (
	classes    = templates.Classes
	linuxNodes = templates.LinuxNodes
)

const osTaint = "os=windows:NoSchedule"

// tainted and open are clusters with one Windows Node.
var (
	tainted = placement.Cluster{
		Windows: []placement.Node{node("win-0", osTaint, map[string]string{"pool": "win", "disk": "ssd"})},
		Linux:   linuxNodes, RuntimeClasses: classes,
	}
	open = placement.Cluster{
		Windows: []placement.Node{node("win-0", "", map[string]string{"pool": "a"})}, Linux: linuxNodes, RuntimeClasses: classes,
	}
)

func workload(t *testing.T, kind, spec string) placement.Workload {
	t.Helper()
	w := placement.Workload{Kind: kind, Namespace: "team", Name: "app"}
	expect.OK(t, yaml.UnmarshalStrict([]byte(spec), &w.Template.Spec))
	return w
}

// world is a cluster with its workloads.
type world struct {
	placement.Seen

	workloads []placement.Workload
}

// findings are the verdicts on all workloads, in their order, and then those on the cluster.
func (w world) findings() (all []placement.Finding) {
	for _, one := range w.workloads {
		all = append(all, w.Take(one))
	}
	return append(all, w.OfCluster()...)
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, spec, kind string
		cluster          placement.Cluster
		want             placement.Verdict
		says             string
	}{
		{
			"says nothing, with the taint", ``, "", tainted, placement.StaysAway,
			"stays away from Windows Nodes: nothing but the taint os=windows:NoSchedule keeps its pods off",
		},
		{
			"says nothing, without a taint", ``, "", open, placement.Lands,
			"win-0 has no taint that keeps pods off, and it selects no operating system; add the nodeSelector kubernetes.io/os: linux",
		},
		{
			"tolerates everything", `tolerations: [{operator: Exists}]`, "DaemonSet", tainted, placement.Lands,
			"DaemonSet team/app may run on Windows (win-0): its toleration of every taint passes the taint os=windows:NoSchedule",
		},
		{
			"tolerates NoSchedule", `tolerations: [{operator: Exists, effect: NoSchedule}]`, "", tainted, placement.Lands,
			"its toleration of every NoSchedule taint passes",
		},
		{
			"tolerates NoExecute only", `tolerations: [{operator: Exists, effect: NoExecute}]`, "", tainted,
			placement.StaysAway, "os=windows",
		},
		{
			"a toleration is no sign", `tolerations: [{key: os, value: windows}]`, "", tainted, placement.Lands,
			"its toleration of os=windows passes",
		},
		{
			"selects Linux", `{nodeSelector: {kubernetes.io/os: linux}, tolerations: [{operator: Exists}]}`, "", tainted,
			placement.StaysAway, "stays away from Windows Nodes: it selects kubernetes.io/os=linux",
		},
		{
			"selects Linux by affinity", affinity(`{key: kubernetes.io/os, operator: In, values: [linux]}`), "", open,
			placement.StaysAway, "it selects kubernetes.io/os=linux",
		},
		{
			"selects Windows and tolerates", `{nodeSelector: {kubernetes.io/os: windows}, tolerations: [{key: os, operator: Exists}]}`, "",
			tainted,
			placement.ForWindows, "is for Windows: it selects kubernetes.io/os=windows",
		},
		{
			"selects Windows and tolerates nothing", `nodeSelector: {kubernetes.io/os: windows}`, "", tainted, placement.StaysAway,
			"is for Windows (it selects kubernetes.io/os=windows), but no Windows Node takes its pods: they do not tolerate the taint " +
				"os=windows:NoSchedule of win-0",
		},
		{
			"selects the deprecated label", `nodeSelector: {beta.kubernetes.io/os: windows}`, "", open,
			placement.ForWindows, "beta.kubernetes.io/os=windows",
		},
		{
			"selects a build", `nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}`, "", open,
			placement.ForWindows, "windows-build",
		},
		{
			"selects another build", `nodeSelector: {node.kubernetes.io/windows-build: 10.0.17763}`, "", open,
			placement.StaysAway, "windows-build",
		},
		{
			"names both systems", affinity(`{key: kubernetes.io/os, operator: In, values: [linux, windows]}`), "", open,
			placement.ForWindows,
			"it selects kubernetes.io/os In (linux, windows)",
		},
		{
			"leaves out Linux", affinity(`{key: kubernetes.io/os, operator: NotIn, values: [linux]}`), "", open,
			placement.ForWindows, "NotIn",
		},
		{
			"leaves out another system", affinity(`{key: kubernetes.io/os, operator: NotIn, values: [darwin]}`), "", open, placement.Lands,
			"Windows Nodes, too, have what it selects (kubernetes.io/os NotIn (darwin))",
		},
		{
			"wants any system", affinity(`{key: kubernetes.io/os, operator: Exists}`), "", open,
			placement.Lands, "kubernetes.io/os Exists",
		},
		{"says so by a term for others", affinity(`{key: gpu, operator: Exists}], matchFields: []}, {matchExpressions: [{key: pool, ` +
			`operator: In, values: [a]}`), "", open, placement.Lands, "pool=a"},
		{"selects a pool of both", `nodeSelector: {pool: a}`, "", open, placement.Lands, "what it selects (pool=a)"},
		{
			"selects a pool of Windows only", `{nodeSelector: {pool: win}, tolerations: [{operator: Exists}]}`, "", tainted,
			placement.ForWindows, "it selects pool=win",
		},
		{
			"selects a pool, and no Linux Node is known", `nodeSelector: {pool: a}`, "",
			placement.Cluster{Windows: open.Windows},
			placement.Lands, "pool=a",
		},
		{
			"leaves out Linux, and no Linux Node is known", affinity(`{key: kubernetes.io/os, operator: NotIn, values: [linux]}`), "",
			placement.Cluster{Windows: open.Windows},
			placement.ForWindows, "NotIn",
		},
		{
			"selects a build, and no Linux Node is known", `nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}`, "",
			placement.Cluster{Windows: open.Windows},
			placement.ForWindows, "it selects node.kubernetes.io/windows-build=10.0.20348",
		},
		{
			"leaves out a build, and no Linux Node is known",
			affinity(`{key: node.kubernetes.io/windows-build, operator: NotIn, values: [10.0.17763]}`), "",
			placement.Cluster{Windows: open.Windows},
			placement.Lands, "NotIn",
		},
		{
			"selects a zone where only Windows is", `nodeSelector: {topology.kubernetes.io/zone: "2"}`, "", open,
			placement.Lands, "zone=2",
		},
		{
			"selects what Linux Nodes have, but none has all of it", `nodeSelector: {pool: a, disk: ssd}`, "", placement.Cluster{
				Windows: []placement.Node{node("win-0", "", map[string]string{"pool": "a", "disk": "ssd"})},
				Linux: []placement.Node{
					{Name: "linux-0", Labels: map[string]string{"pool": "a"}}, {Name: "linux-1", Labels: map[string]string{"disk": "ssd"}},
				},
			}, placement.ForWindows, "it selects disk=ssd, pool=a, which no Linux Node has",
		},
		{"selects the Node", `nodeSelector: {kubernetes.io/hostname: win-0}`, "", open, placement.ForWindows, "hostname=win-0"},
		{"spec.os is windows", `os: {name: windows}`, "", open, placement.ForWindows, "spec.os.name is windows"},
		{
			"spec.os is linux", `{os: {name: linux}, tolerations: [{operator: Exists}]}`, "", tainted, placement.Lands,
			"spec.os.name: linux does not keep them off, as the scheduler does not look at it",
		},
		{
			"has windowsOptions", `securityContext: {windowsOptions: {runAsUserName: ContainerUser}}`, "", open,
			placement.ForWindows, "windowsOptions",
		},
		{
			"has windowsOptions of a container", `containers: [{name: a, securityContext: {windowsOptions: {hostProcess: true}}}]`, "",
			open,
			placement.ForWindows, "windowsOptions",
		},
		{
			"has a RuntimeClass for Windows", `runtimeClassName: windows`, "", tainted,
			placement.ForWindows, "it selects kubernetes.io/os=windows",
		},
		{"has a RuntimeClass for Linux", `runtimeClassName: linux`, "", open, placement.StaysAway, "it selects kubernetes.io/os=linux"},
		{"has a RuntimeClass that tolerates", `runtimeClassName: tolerant`, "", tainted, placement.Lands, "every taint"},
		{
			"a DaemonSet tolerates nothing by its RuntimeClass", `runtimeClassName: windows`, "DaemonSet", tainted, placement.StaysAway,
			"is for Windows (it selects kubernetes.io/os=windows), but no Windows Node takes its pods",
		},
		{
			"a DaemonSet's RuntimeClass does not keep off who has a name", `{nodeName: win-0, runtimeClassName: linux}`, "DaemonSet",
			open, placement.Lands, "spec.nodeName binds its pods to win-0",
		},
		{
			"has a RuntimeClass that is not there", `runtimeClassName: gone`, "", open,
			placement.StaysAway, "there is no RuntimeClass gone",
		},
		{
			"contradicts its RuntimeClass", `{runtimeClassName: windows, nodeSelector: {kubernetes.io/os: linux}}`, "", open,
			placement.StaysAway,
			"the nodeSelector has kubernetes.io/os=linux and RuntimeClass windows has kubernetes.io/os=windows",
		},
		{"names the Node", `nodeName: win-0`, "", tainted, placement.ForWindows, "spec.nodeName is win-0"},
		{
			"names the Node and selects Linux", `{nodeName: win-0, nodeSelector: {kubernetes.io/os: linux}}`, "", tainted, placement.Lands,
			"spec.nodeName binds its pods to win-0, and the scheduler does not check whether the Node has what they select; " +
				"add the nodeSelector kubernetes.io/os: linux to its pod template, and remove spec.nodeName",
		},
		{
			"names the Node and Windows, and selects what the Node has not",
			`{nodeName: win-0, nodeSelector: {kubernetes.io/os: windows, gpu: a}}`, "", tainted, placement.ForWindows,
			"it selects kubernetes.io/os=windows",
		},
		{
			"names another Node", `{nodeName: linux-0, tolerations: [{operator: Exists}]}`, "", tainted,
			placement.StaysAway, "spec.nodeName is linux-0",
		},
		{
			"a DaemonSet with a name is kept off by taints", `nodeName: win-0`, "DaemonSet", tainted,
			placement.StaysAway, "os=windows:NoSchedule",
		},
		{
			"a DaemonSet with a name is kept off by what it selects", `{nodeName: win-0, nodeSelector: {gpu: a}}`, "DaemonSet", open,
			placement.StaysAway, "it selects gpu=a",
		},
		{"no Windows Node", `tolerations: [{operator: Exists}]`, "", placement.Cluster{}, placement.StaysAway, "there are none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := c.kind
			if kind == "" {
				kind = "Deployment"
			}
			got := c.cluster.Judge(workload(t, kind, c.spec))
			if got.Verdict != c.want || !strings.Contains(got.Why, c.says) {
				t.Errorf("%s, %s, want %s, ...%s...", got.Verdict, got.Why, c.want, c.says)
			}
			if want := got.Verdict != placement.StaysAway; (len(got.Nodes) > 0) != want {
				t.Errorf("%s on %v", got.Verdict, got.Nodes)
			}
		})
	}
}

func affinity(expressions string) string {
	return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [" +
		expressions + "]}]}}}"
}

// A workload that says that it runs on both systems is for Windows, and one that says something else is not.
func TestRunsOnBoth(t *testing.T) {
	w := workload(t, "DaemonSet", `tolerations: [{operator: Exists}]`)
	w.Annotations = map[string]string{placement.RunsOnAnnotation: placement.RunsOnBoth}
	expect.Same(t, "both", placement.ForWindows, tainted.Judge(w).Verdict)
	w.Annotations[placement.RunsOnAnnotation] = "linux"
	expect.Same(t, "linux", placement.Lands, tainted.Judge(w).Verdict)
	w.Annotations[placement.RunsOnAnnotation], w.Template.Spec.OS = placement.RunsOnBoth, &corev1.PodOS{Name: corev1.Linux}
	expect.Same(t, "pods for Linux", placement.Lands, tainted.Judge(w).Verdict)
	expect.Same(t, "a command that would change nothing", "", tainted.Judge(w).Allow)
}

// One Node is enough to land, and only such Nodes are named.
func TestNodesOfAFinding(t *testing.T) {
	c := tainted
	c.Windows = []placement.Node{
		node("win-4", "", nil), node("win-0", osTaint, nil), node("win-3", "", nil), node("win-2", "", nil), node("win-1", "", nil),
	}
	got := c.Judge(workload(t, "Deployment", ``))
	expect.Same(t, "Nodes", []string{"win-1", "win-2", "win-3", "win-4"}, got.Nodes)
	if !strings.Contains(got.Why, "(win-1, win-2, win-3 and 1 more): win-1 has no taint") {
		t.Error(got.Why)
	}
	// It selects one Node by a label of Windows, and comes to another by one that any Node may have.
	got = c.Judge(workload(t, "Deployment", affinity(`{key: kubernetes.io/hostname, operator: In, values: [win-1]}]}, `+
		`{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64]}`)))
	expect.Same(t, "verdict", placement.Lands, got.Verdict)
	expect.Same(t, "Nodes", []string{"win-2", "win-3", "win-4"}, got.Nodes)
}

// What comes and goes by itself keeps nobody off: cordons, a full disk, a Node that has not joined yet.
func TestPassingTaints(t *testing.T) {
	for _, key := range []string{
		"node.kubernetes.io/unschedulable", "node.kubernetes.io/disk-pressure", "node.cloudprovider.kubernetes.io/uninitialized",
		"node.cluster.x-k8s.io/uninitialized",
	} {
		c := open
		c.Windows = []placement.Node{node("win-0", key+"=:NoSchedule", nil)}
		expect.Same(t, key, placement.Lands, c.Judge(workload(t, "Deployment", ``)).Verdict)
	}
	c := open
	c.Windows = []placement.Node{node("win-0", "os=windows:PreferNoSchedule", nil)}
	expect.Same(t, "a preference", placement.Lands, c.Judge(workload(t, "Deployment", ``)).Verdict)
}
