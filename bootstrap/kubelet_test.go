package bootstrap_test

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/merge"
)

// step finds a step of a plan by its name.
func stepOf[S plan.Step](t *testing.T, p *plan.Plan, name string) S {
	t.Helper()
	for _, found := range every[S](p) {
		if found.Base().Name == name {
			return found
		}
	}
	t.Fatalf("no step %s of this kind", name)
	panic("unreachable")
}

// every step of a kind, with the name of its phase.
func every[S plan.Step](p *plan.Plan) iter.Seq2[string, S] {
	return func(yield func(string, S) bool) {
		for _, phase := range slices.Concat(p.Phases, p.Background) {
			for _, step := range phase.Steps {
				if found, ok := step.(S); ok && !yield(phase.Name, found) {
					return
				}
			}
		}
	}
}

// linuxConfig is a cluster's kubelet configuration that was written with Linux in mind: a kubelet on Linux takes it. That
// of each golden plan is made of it, and make test-kubelet asks a kubelet for Windows.
const linuxConfig = `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}}
cgroupDriver: systemd
cgroupRoot: /
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerLogMaxSize: 50Mi
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true"}
enforceNodeAllocatable: [pods, kube-reserved, system-reserved]
evictionHard: {memory.available: 100Mi, nodefs.inodesFree: 5%, pid.available: 10%}
evictionSoft: {memory.available: 300Mi}
evictionSoftGracePeriod: {memory.available: 90s}
failSwapOn: false
featureGates: {GracefulNodeShutdown: false, KubeletTracing: true}
imageServiceEndpoint: unix:///run/containerd/containerd.sock
kubeletCgroups: /kube.slice/kubelet
kubeReserved: {memory: 100Mi, pid: "1000"}
kubeReservedCgroup: /kube.slice
localStorageCapacityIsolation: false
maxPods: 200
memoryManagerPolicy: Static
memorySwap: {swapBehavior: LimitedSwap}
podLogsDir: /data/logs/pods
podPidsLimit: 4096
podsPerCore: 10
protectKernelDefaults: true
registerNode: false
reservedMemory: [{numaNode: 0, limits: {memory: 1100Mi}}]
reservedSystemCPUs: 0-1
resolvConf: /run/systemd/resolve/resolv.conf
rotateCertificates: true
seccompDefault: true
showHiddenMetricsForVersion: "1.29"
shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 30}]
singleProcessOOMKill: true
staticPodPath: /etc/kubernetes/manifests
systemCgroups: /system.slice
systemReserved: {cpu: 100m, memory: 500Mi}
systemReservedCgroup: /system.slice
tlsCertFile: /var/lib/kubelet/pki/node.crt
tlsPrivateKeyFile: /var/lib/kubelet/pki/node.key
topologyManagerPolicy: restricted
topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true"}
topologyManagerScope: pod
userNamespaces: {idsPerPod: 65536}
volumePluginDir: /opt/libexec/kubernetes/kubelet-plugins/volume/exec/
`

// merged is what kubeadm makes of the cluster's configuration and the node's patch (RFC 7386), read strictly, as the
// kubelet does.
func merged(t *testing.T, p *plan.Plan, facts map[string]string) kubeletv1.KubeletConfiguration {
	t.Helper()
	var target map[string]any
	expect.OK(t, yaml.Unmarshal([]byte(linuxConfig), &target))
	var patch map[string]any
	expect.OK(t, yaml.Unmarshal(patchText(t, p, facts), &patch))
	merge.Into(target, patch)
	data := expect.Got(json.Marshal(target))(t)
	var config kubeletv1.KubeletConfiguration
	expect.OK(t, yaml.UnmarshalStrict(data, &config)) // as the kubelet takes it
	return config
}

// patchText is the patch as it stands on the node's disk.
func patchText(t *testing.T, p *plan.Plan, facts map[string]string) []byte {
	t.Helper()
	if facts == nil {
		return []byte(stepOf[*plan.File](t, p, "kubelet-patch").Text.String())
	}
	return lookUp(t, stepOf[*plan.Reservations](t, p, "kubelet-patch"), facts)
}

