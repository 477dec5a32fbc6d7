package placement_test

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestClusterDNS: DNS that our policies do not look at is told.
func TestClusterDNS(t *testing.T) {
	dns := func(kind, name, label string) placement.Workload {
		w := workload(t, kind, `nodeSelector: {kubernetes.io/os: linux}`)
		w.Namespace, w.Name, w.Template.Labels = "kube-system", name, map[string]string{"dns": "yes"}
		if label != "" {
			w.Template.Labels["k8s-app"] = label
		}
		return w
	}
	elsewhere := dns("Deployment", "coredns", "kube-dns")
	elsewhere.Namespace = "dns"
	for _, c := range []struct {
		name      string
		selector  map[string]string
		workloads []placement.Workload
		want      []string
		mend      string
	}{
		{"none", nil, []placement.Workload{dns("Deployment", "coredns", "")}, nil, ""},
		{
			"kubeadm's",
			map[string]string{"k8s-app": "kube-dns"},
			[]placement.Workload{dns("Deployment", "coredns", "kube-dns")},
			nil, "",
		},
		{"a DaemonSet", map[string]string{"dns": "yes"}, []placement.Workload{dns("DaemonSet", "coredns", "kube-dns")}, nil, ""},
		{
			"two Deployments",
			map[string]string{"dns": "yes"},
			[]placement.Workload{dns("Deployment", "coredns", "kube-dns"), dns("Deployment", "other", "")},
			[]string{"Deployment kube-system/other is cluster DNS, and no policy refuses an update that takes its Linux selection away: " +
				"its pod template has no label k8s-app: kube-dns"},
			`kubectl patch deployment other -n kube-system --type merge ` +
				`-p '{"spec":{"template":{"metadata":{"labels":{"k8s-app":"kube-dns"}}}}}'`,
		},
		{
			"another label",
			map[string]string{"k8s-app": "coredns"},
			[]placement.Workload{dns("Deployment", "coredns", "coredns")},
			[]string{"its pods have the label k8s-app: coredns instead of kube-dns"},
			"",
		},
		{
			"a StatefulSet",
			map[string]string{"dns": "yes"},
			[]placement.Workload{dns("StatefulSet", "coredns", "kube-dns")},
			[]string{"a Deployment or a DaemonSet only"},
			"",
		},
		{
			"no selector",
			map[string]string{},
			[]placement.Workload{dns("Deployment", "coredns", "kube-dns")},
			[]string{"Service kube-system/kube-dns has no selector"},
			"",
		},
		{
			"elsewhere",
			map[string]string{"dns": "yes"},
			[]placement.Workload{elsewhere},
			[]string{"Service kube-system/kube-dns selects dns=yes, which no Deployment, DaemonSet or StatefulSet of kube-system has"},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := placement.Seen{Cluster: tainted, Workloads: c.workloads, DNS: c.selector}
			var wrong []placement.Finding
			for _, one := range s.Findings() {
				if one.Problem == placement.DNSNotKept {
					wrong = append(wrong, one)
				}
			}
			expect.Same(t, "findings", len(c.want), len(wrong))
			for i := range min(len(wrong), len(c.want)) {
				if !strings.Contains(wrong[i].Why, c.want[i]) || wrong[i].Mend != c.mend {
					t.Errorf("%+v", wrong[i])
				}
			}
		})
	}
}

// TestMutable: what the mutating policy changes names no system, and is in kube-system or tolerates every taint.
func TestMutable(t *testing.T) {
	for _, c := range []struct {
		name, namespace, spec string
		want                  bool
	}{
		{"careless, in kube-system", "kube-system", ``, true},
		{"careless, elsewhere", "team", ``, false},
		{"tolerates everything", "team", `tolerations: [{operator: Exists}]`, true},
		{"tolerates every NoSchedule", "team", `tolerations: [{operator: Exists, effect: NoSchedule}]`, true},
		{"tolerates every NoExecute", "team", `tolerations: [{operator: Exists, effect: NoExecute}]`, false},
		{"says Linux where nobody looks", "kube-system", `os: {name: linux}`, true},
		{"says Windows", "kube-system", `os: {name: windows}`, false},
		{"has windowsOptions", "kube-system", `securityContext: {windowsOptions: {}}`, false},
		{"selects Linux", "kube-system", `nodeSelector: {kubernetes.io/os: linux}`, false},
		{"selects by the deprecated label", "kube-system", `nodeSelector: {beta.kubernetes.io/os: windows}`, false},
		{"selects a build", "kube-system", `nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}`, false},
		{"selects a pool of both", "kube-system", `nodeSelector: {pool: a}`, true},
		{"selects a pool of Windows", "kube-system", `nodeSelector: {pool: win}`, false},
		{"has an affinity on the system", "kube-system", affinity(`{key: kubernetes.io/os, operator: NotIn, values: [darwin]}`), false},
		{"has an affinity on a pool of both", "kube-system", affinity(`{key: pool, operator: In, values: [a]}`), true},
		{"has an affinity on a pool of Windows", "kube-system", affinity(`{key: pool, operator: In, values: [a, win]}`), false},
		{"has an affinity on a label of Windows", "kube-system", affinity(`{key: disk, operator: Exists}`), false},
		{"leaves out a pool", "kube-system", affinity(`{key: pool, operator: NotIn, values: [win]}`), true},
		{"compares a number", "kube-system", affinity(`{key: size, operator: Gt, values: ["1"]}`), false},
		{"names a Node", "kube-system", `nodeName: linux-0`, false},
		{"selects a Node", "kube-system", `nodeSelector: {kubernetes.io/hostname: linux-0}`, false},
		{"selects a zone of Windows", "kube-system", `nodeSelector: {topology.kubernetes.io/zone: "2"}`, true},
		{"has a RuntimeClass for Linux", "kube-system", `runtimeClassName: linux`, true},
		{"has a RuntimeClass that is named for Windows", "kube-system", `runtimeClassName: windows-2022`, false},
		{"has a RuntimeClass for Windows", "kube-system", `runtimeClassName: windows`, false},
	} {
		w := workload(t, "DaemonSet", c.spec)
		w.Namespace = c.namespace
		expect.Same(t, c.name, c.want, tainted.Mutable(w))
		if c.want && tainted.Judge(w).Verdict == placement.ForWindows {
			t.Errorf("%s: the policy would change what is for Windows", c.name)
		}
		w.Annotations = map[string]string{placement.RunsOnAnnotation: placement.RunsOnBoth}
		expect.Same(t, c.name+", on both", false, tainted.Mutable(w))
	}
}

