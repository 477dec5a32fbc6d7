package placement_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// proxySet is a DaemonSet as sig-windows-tools publishes it (401ee6f, hostprocess/calico/kube-proxy/kube-proxy.yml).
func proxySet(t *testing.T, name, image string) placement.Workload {
	t.Helper()
	w := workload(t, "DaemonSet", `{nodeSelector: {kubernetes.io/os: windows}, tolerations: [{operator: Exists}], `+
		`securityContext: {windowsOptions: {hostProcess: true}}, containers: [{name: kube-proxy, image: "`+image+`"}]}`)
	w.Namespace, w.Name = "kube-system", name
	return w
}

const service = "capwin.cluster.x-k8s.io/kube-proxy"

// proxied is a cluster of v1.36.3 with one Windows Node of that version, whose config says who runs kube-proxy.
func proxied(run bootstrapv1.KubeProxyRun, workloads ...placement.Workload) placement.Seen {
	s := placement.Seen{
		Cluster: tainted, Workloads: workloads, Version: "v1.36.3", Kubelets: map[string]string{"win-0": "v1.36.3"},
		ProxyRuns: map[string]bootstrapv1.KubeProxyRun{},
	}
	if run != "" {
		s.ProxyRuns["win-0"] = run
	}
	return s
}

func asService(s placement.Seen, kubelet string) placement.Seen {
	s.Windows = []placement.Node{node("win-0", osTaint, map[string]string{service: "service"})}
	s.Kubelets = map[string]string{"win-0": kubelet}
	return s
}

// TestKubeProxy: a Windows Node has one kube-proxy, of a version that the API server works with.
func TestKubeProxy(t *testing.T) {
	const image = "sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess"
	set := proxySet(t, "kube-proxy-windows", image)
	onLinux := set
	onLinux.Name, onLinux.Template = "kube-proxy", workload(t, "DaemonSet", `{nodeSelector: {kubernetes.io/os: linux}, `+
		`tolerations: [{operator: Exists}], containers: [{name: kube-proxy, image: "registry.k8s.io/kube-proxy:v1.36.3"}]}`).Template
	landed := onLinux
	landed.Template.Spec.NodeSelector = nil
	affine := set
	affine.Template.Spec.NodeSelector = nil
	affine.Template.Spec.Affinity = workload(t, "DaemonSet", affinity(`{key: kubernetes.io/os, operator: In, values: [windows]}`)).
		Template.Spec.Affinity
	with := func(version string) placement.Workload {
		return proxySet(t, "kube-proxy-windows", strings.Replace(image, "v1.36.3", version, 1))
	}
	const setImage = "kubectl set image daemonset kube-proxy-windows -n kube-system kube-proxy=sigwindowstools/kube-proxy:"
	for _, c := range []struct {
		name, reason string
		seen         placement.Seen
		want         placement.Problem
		says, mend   string
	}{
		{"a DaemonSet", "as with Calico", proxied(bootstrapv1.KubeProxyDaemonSet, onLinux, set), "", "", ""},
		{"a service", "the Node's label says so", asService(proxied(bootstrapv1.KubeProxyService, onLinux), "v1.36.3"), "", "", ""},
		{"none is wanted", "run: None, or a CNI that does its work", proxied(bootstrapv1.KubeProxyNone, onLinux), "", "", ""},
		{
			"no pod for it", "the DaemonSet of kubeadm is for Linux", proxied(bootstrapv1.KubeProxyDaemonSet, onLinux),
			placement.KubeProxyMissing, "kube-proxy is missing on Windows Nodes (win-0): no DaemonSet that runs one", "",
		},
		{
			"no service", "the config says that there is one", proxied(bootstrapv1.KubeProxyService, onLinux),
			placement.KubeProxyMissing, "their config says that it is a service of the node", "",
		},
		{
			"one that lands", "an image for Linux does not run there", proxied(bootstrapv1.KubeProxyDaemonSet, landed),
			placement.KubeProxyMissing, "no DaemonSet that runs one", "",
		},
		{
			"two", "each removes the other's load balancers", asService(proxied("", set), "v1.36.3"),
			placement.KubeProxyTwice, "kube-proxy runs twice on Windows Nodes (win-0): the Windows service kube-proxy and " +
				"DaemonSet kube-system/kube-proxy-windows",
			`"matchExpressions":[{"key":"capwin.cluster.x-k8s.io/kube-proxy","operator":"NotIn","values":["service"]}]`,
		},
		{
			"two, one with an affinity", "what it requires of Nodes stays", asService(proxied("", affine), "v1.36.3"),
			placement.KubeProxyTwice, "twice", `"values":["windows"]},{"key":"capwin.cluster.x-k8s.io/kube-proxy","operator":"NotIn"`,
		},
		{
			"two DaemonSets", "nobody but their owner knows which is to stay",
			proxied(bootstrapv1.KubeProxyNone, set, proxySet(t, "another", image)), placement.KubeProxyTwice, "keep one of the two", "",
		},
		{
			"too new", "kube-proxy must not be newer than the API server", proxied("", with("v1.37.0")), placement.KubeProxyTooNew,
			"kube-proxy of Windows Nodes (win-0) is v1.37.0 (DaemonSet kube-system/kube-proxy-windows), and the API server is v1.36.3: " +
				"it must not be newer", setImage + "v1.36.3-calico-hostprocess",
		},
		{"a newer patch", "the skew is one of minor versions", proxied("", with("v1.36.9")), "", "", ""},
		{"three minors older", "that is what upstream supports", proxied("", with("v1.33.0")), "", "", ""},
		{
			"four minors older", "the rules of 1.36 may be others", proxied("", with("v1.32.9")), placement.KubeProxyTooOld,
			"at most 3 minor versions older", setImage + "v1.36.3-calico-hostprocess",
		},
		{
			"a service that is too old", "it has the version of its kubelet", asService(proxied(""), "v1.32.1"),
			placement.KubeProxyTooOld, "it is as old as its kubelet", "",
		},
		{"a digest", "nobody knows its version", proxied("", with("x")), "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wrong []placement.Finding
			for _, one := range c.seen.Findings() {
				if one.Problem != "" && one.Problem != placement.PodsLand {
					wrong = append(wrong, one)
				}
			}
			if c.want == "" {
				expect.Same(t, c.reason, 0, len(wrong))
				return
			}
			if len(wrong) != 1 || wrong[0].Problem != c.want || !strings.Contains(wrong[0].Why, c.says) ||
				!strings.Contains(wrong[0].Mend, c.mend) || (c.mend == "") != (wrong[0].Mend == "") {
				t.Errorf("%s: %+v", c.reason, wrong)
			}
		})
	}
}