func TestKubeletConfiguration(t *testing.T) {
	p := render(t, plainInput(t, withPods(60))).Plan()
	got := merged(t, p, nil)
	eviction := map[string]string{
		"memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%",
		"nodefs.inodesFree": "5%", "pid.available": "10%",
	}
	system := map[string]string{"cpu": "500m", "memory": "2Gi", "ephemeral-storage": "1Gi"}
	kube := map[string]string{"cpu": "80m", "memory": "915Mi", "ephemeral-storage": "1Gi", "pid": "1000"}
	const pipe = "npipe:////./pipe/containerd-containerd"
	for _, test := range []struct {
		what      string
		want, got any
		reason    string
	}{
		{"singleProcessOOMKill", (*bool)(nil), got.SingleProcessOOMKill, "a kubelet on Windows exits when it is set"},
		{"userNamespaces", (*kubeletv1.UserNamespaces)(nil), got.UserNamespaces, "a kubelet on Windows exits when it is set"},
		{"cgroupsPerQOS", false, *got.CgroupsPerQOS, "there are no cgroups"},
		{"enforceNodeAllocatable", []string{"none"}, got.EnforceNodeAllocatable, "an empty list becomes [pods]"},
		{"providerID", "vsphere://420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11", got.ProviderID, "Cluster API finds the Node by it"},
		{"maxPods", int32(60), got.MaxPods, "the user's"},
		{"containerRuntimeEndpoint", pipe, got.ContainerRuntimeEndpoint, "the cluster's is a Unix socket"},
		{"evictionHard", eviction, got.EvictionHard, "all three; what Linux adds is never observed"},
		{"systemReserved", system, got.SystemReserved, "2 GiB for Windows"},
		{"kubeReserved", kube, got.KubeReserved, "255 + 60 x 11"},
		{"shutdownGracePeriod", "1m0s", got.ShutdownGracePeriod.Duration.String(), "pods end before Windows does"},
		{
			"shutdownGracePeriodCriticalPods", "20s", got.ShutdownGracePeriodCriticalPods.Duration.String(),
			"some of it for the last ones",
		},
		{"clusterDNS", []string{"10.96.0.10"}, got.ClusterDNS, "the cluster's own is kept"},
	} {
		expect.Same(t, test.what+": "+test.reason, test.want, test.got)
	}
}

// What is foreign to Windows in the cluster's configuration must not reach the node: it would exit at it, or reserve
// something else than we promise.
func TestForeignFields(t *testing.T) {
	foreign := []string{
		"cpuManagerPolicy", "cpuManagerPolicyOptions", "imageServiceEndpoint", "localStorageCapacityIsolation", "memoryManagerPolicy",
		"memorySwap", "podLogsDir", "podsPerCore", "registerNode",
		"reservedMemory", "reservedSystemCPUs", "showHiddenMetricsForVersion",
		"shutdownGracePeriodByPodPriority", "singleProcessOOMKill", "tlsCertFile", "tlsPrivateKeyFile", "topologyManagerPolicy",
		"topologyManagerPolicyOptions", "topologyManagerScope", "userNamespaces",
	}
	noGrace := kubelet("featureGates: [{name: GracefulNodeShutdown, state: Disabled}, " +
		"{name: GracefulNodeShutdownBasedOnPodPriority, state: Disabled}, {name: WindowsGracefulNodeShutdown, state: Disabled}]")
	affinity := all(withGate("WindowsCPUAndMemoryAffinity", "Enabled"),
		withConfig(`{"cpuManagerPolicy": "static", "tlsCertFile": "C:\\k\\node.crt"}`))
	for _, test := range []struct {
		name   string
		change change
		// users are the foreign fields that the user wants, more are others that must not be there.
		users, more []string
	}{
		{"nothing said", nil, nil, nil},
		{"the oldest", ofVersion("v1.30.14"), nil, nil},
		{"no grace", noGrace, nil, []string{"shutdownGracePeriod", "shutdownGracePeriodCriticalPods"}},
		{
			"grace by priority", withConfig(`{"shutdownGracePeriod": "0s", "shutdownGracePeriodCriticalPods": "0s",
			"shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 5}]}`),
			[]string{"shutdownGracePeriodByPodPriority"},
			nil,
		},
		{"affinity", affinity, []string{"cpuManagerPolicy", "tlsCertFile"}, nil},
	} {
		var got map[string]any
		expect.OK(t, json.Unmarshal(mergedText(t, render(t, plainInput(t, test.change)).Plan()), &got))
		for _, name := range append(test.more, foreign...) {
			if value, is := got[name]; is != slices.Contains(test.users, name) {
				t.Errorf("%s: %s is %v", test.name, name, value)
			}
		}
		gate := got["featureGates"].(map[string]any)["GracefulNodeShutdown"]
		if off := gate == false; off != (len(test.more) > 0) {
			t.Errorf("%s: gate GracefulNodeShutdown is %v", test.name, gate)
		}
	}
}

