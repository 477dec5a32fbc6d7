package placement_test

import (
	"strings"
	"testing"

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

// TestNodeTwice: a Node that is named twice, which the caller should not do, ends nothing.
func TestNodeTwice(t *testing.T) {
	s := asService(proxied(bootstrapv1.KubeProxyService), "v1.36.3")
	s.Windows = append(s.Windows, s.Windows[0])
	expect.Same(t, "findings", 1, len(s.Findings()))
}
