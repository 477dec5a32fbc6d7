package network

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var (
	flannelNode = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNIFlannel}
	calicoNode  = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico}
	onWindows   = map[string]string{"kubernetes.io/os": "windows"}
)

// proxyPods is a DaemonSet as that of sig-windows-tools 401ee6f, hostprocess/calico/kube-proxy/kube-proxy.yml, with changes.
func proxyPods(changes ...func(*corev1.PodSpec)) appsv1.DaemonSet {
	var set appsv1.DaemonSet
	set.Namespace, set.Name = "kube-system", "kube-proxy-windows"
	pod := &set.Spec.Template.Spec
	pod.NodeSelector = onWindows
	pod.Containers = []corev1.Container{{
		Name: "kube-proxy", Image: "sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess",
		Args: []string{"$env:CONTAINER_SANDBOX_MOUNT_POINT/kube-proxy/start.ps1"},
	}}
	for _, change := range changes {
		change(pod)
	}
	return set
}

func selector(of map[string]string) func(*corev1.PodSpec) {
	return func(pod *corev1.PodSpec) { pod.NodeSelector = of }
}

// required makes the terms of an affinity, each of one requirement.
func required(terms ...corev1.NodeSelectorRequirement) func(*corev1.PodSpec) {
	return func(pod *corev1.PodSpec) {
		affinity := &corev1.NodeSelector{}
		for _, term := range terms {
			affinity.NodeSelectorTerms = append(affinity.NodeSelectorTerms,
				corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{term}})
		}
		pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: affinity}}
	}
}

func requirement(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
}

func container(c corev1.Container) func(*corev1.PodSpec) {
	return func(pod *corev1.PodSpec) { pod.Containers = []corev1.Container{c} }
}

// TestSecondKubeProxy: only a kube-proxy that comes to this very node is one too many.
func TestSecondKubeProxy(t *testing.T) {
	const system, pool, service = "kubernetes.io/os", "example.com/pool", "capwin.cluster.x-k8s.io/kube-proxy"
	labels := map[string]string{service: "service", pool: "a"}
	for name, c := range map[string]struct {
		set  appsv1.DaemonSet
		want bool
	}{
		"upstream's":                  {proxyPods(), true},
		"that of Linux":               {proxyPods(selector(map[string]string{system: "linux"})), false},
		"for any system":              {proxyPods(selector(nil)), false},
		"with the old label":          {proxyPods(selector(map[string]string{"beta.kubernetes.io/os": "windows"})), true},
		"by an affinity":              {proxyPods(selector(nil), required(requirement(system, "In", "windows"))), true},
		"not on Linux":                {proxyPods(selector(nil), required(requirement(system, "NotIn", "linux"))), true},
		"of a version of Windows":     {proxyPods(required(requirement("node.kubernetes.io/windows-build", "In", "10.0.20348"))), true},
		"for this pool":               {proxyPods(required(requirement(pool, "In", "a", "b"))), true},
		"for another pool":            {proxyPods(required(requirement(pool, "In", "b"))), false},
		"for this pool or another":    {proxyPods(required(requirement("x/y", "Exists"), requirement(pool, "Exists"))), true},
		"for nodes of another's":      {proxyPods(selector(map[string]string{system: "windows", "lab": "x"})), false},
		"for nodes without a service": {proxyPods(required(requirement(service, "NotIn", "service"))), false},
		"for nodes without the label": {proxyPods(required(requirement(service, "DoesNotExist"))), false},
		"for no node":                 {proxyPods(required()), false},
		"by its image":                {proxyPods(container(corev1.Container{Image: "r.io:5000/a/kube-proxy@sha256:0"})), true},
		"by its command":              {proxyPods(container(corev1.Container{Command: []string{`C:\k\kube-proxy.exe`}})), true},
		"by an argument": {proxyPods(container(corev1.Container{
			Args: []string{`& "$env:CONTAINER_SANDBOX_MOUNT_POINT/kube-proxy/kube-proxy.exe" --v=4`},
		})), true},
		"that has a word of it": {proxyPods(container(corev1.Container{
			Name: "cilium", Image: "cilium/cilium:v1", Args: []string{"--kube-proxy-replacement=true"},
		})), false},
	} {
		told := SecondKubeProxy(flannelNode, labels, []appsv1.DaemonSet{{}, c.set})
		expect.Same(t, name, c.want, told != "")
		if told != "" {
			expect.Says(t, name, errors.New(told), "WindowsBootstrapConfig spec.network.kubeProxy.run: it is Service, and the DaemonSet "+
				"kube-system/kube-proxy-windows runs another kube-proxy on this node: ")
		}
	}
	expect.Same(t, "with Calico", "", SecondKubeProxy(calicoNode, labels, []appsv1.DaemonSet{proxyPods()}))
}

// TestRemovedGate: a kube-proxy that comes to this node with a gate which its version no longer has is told, whatever names it.
func TestRemovedGate(t *testing.T) {
	gates := []string{"WinDSR", "WinOverlay"}
	proxy := func(c corev1.Container) appsv1.DaemonSet {
		c.Name = "kube-proxy"
		return proxyPods(container(c))
	}
	for name, c := range map[string]struct {
		set  appsv1.DaemonSet
		gate string
	}{
		"upstream's, which names them in its image": {proxyPods(), ""},
		"an argument":          {proxy(corev1.Container{Args: []string{"--v=4", "--feature-gates=WinOverlay=true"}}), "WinOverlay"},
		"a command":            {proxy(corev1.Container{Command: []string{"kube-proxy.exe", "--feature-gates=WinDSR=true"}}), "WinDSR"},
		"a variable":           {proxy(corev1.Container{Env: []corev1.EnvVar{{Name: "GATES", Value: "WinDSR=true"}}}), "WinDSR"},
		"another gate":         {proxy(corev1.Container{Args: []string{"--feature-gates=WinDSRNext=true"}}), ""},
		"of another container": {proxyPods(container(corev1.Container{Name: "other", Args: []string{"WinDSR=true"}})), ""},
		"on Linux": {proxyPods(container(corev1.Container{Name: "kube-proxy", Args: []string{"WinDSR=true"}}),
			selector(map[string]string{"kubernetes.io/os": "linux"})), ""},
	} {
		told := RemovedGate(38, gates, nil, []appsv1.DaemonSet{{}, c.set})
		expect.Same(t, name, c.gate != "", told != "")
		if told != "" {
			expect.Says(t, name, errors.New(told), "the DaemonSet kube-system/kube-proxy-windows gives kube-proxy the feature gate "+
				c.gate+", which kube-proxy of v1.38 no longer has")
		}
		expect.Same(t, name+" with an older version", "", RemovedGate(37, nil, nil, []appsv1.DaemonSet{c.set}))
	}
}
