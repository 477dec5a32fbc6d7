package guest

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/merge"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const goodKubelet = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: npipe:////./pipe/containerd-containerd
cgroupsPerQOS: false
enforceNodeAllocatable: [none]
`

func TestKubeletConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, patch, problem string }{
		{"good", ``, ""},
		{"a Linux cluster's defaults", `{"cgroupsPerQOS":true,"enforceNodeAllocatable":["pods"]}`, ""},
		{"no list falls back to pods", `{"enforceNodeAllocatable":null}`, "cgroupsPerQOS (--cgroups-per-qos) must be set to true"},
		{"an empty list does not", `{"enforceNodeAllocatable":[]}`, ""},
		{"swap", `{"memorySwap":{"swapBehavior":"LimitedSwap"}}`, "only supported with cgroupv2"},
		{"a socket for images", `{"imageServiceEndpoint":"unix:///run/containerd.sock"}`, "only support tcp and npipe endpoint"},
		{"a certificate of Linux", `{"tlsCertFile":"/var/lib/kubelet/pki/node.crt"}`, "is a file that is not there"},
		{"cpus of Linux", `{"reservedSystemCPUs":"0-1"}`, "they belong to Linux nodes"},
		{"pods per core", `{"podsPerCore":10}`, "they belong to Linux nodes"},
		{"unknown field", `{"providerId":"x"}`, `unknown field "providerId"`},
		{"unknown enforcement", `{"enforceNodeAllocatable":["all"]}`, `option "all" specified`},
		{"none and more", `{"enforceNodeAllocatable":["none","pods"]}`, "may not contain additional enforcements"},
		{"no cgroup for it", `{"enforceNodeAllocatable":["kube-reserved"]}`, "a cgroup must be specified"},
		{"reserved what is not a resource", `{"kubeReserved":{"gpu":"1"}}`, `cannot reserve "gpu" resource`},
		{"reserved less than nothing", `{"systemReserved":{"memory":"-1Gi"}}`, "cannot be negative"},
		{"unknown signal", `{"evictionHard":{"memory.free":"1Gi"}}`, "unsupported eviction signal"},
		{"percentage over 100", `{"evictionHard":{"nodefs.available":"120%"}}`, "must be 0 to 100%"},
		{"a resolver file", `{"resolvConf":"/etc/resolv.conf"}`, "resolvConf must be"},
		{"grace", `{"shutdownGracePeriod":"10s","shutdownGracePeriodCriticalPods":"20s"}`, "must be <= shutdownGracePeriod"},
		{"managed CPUs", `{"cpuManagerPolicy":"static"}`, "WindowsCPUAndMemoryAffinity"},
		{"CPUs that may be managed", `{"cpuManagerPolicy":"static","featureGates":{"WindowsCPUAndMemoryAffinity":true}}`, ""},
		{"no pipe", `{"containerRuntimeEndpoint":"unix:///run/containerd.sock"}`, "is not a named pipe"},
		{"less than no pods", `{"maxPods":-1}`, "must not be a negative number"},
		{"another version", `{"apiVersion":"kubelet.config.k8s.io/v1"}`, `no kind "KubeletConfiguration" is registered`},
	} {
		_, err := readKubeletConfig(patched(t, goodKubelet, cmp.Or(c.patch, "{}")), defaultVersion)
		expect.Says(t, c.name, err, c.problem)
	}
}

func patched(t *testing.T, config, patch string) []byte {
	t.Helper()
	tree, err := toTree([]byte(config))
	change, failed := toTree([]byte(patch))
	expect.OK(t, errors.Join(err, failed))
	merge.Into(tree, change)
	return expect.Got(yaml.Marshal(tree))(t)
}

// TestLabIsLikeTheRealKubelet: test/upstream/kubelet asks the real one about the same files.
func TestLabIsLikeTheRealKubelet(t *testing.T) {
	t.Parallel()
	const folder = "../../upstream/kubelet/testdata/"
	says := map[string]string{
		"exits": "singleProcessOOMKill is not", "exits-too": "userNamespaces is not", "run-once": "runOnce",
		"wrong-type":   "cannot unmarshal",
		"unknown-gate": "unrecognized feature gate: WinDRS",
		"locked-gate":  "cannot set feature gate WinDSR to false, feature is locked to true",
		"one-log-file": "containerLogMaxFiles", "no-log-workers": "containerLogMaxWorkers",
		"gate-needs":       "TopologyAwareWorkloadScheduling is enabled, but depends on",
		"gate-is-needed":   "depends on features that are disabled",
		"hasty-monitor":    "containerLogMonitorInterval",
		"image-thresholds": "imageGCLowThresholdPercent", "image-ages": "imageMaximumGCAge", "parallel-pulls": "maxParallelImagePulls",
		"grace-periods": "must be <= shutdownGracePeriod", "grace-twice": "Cannot specify both", "negative-burst": "eventBurst",
		"log-format": "log format", "port": "port", "lease": "nodeLeaseDurationSeconds",
		"hidden-metrics": "showHiddenMetricsForVersion",
		"cgroups-only":   "cgroupsPerQOS (--cgroups-per-qos) must be set to true",
	}
	for _, file := range append(files(t, folder+"configurations/*.json"), files(t, folder+"refused/*.json")...) {
		text := expect.Got(os.ReadFile(file))(t)
		text = patched(t, string(text), `{"resolvConf":""}`) // as kubeadm does
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		want, refused := says[name]
		_, err := readKubeletConfig(text, defaultVersion)
		if refused != strings.Contains(file, "/refused/") || refused && (err == nil || !strings.Contains(err.Error(), want)) ||
			!refused && err != nil {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v %v", pattern, found, err)
	}
	return found
}

func TestAllocatable(t *testing.T) {
	t.Parallel()
	config, err := readKubeletConfig([]byte(goodKubelet+`