// The oldest kubelet exits at any list that is not empty; later ones take [none].
func TestNothingIsEnforced(t *testing.T) {
	for version, want := range map[string]int{"v1.30.0": 0, "v1.30.14": 0, "v1.31.0": 1, "v1.37.1": 1} {
		got := merged(t, render(t, plainInput(t, ofVersion(version))).Plan(), nil).EnforceNodeAllocatable
		if got == nil || len(got) != want {
			t.Errorf("%s: %#v, want %d of them", version, got, want)
		}
	}
}

// The node must register with its taints, or pods come before it is ready for them.
func TestTaints(t *testing.T) {
	own := taint("node.cluster.x-k8s.io/uninitialized", "", "NoSchedule")
	windows := taint("os", "windows", "NoSchedule")
	user := taint("a", "", "PreferNoSchedule")
	for _, test := range []struct {
		name, reason string
		change       change
		want         []corev1.Taint
	}{
		{"nothing said", "pods not made for Windows must stay away", nil, []corev1.Taint{own, windows}},
		{"empty list", "the user wants none", withTaints(), []corev1.Taint{own}},
		{"a list", "the user wants these", withTaints(user), []corev1.Taint{own, user}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := render(t, plainInput(t, test.change)).Plan()
			expect.Same(t, "kubelet: "+test.reason, test.want, merged(t, p, nil).RegisterWithTaints)
			expect.Same(t, "kubeadm: "+test.reason, test.want, *joinConfiguration(t, p).NodeRegistration.Taints)
		})
	}
}

func TestKubeletService(t *testing.T) {
	labels := withLabels("b=2", "a=1")
	p := render(t, plainInput(t, labels)).Plan()
	service := stepOf[*plan.Service](t, p, "kubelet-service")
	command := shown(service.Command)
	for _, test := range []struct{ arg, reason string }{
		{"--windows-service", "without it Windows can not stop the kubelet in order"},
		{"--hostname-override=blue-win-x7k2p", "or the node's name is what Windows answers"},
		{"--cloud-provider=external", "flag only"},
		{"--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS", "flag only; pods must not starve the kubelet"},
		{"--node-labels=a=1,b=2", "flag only; sorted, so that the same spec gives the same service"},
		{`--bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf`, "kubeadm writes it there"},
		{`--kubeconfig=C:\etc\kubernetes\kubelet.conf`, "kubeadm waits for it"},
		{`--config=C:\var\lib\kubelet\config.yaml`, "kubeadm writes it there"},
	} {
		if !slices.Contains(command, test.arg) {
			t.Errorf("no %s: %s", test.arg, test.reason)
		}
	}
	kubelet := slices.Index(command, `C:\k\kubelet.exe`)
	if !strings.HasSuffix(command[0], "kube-log-runner.exe") || kubelet < 1 {
		t.Errorf("command %q does not run the kubelet in the log runner", command)
	}
	expect.Same(t, "what the service waits for", plan.Texts("containerd"), service.DependsOn)
	restarts := stepOf[*plan.Run](t, p, "kubelet-restarts").Argv
	actions := restarts[len(restarts)-1].String()
	expect.Same(t, "what happens at failures", "restart/10000/restart/30000/restart/60000", actions)
}

// A log runner exits at a flag it does not know, and the kubelet with it.
func TestLogRotationByVersion(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.30.0": false, "v1.33.9": false, "v1.34.0": true, "v1.36.3": true, "v1.37.0-alpha.1": true,
	} {
		service := stepOf[*plan.Service](t, render(t, plainInput(t, ofVersion(version))).Plan(), "kubelet-service")
		rotates := strings.Contains(strings.Join(shown(service.Command), " "), " --log-file-size=")
		if rotates != want {
			t.Errorf("%s: rotates %t, want %t", version, rotates, want)
		}
	}
}