// The image is that of the oldest kubelet, as the addons have it, unless that is too old itself.
func TestVersionOfTheImage(t *testing.T) {
	s := proxied("", proxySet(t, "kube-proxy-windows", "example.com/kube-proxy:1.38.0"))
	s.Windows = []placement.Node{node("win-0", osTaint, nil), node("win-1", osTaint, nil)}
	for kubelet, want := range map[string]string{"v1.35.2": "1.35.2", "v1.30.1": "1.36.3", "none": "1.36.3"} {
		s.Kubelets = map[string]string{"win-0": "v1.36.3", "win-1": kubelet}
		findings := s.Findings()
		expect.Same(t, kubelet, "kubectl set image daemonset kube-proxy-windows -n kube-system kube-proxy=example.com/kube-proxy:"+want,
			findings[len(findings)-1].Mend)
	}
}

// Of a Node without a config nobody knows whether one is missing: that is said, and is no problem.
func TestUnknownConfig(t *testing.T) {
	findings := proxied("").Findings()
	expect.Same(t, "findings", 1, len(findings))
	expect.Same(t, "problem", placement.Problem(""), findings[0].Problem)
	expect.Same(t, "Nodes", []string{"win-0"}, findings[0].Nodes)
}

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
			"kubeadm's", map[string]string{"k8s-app": "kube-dns"},
			[]placement.Workload{dns("Deployment", "coredns", "kube-dns")}, nil, "",
		},
		{"a DaemonSet", map[string]string{"dns": "yes"}, []placement.Workload{dns("DaemonSet", "coredns", "kube-dns")}, nil, ""},
		{
			"two Deployments", map[string]string{"dns": "yes"},
			[]placement.Workload{dns("Deployment", "coredns", "kube-dns"), dns("Deployment", "other", "")},
			[]string{"Deployment kube-system/other is cluster DNS, and no policy refuses an update that takes its Linux selection away: " +
				"its pod template has no label k8s-app: kube-dns"},
			`kubectl patch deployment other -n kube-system --type merge ` +
				`-p '{"spec":{"template":{"metadata":{"labels":{"k8s-app":"kube-dns"}}}}}'`,
		},
		{
			"another label", map[string]string{"k8s-app": "coredns"}, []placement.Workload{dns("Deployment", "coredns", "coredns")},
			[]string{"its pods have the label k8s-app: coredns instead of kube-dns"}, "",
		},
		{
			"a StatefulSet", map[string]string{"dns": "yes"}, []placement.Workload{dns("StatefulSet", "coredns", "kube-dns")},
			[]string{"a Deployment or a DaemonSet only"}, "",
		},
		{
			"no selector", map[string]string{}, []placement.Workload{dns("Deployment", "coredns", "kube-dns")},
			[]string{"Service kube-system/kube-dns has no selector"}, "",
		},
		{
			"elsewhere", map[string]string{"dns": "yes"}, []placement.Workload{elsewhere},
			[]string{"Service kube-system/kube-dns selects dns=yes, which no Deployment, DaemonSet or StatefulSet of kube-system has"}, "",
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
	expect.Same(t, "a policy", "kubectl label daemonset app -n team --overwrite capwin.io/linux-policy=seen", s.Findings()[0].Again)
	s.Cluster, s.Workloads[0] = open, workload(t, "Deployment", ``)
	expect.Same(t, "none for it", "", s.Findings()[0].Again)
}