kubeReserved: {cpu: 100m, memory: 1Gi}
systemReserved: {cpu: 400m, memory: 2Gi, pid: "100"}
evictionHard: {memory.available: 500Mi, nodefs.available: 10%, imagefs.available: 15%}
`), defaultVersion)
	expect.OK(t, err)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("80Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	got := map[string]string{}
	for name, amount := range allocatable(capacity, config) {
		got[string(name)] = amount.String()
	}
	want := map[string]string{"cpu": "3500m", "memory": "12812Mi", "ephemeral-storage": "77309411200", "pods": "110"}
	expect.Same(t, "", want, got)
}

// The two forms are those of the test of cloud-provider-vsphere (pkg/cloudprovider/vsphere/util_test.go, TestUUIDConvert).
func TestSystemUUID(t *testing.T) {
	if got := systemUUID("422e4956-ad22-1139-6d72-59cc8f26bc90"); got != "56492E42-22AD-3911-6D72-59CC8F26BC90" {
		t.Errorf("system UUID %s", got)
	}
}

func TestKubeletFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, flags, problem string }{
		{"ours", "--windows-service --cert-dir=C:\\p --hostname-override=n --cloud-provider=external " +
			"--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS --node-labels=a.b/c=d", ""},
		{
			"image-builder's",
			"--windows-service --enable-debugging-handlers --cgroups-per-qos=false --enforce-node-allocatable= --resolv-conf=",
			"",
		},
		{"removed", "--pod-infra-container-image=pause", "unknown flag: --pod-infra-container-image"},
		{"misspelt", "--windows-servise", "unknown flag"},
		{"known but not played", "--max-pods=5", "does not play --max-pods"},
		{"priority", "--windows-priorityclass=HIGH", "unknown priority class HIGH"},
		{"in-tree provider", "--cloud-provider=vsphere", "unknown cloud provider"},
		{"a label of Kubernetes", "--node-labels=node-role.kubernetes.io/worker=", "unknown 'kubernetes.io' or 'k8s.io' labels"},
		{"an allowed one", "--node-labels=node.kubernetes.io/pool=a,topology.kubernetes.io/zone=z", ""},
		{"no pair", "--node-labels=a", "malformed pair"},
		{"an argument", "extra", "unknown command"},
	} {
		_, err := readKubeletFlags(append(strings.Fields(c.flags), `--config=C:\c`, `--kubeconfig=C:\k`), defaultVersion)
		expect.Says(t, c.name, err, c.problem)
	}
}

func TestLogRunnerFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, version, args, file, problem string }{
		{"plain", "v1.30.0", "--log-file=C:/var/log/k.log kubelet.exe --v=2", `C:\var\log\k.log`, ""},
		{"rotates", "v1.34.0", "--log-file=C:/k.log --log-file-size=50Mi --log-file-age=168h kubelet.exe", `C:\k.log`, ""},
		{
			"too old to rotate", "v1.33.9", "--log-file=C:/k.log --log-file-size=50Mi kubelet.exe", "",
			"flag provided but not defined: -log-file-size",
		},
		{"nothing to run", "v1.36.3", "--log-file=C:/k.log", "", "no command"},
	} {
		file, _, err := logRunnerFlags(strings.Fields(c.args), c.version)
		if file != c.file || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %q, %v", c.name, file, err)
		}
	}
}

func TestJoinConfigurations(t *testing.T) {
	t.Parallel()
	pin := strings.Repeat("a1", 32)
	rest := `
