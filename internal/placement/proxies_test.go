package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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
func proxied(run bootstrapv1.KubeProxyRun, workloads ...placement.Workload) world {
	s := world{placement.Seen{
		Cluster: tainted, Version: "v1.36.3", Kubelets: map[string]string{"win-0": "v1.36.3"},
		ProxyRuns: map[string]bootstrapv1.KubeProxyRun{},
	}, workloads}
	if run != "" {
		s.ProxyRuns["win-0"] = run
	}
	return s
}

func asService(s world, kubelet string) world {
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
	with := func(version string) placement.Workload {
		return proxySet(t, "kube-proxy-windows", strings.Replace(image, "v1.36.3", version, 1))
	}
	for _, c := range []struct {
		name, reason string
		seen         world
		want         placement.Problem
		says         string
	}{
		{"a DaemonSet", "as with Calico", proxied(bootstrapv1.KubeProxyDaemonSet, onLinux, set), "", ""},
		{"a service", "the Node's label says so", asService(proxied(bootstrapv1.KubeProxyService, onLinux), "v1.36.3"), "", ""},
		{"none is wanted", "run: None, or a CNI that does its work", proxied(bootstrapv1.KubeProxyNone, onLinux), "", ""},
		{
			"no pod for it", "the DaemonSet of kubeadm is for Linux", proxied(bootstrapv1.KubeProxyDaemonSet, onLinux),
			placement.KubeProxyMissing, "kube-proxy is missing on Windows Nodes (win-0): no DaemonSet that runs one",
		},
		{
			"no service", "the config says that there is one", proxied(bootstrapv1.KubeProxyService, onLinux),
			placement.KubeProxyMissing, "by their config it is a service of the node",
		},
		{
			"one that lands", "an image for Linux does not run there", proxied(bootstrapv1.KubeProxyDaemonSet, landed),
			placement.KubeProxyMissing, "no DaemonSet that runs one",
		},
		{
			"two", "each removes the other's load balancers", asService(proxied("", set), "v1.36.3"),
			placement.KubeProxyTwice, "kube-proxy runs twice on Windows Nodes (win-0): the Windows service kube-proxy and " +
				"DaemonSet kube-system/kube-proxy-windows; each removes the other's load balancers from HNS when it starts, and both need " +
				"port 10256; have the DaemonSet leave out Nodes with the label capwin.cluster.x-k8s.io/kube-proxy=service",
		},
		{
			"two DaemonSets", "nobody but their owner knows which is to stay",
			proxied(bootstrapv1.KubeProxyNone, set, proxySet(t, "another", image)), placement.KubeProxyTwice, "keep one of the two",
		},
		{
			"too new", "kube-proxy must not be newer than the API server", proxied("", with("v1.37.0")), placement.KubeProxyTooNew,
			"kube-proxy of Windows Nodes (win-0) is v1.37.0 (DaemonSet kube-system/kube-proxy-windows), and the API server is v1.36.3: " +
				"it must not be newer; give the DaemonSet an image of the API server's version",
		},
		{
			"as new as a number can be", "nothing comes after it", proxied("", with("v1.18446744073709551615.0")),
			placement.KubeProxyTooNew, "it must not be newer",
		},
		{"a newer patch", "the skew is one of minor versions", proxied("", with("v1.36.9")), "", ""},
		{"three minors older", "that is what upstream supports", proxied("", with("v1.33.0")), "", ""},
		{
			"four minors older", "the rules of 1.36 may be others", proxied("", with("v1.32.9")), placement.KubeProxyTooOld,
			"at most 3 minor versions older",
		},
		{
			"a service that is too old", "it has the version of its kubelet", asService(proxied(""), "v1.32.1"),
			placement.KubeProxyTooOld, "the service has its kubelet's version, so give their Machines another one",
		},
		{"a digest", "nobody knows its version", proxied("", with("x")), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wrong []placement.Finding
			for _, one := range c.seen.findings() {
				if one.Problem != "" && one.Problem != placement.PodsLand {
					wrong = append(wrong, one)
				}
			}
			if c.want == "" {
				expect.Same(t, c.reason, 0, len(wrong))
				return
			}
			if len(wrong) != 1 || wrong[0].Problem != c.want || !strings.Contains(wrong[0].Why, c.says) ||
				wrong[0].Mend != "" {
				t.Errorf("%s: %+v", c.reason, wrong)
			}
		})
	}
}

// Of a Node without a config nobody knows whether one is missing: that is said, and is no problem.
func TestUnknownConfig(t *testing.T) {
	findings := proxied("").findings()
	expect.Same(t, "findings", 1, len(findings))
	expect.Same(t, "problem", placement.Problem(""), findings[0].Problem)
	expect.Same(t, "Nodes", []string{"win-0"}, findings[0].Nodes)
}

// TestNodeTwice: a Node that is named twice, which the caller should not do, has one kube-proxy all the same.
func TestNodeTwice(t *testing.T) {
	for name, s := range map[string]world{
		"a service":   asService(proxied(bootstrapv1.KubeProxyService), "v1.36.3"),
		"a DaemonSet": proxied("", proxySet(t, "kube-proxy-windows", "sigwindowstools/kube-proxy:v1.36.3")),
	} {
		s.Windows = append(slices.Clone(s.Windows), s.Windows[0])
		for _, finding := range s.findings() {
			expect.Same(t, name, placement.Problem(""), finding.Problem)
		}
	}
}

// TestManyOfAll: what is kept of many workloads that come to many Nodes grows with their sum, not with their product.
func TestManyOfAll(t *testing.T) {
	const many = 100
	s := world{Seen: placement.Seen{Version: "v1.36.3", Kubelets: map[string]string{}}}
	for i := range many {
		n := node(fmt.Sprintf("win-%03d", i), osTaint, nil)
		s.Windows, s.Kubelets[n.Name] = append(s.Windows, n), "v1.30.0"
		s.workloads = append(s.workloads, proxySet(t, fmt.Sprint("kube-proxy-", i), "kube-proxy:v1.31.0"),
			workload(t, "DaemonSet", `tolerations: [{operator: Exists}]`))
	}
	twice, named := 0, 0
	for _, finding := range s.findings() {
		if named = max(named, len(finding.Nodes)); finding.Problem == placement.KubeProxyTwice {
			twice++
		}
		if finding.Problem == placement.PodsLand && !strings.Contains(finding.Why, "(win-000, win-001, win-002 and 97 more)") {
			t.Error(finding.Why)
		}
	}
	expect.Same(t, "Nodes that a finding names, and findings of two kube-proxies", []int{20, 1}, []int{named, twice})
}