// TestMemory: the same look twice costs next to nothing, and what has changed is judged again.
func TestMemory(t *testing.T) {
	s := proxied(bootstrapv1.KubeProxyDaemonSet)
	s.Windows = nil
	for i := range 100 {
		name := fmt.Sprintf("win-%03d", i)
		s.Windows = append(s.Windows, node(name, osTaint, nil))
		s.Kubelets[name], s.ProxyRuns[name] = "v1.36.3", bootstrapv1.KubeProxyNone
	}
	delete(s.Kubelets, "win-0")
	for i := range 2000 {
		w := workload(t, "DaemonSet", `{nodeSelector: {kubernetes.io/os: linux}, tolerations: [{operator: Exists}]}`)
		w.Name, w.Version = fmt.Sprint("agent-", i), "1"
		s.Workloads = append(s.Workloads, w)
	}
	var m placement.Memory
	first := time.Now()
	expect.Same(t, "at first", 0, len(m.Wrong(s)))
	second := time.Now()
	expect.Same(t, "again", 0, len(m.Wrong(s)))
	took := time.Since(second)
	t.Logf("2,000 DaemonSets and 100 Windows Nodes: %s, and %s if nothing has changed", second.Sub(first), took)
	if took > second.Sub(first)/5 {
		t.Error("what has not changed is judged again")
	}
	s.Workloads[7].Template.Spec.NodeSelector = nil
	expect.Same(t, "another template with the same version", 0, len(m.Wrong(s)))
	s.Workloads[7].Version = "2"
	wrong := m.Wrong(s)
	expect.Same(t, "another version", 1, len(wrong))
	expect.Same(t, "what it is about", "DaemonSet team/agent-7", wrong[0].Of)
	s.Mutates = true
	expect.Same(t, "a policy now", true, m.Wrong(s)[0].Again != "")
	s.Windows = nil
	expect.Same(t, "without Windows Nodes", 0, len(m.Wrong(s)))
	s.Windows = []placement.Node{node("win-001", "gpu=:NoSchedule", nil)}
	s.Workloads = append(s.Workloads[:7], s.Workloads[8:]...)
	expect.Same(t, "when it is gone", 0, len(m.Wrong(s)))
	s.Workloads[0].Version, s.Workloads[0].Template.Spec = "", corev1.PodSpec{NodeName: "win-001"}
	expect.Same(t, "without a version", 0, len(m.Wrong(s)))
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
	expect.Same(t, "apostrophes in "+pending.Mend, 2, strings.Count(pending.Mend, "'"))
	set := proxySet(t, "kube-proxy-windows", "example.com/$(x)/kube-proxy:v1.37.0")
	findings := proxied("", set).Findings()
	expect.Same(t, "problem", placement.KubeProxyTooNew, findings[1].Problem)
	expect.Same(t, "a command with an image", "", findings[1].Mend)
	set.Template.Spec.Containers[0].Image, set.Template.Spec.Containers[0].Name = "a/kube-proxy:v1.37.0", "a b"
	expect.Same(t, "a command with a container", "", proxied("", set).Findings()[1].Mend)
}