nodeRegistration: {name: win-1, criSocket: "npipe:////./pipe/containerd-containerd", taints: [{key: os,
value: windows, effect: NoSchedule}]}
discovery: {bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: "10.0.0.1:6443",
caCertHashes: ["sha256:` + pin + `"]}}
`
	head := func(version string) string {
		return "kind: JoinConfiguration\napiVersion: kubeadm.k8s.io/" + version + rest
	}
	for _, c := range []struct{ name, version, text, problem string }{
		{"v1beta4", "v1.36.3", head("v1beta4"), ""},
		{"v1beta3", "v1.30.0", head("v1beta3"), ""},
		{"too new for kubeadm", "v1.30.0", head("v1beta4"), "does not know"},
		{"too old an API", "v1.36.3", head("v1beta2"), "not supported"},
		{
			"another kind", "v1.36.3", strings.Replace(head("v1beta4"), "JoinConfiguration", "InitConfiguration", 1),
			"no JoinConfiguration found",
		},
		{"unknown field", "v1.36.3", head("v1beta4") + "patch: {}\n", `unknown field "patch"`},
		{"control plane", "v1.36.3", head("v1beta4") + "controlPlane: {}\n", "can not be a control plane"},
		{"phases", "v1.36.3", head("v1beta4") + "skipPhases: [preflight]\n", "plays neither skipPhases"},
		{"no pins", "v1.36.3", strings.Replace(head("v1beta4"), `["sha256:`+pin+`"]`, "[]", 1), "without caCertHashes can be unsafe"},
		{"no port", "v1.36.3", strings.Replace(head("v1beta4"), "10.0.0.1:6443", "10.0.0.1", 1), "missing port"},
		{
			"token and file", "v1.36.3",
			strings.Replace(head("v1beta4"), "discovery: {", "discovery: {file: {kubeConfigPath: C:/f}, ", 1),
			"cannot both be set",
		},
		{"blank in the name", "v1.36.3", strings.Replace(head("v1beta4"), "win-1", "win 1", 1), "RFC 1123"},
		{"no token", "v1.36.3", strings.Replace(head("v1beta4"), "abcdef.0", "abcdef-0", 1), "token is invalid"},
		{"upper case", "v1.36.3", strings.Replace(head("v1beta4"), "win-1", "WIN-1", 1), "lower case"},
	} {
		_, err := readJoinConfig([]byte(c.text), c.version)
		expect.Says(t, c.name, err, c.problem)
	}
}

func TestPins(t *testing.T) {
	t.Parallel()
	good := "sha256:" + strings.Repeat("a1", 32)
	for _, pins := range [][]string{nil, {good}, {strings.ToUpper(good), good}} {
		expect.Fine(t, checkPins(pins))
	}
	for _, bad := range []string{"", good[:20], good + "00", good[7:], "sha512:" + good[7:], strings.Replace(good, "a", "g", 1)} {
		if checkPins([]string{good, bad}) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestVersionOfTheCluster(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kubeadm, cluster, problem string }{
		{"v1.36.3", "kubernetesVersion: v1.36.3", ""},
		{"v1.36.3", "kubernetesVersion: v1.35.0", ""},
		{"v1.36.3", "kubernetesVersion: v1.37.1", ""},
		{"v1.36.3", "kubernetesVersion: v1.34.9", "only supports deploying clusters with the control plane version >= 1.35.0"},
		{"v1.36.3", "", "couldn't parse Kubernetes version"},
		{"v1.31.0", "apiVersion: kubeadm.k8s.io/v1beta4\nkubernetesVersion: v1.32.0", ""},
		{
			"v1.30.9", "apiVersion: kubeadm.k8s.io/v1beta4\nkubernetesVersion: v1.32.0",
			`is registered for version "kubeadm.k8s.io/v1beta4"`,
		},
		{"v1.30.9", "apiVersion: kubeadm.k8s.io/v1beta3\nkubernetesVersion: v1.32.0", ""},
	} {
		err := versionFits(c.cluster, c.kubeadm)
		expect.Says(t, c.cluster, err, c.problem)
	}
}

// A node on which all is well, and then not.
func TestWhatMustBeThere(t *testing.T) {
	t.Parallel()
	const endpoint = "npipe:////./pipe/" + containerdPipe
	for _, c := range []struct {
		name    string
		change  func(m *windows.Machine, n *node)
		kubelet string
		kubeadm string
	}{
		{"all is well", func(*windows.Machine, *node) {}, "", ""},
		{"no runtime", func(m *windows.Machine, _ *node) { m.ClosePipe(containerdPipe) }, "validate CRI v1 runtime API", "[ERROR CRI]"},
		{"a kubelet runs", func(m *windows.Machine, _ *node) { m.OpenPipe(kubeletPort) }, "", "Port 10250 is in use"},
		{"no CA of clients", func(_ *windows.Machine, n *node) {
			n.config.Authentication.X509.ClientCAFile = "C:/etc/kubernetes/pki/ca.crt"
		}, "unable to load client CA file", ""},
		{
			"half of what providers need", func(_ *windows.Machine, n *node) { n.flags.providersDir = `C:\Windows` },
			"failed to register CRI auth plugins", "",
		},
	} {
		m := expect.Got(windows.New(t.TempDir()))(t)
		m.OpenPipe(containerdPipe)
		var said strings.Builder
		call := &windows.Call{Machine: m, Stdout: io.Discard, Stderr: &said}
		n := &node{call: call, flags: &kubeletFlags{}, config: &kubeletv1.KubeletConfiguration{ContainerRuntimeEndpoint: endpoint}}
		c.change(m, n)
		if err := n.findsAll(); c.kubelet == "" && err != nil || c.kubelet != "" &&
			(err == nil || !strings.Contains(err.Error(), c.kubelet)) {
			t.Errorf("%s: the kubelet says %v, want %q", c.name, err, c.kubelet)
		}
		j := &joining{call: call, machine: m, config: &joinConfig{criSocket: endpoint}}
		if err := j.preflight(); (err == nil) != (c.kubeadm == "") || !strings.Contains(said.String(), c.kubeadm) {
			t.Errorf("%s: kubeadm says %v, %s, want %q", c.name, err, said.String(), c.kubeadm)
		}
	}
}