// What lands has the command after which the API server mends it, if it does.
func TestAgain(t *testing.T) {
	w := workload(t, "DaemonSet", `tolerations: [{operator: Exists}]`)
	s := placement.Seen{Cluster: tainted, Workloads: []placement.Workload{w}}
	expect.Same(t, "no policy", "", s.Findings()[0].Again)
	s.Mutates = true
	expect.Same(t, "a policy", "kubectl label daemonset app -n team --overwrite capwin.io/seen=true", s.Findings()[0].Again)
	const rolls = "; or let the policy add it at the next write, also of a label, which rolls its pods once"
	if why := s.Findings()[0].Why; !strings.HasSuffix(why, rolls) {
		t.Error(why)
	}
	s.Cluster, s.Workloads[0] = open, workload(t, "Deployment", ``)
	expect.Same(t, "none for it", "", s.Findings()[0].Again)
}

// TestFirstWrites: what the policy will change is told before somebody writes it, also what does not land.
func TestFirstWrites(t *testing.T) {
	var all []placement.Workload
	for _, name := range []string{"spared", "both", "a", "b", "c", "d"} {
		w := workload(t, "Deployment", ``)
		w.Namespace, w.Name = "kube-system", name
		all = append(all, w)
	}
	all[1].Annotations = map[string]string{placement.RunsOnAnnotation: placement.RunsOnBoth}
	s := placement.Seen{Cluster: tainted, Workloads: append(all, workload(t, "Deployment", ``))}
	s.Spared = map[string]bool{"Deployment kube-system/spared": true}
	expect.Same(t, "findings without a policy", len(s.Workloads), len(s.Findings()))
	s.Mutates = true
	got := s.Findings()
	expect.Same(t, "findings", len(s.Workloads)+1, len(got))
	last := got[len(got)-1]
	expect.Same(t, "problem", placement.FirstWriteRolls, last.Problem)
	const says = "first writes to 4 workloads that name no system (Deployment kube-system/a, Deployment kube-system/b, Deployment " +
		"kube-system/c and 1 more): the policy adds the nodeSelector kubernetes.io/os: linux to the template of each at its next " +
		"write, also of a label, which rolls its pods once; the annotation capwin.io/runs-on: both on a workload postpones that"
	if !strings.HasPrefix(last.Why, says) {
		t.Error(last.Why)
	}
	s.Workloads = s.Workloads[:2]
	expect.Same(t, "findings where nothing changes", 2, len(s.Findings()))
}

// Commands are run in a shell, and a workload cluster's API server may say anything.
func TestHostileNames(t *testing.T) {
	const evil = "x; rm -rf ~"
	w := workload(t, "DaemonSet", `tolerations: [{operator: Exists}]`)
	for _, names := range [][2]string{{evil, "app"}, {"team", evil}, {"team", "$(x)"}} {
		w.Namespace, w.Name = names[0], names[1]
		got := tainted.Judge(w)
		expect.Same(t, "commands of "+w.String(), "", got.Mend+got.Allow)
	}
	c := tainted
	c.Windows = []placement.Node{node("win-0", "a'b=c:NoSchedule", nil)}
	pending := c.Judge(workload(t, "Deployment", `nodeSelector: {kubernetes.io/os: windows}`))
	expect.Same(t, "a command with a key that no taint has", "", pending.Mend)
	set := proxySet(t, "kube-proxy-windows", "example.com/$(x)/kube-proxy:v1.37.0")
	findings := proxied("", set).Findings()
	expect.Same(t, "problem", placement.KubeProxyTooNew, findings[1].Problem)
	expect.Same(t, "a command with an image", "", findings[1].Mend)
	set.Template.Spec.Containers[0].Image, set.Template.Spec.Containers[0].Name = "a/kube-proxy:v1.37.0", "a b"
	expect.Same(t, "a command with a container", "", proxied("", set).Findings()[1].Mend)
}
