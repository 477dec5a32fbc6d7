package addons

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/network"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var update = flag.Bool("update", false, "write the golden texts anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		expect.OK(t, os.WriteFile(path, []byte(got), 0o600))
	}
	expect.Same(t, "go test ./cmd/clusterctl-windows/addons -update writes "+name, string(expect.Got(os.ReadFile(path))(t)), got)
}

const windows = "MachineDeployment default/windows"

// calico is a pool with Calico in a VXLAN, after some changes.
func calico(changes ...func(*Pool)) Pool {
	p := Pool{
		Name: windows, Version: "v1.36.3",
		Network: bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico},
	}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func named(name string) func(*Pool) {
	return func(p *Pool) { p.Name = "MachineDeployment default/" + name }
}

func at(version string) func(*Pool) { return func(p *Pool) { p.Version = version } }

func with(mode bootstrapv1.NetworkMode, cni bootstrapv1.CNI, run bootstrapv1.KubeProxyRun) func(*Pool) {
	return func(p *Pool) {
		p.Network = bootstrapv1.Network{Mode: mode, CNI: cni, KubeProxy: bootstrapv1.KubeProxy{Run: run}}
	}
}

func tainted(taints ...bootstrapv1.NodeTaint) func(*Pool) {
	return func(p *Pool) { p.Taints = &taints }
}

var prod = Cluster{
	Namespace: "default", Name: "prod", Host: "10.0.0.10", Port: 6443,
	Pods: []string{"10.244.0.0/16"}, Services: []string{"10.96.0.0/12"},
}

// TestGoldens: what people apply, byte for byte.
func TestGoldens(t *testing.T) {
	found := expect.Got(Build([]Pool{calico()}, Options{}))(t)
	golden(t, "resourceset.yaml", string(expect.Got(found.ResourceSet(prod))(t)))
	all := calico(func(p *Pool) { p.HyperV = true })
	found = expect.Got(Build([]Pool{all}, Options{CSIProxy: true, Registry: "registry.example.com:5000/windows"}))(t)
	golden(t, "manifests-all.yaml", string(expect.Got(found.Manifests())(t)))
	flannel := calico(named("flannel"), with("L2Bridge", "Flannel", ""), at("v1.35.1"))
	found = expect.Got(Build([]Pool{flannel, calico(with("Overlay", "Calico", "Service"))}, Options{Releases: []string{"2022"}}))(t)
	golden(t, "manifests-nothing.yaml", string(expect.Got(found.Manifests())(t)))
}

// TestPairs: the DaemonSet is for Calico alone, and of each other pool it is said who runs kube-proxy.
func TestPairs(t *testing.T) {
	const daemonSet, service = "kube-proxy is the DaemonSet kube-proxy-windows, of v1.36.3", "a service of the nodes themselves"
	for _, c := range []struct {
		mode bootstrapv1.NetworkMode
		cni  bootstrapv1.CNI
		run  bootstrapv1.KubeProxyRun
		says string
	}{
		{"Overlay", "Calico", "", daemonSet},
		{"L2Bridge", "Calico", "DaemonSet", daemonSet},
		{"Overlay", "Calico", "Service", service},
		{"Overlay", "Calico", "None", "kubeProxy.run is None, so your CNI must do its work"},
		{"Overlay", "Flannel", "", service},
		{"L2Bridge", "Flannel", "Service", service},
		{"L2Bridge", "AzureCNI", "", service},
		{"Overlay", "Flannel", "DaemonSet", "so you must bring one"},
		{"Transparent", "Antrea", "", "whose work Antrea does itself"},
		{"Transparent", "", "", "your CNI must do its work"},
		{"None", "", "", "your CNI must do its work"},
		{"None", "", "DaemonSet", "so you must bring one"},
		{"", "", "", "spec.network is not set, so no kube-proxy is printed"},
	} {
		found := expect.Got(Build([]Pool{calico(with(c.mode, c.cni, c.run))}, Options{}))(t)
		if !strings.Contains(found.Pools[0], c.says) {
			t.Errorf("%s %s %s: %s", c.mode, c.cni, c.run, found.Pools[0])
		}
		expect.Same(t, "DaemonSets with "+found.Pools[0], c.says == daemonSet, len(daemonSets(t, found)) == 1)
	}
}

func daemonSets(t *testing.T, found *Addons) (sets []appsv1.DaemonSet) {
	t.Helper()
	for _, one := range found.Objects {
		if one.GetKind() == "DaemonSet" {
			var set appsv1.DaemonSet
			expect.OK(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(one.Object, &set, true))
			sets = append(sets, set)
		}
	}
	return sets
}

// TestVersions: the image has the Machine's version, and Kubernetes 1.38 is the first that it does not start with.
func TestVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v1.36.3":  "sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess",
		"v1.30.14": "sigwindowstools/kube-proxy:v1.30.14-calico-hostprocess",
		"v1.37.2":  "sigwindowstools/kube-proxy:v1.37.2-calico-hostprocess",
		"v1.33.1+rke2r1": windows + `: the version of Kubernetes is "v1.33.1+rke2r1", and kube-proxy's image is built of ` +
			"upstream's releases alone; without -f, --kubernetes-version v1.33.1 --mode Overlay --cni Calico names it, or set " +
			"spec.network.kubeProxy.run: Service",
		"v1.38.0": windows + ": the image of kube-proxy v1.38.0 with Calico does not start: its start.ps1 names " +
			"the gates WinDSR and WinOverlay, which Kubernetes 1.38 no longer has " +
			"(https://github.com/kubernetes/kubernetes/pull/142125); set spec.network.kubeProxy.run: Service",
		"v1.36": windows + `: the version of Kubernetes is "v1.36", by which no image is found; write a full ` +
			"one, such as v1.36.3",
		"1.36.3": windows + `: the version of Kubernetes is "1.36.3", by which no image is found; write a full ` +
			"one, such as v1.36.3",
		"": windows + ": the version of Kubernetes is not set, which is the tag of kube-proxy's image; add " +
			"--kubernetes-version, such as v1.36.3",
	} {
		found, err := Build([]Pool{calico(at(version))}, Options{})
		got := textOf(err)
		if err == nil {
			got = daemonSets(t, found)[0].Spec.Template.Spec.Containers[0].Image
		}
		expect.Same(t, "version "+version, want, got)
	}
	later := calico(at("v1.38.0"), with("Overlay", "Calico", "Service"))
	expect.Same(t, "a service of 1.38", 0, len(daemonSets(t, expect.Got(Build([]Pool{later}, Options{}))(t))))
}

// TestRefused: what would not work, and pools of which each wants something else.
func TestRefused(t *testing.T) {
	other := bootstrapv1.NodeTaint{Key: "dedicated", Value: "build", Effect: corev1.TaintEffectNoSchedule}
	for want, c := range map[string]struct {
		pools   []Pool
		options Options
	}{
		"WindowsBootstrapConfig spec.network.cni: Antrea does not work in mode Overlay; use Flannel or Calico, or " +
			"another mode": {
			[]Pool{calico(with("Overlay", "Antrea", ""))}, Options{},
		},
		"--mode L2Tunnel: Azure CNI no longer has L2Tunnel: since 2024 its azure-vnet makes an L2Bridge in every mode; use L2Bridge": {
			[]Pool{calico(with("L2Tunnel", "AzureCNI", ""), func(p *Pool) { p.Name = "" })}, Options{},
		},
		"MachineDeployment default/b: the version of kube-proxy's DaemonSet is v1.35.0, but for " + windows + " it is " +
			"v1.36.3, and a cluster has one for all; choose a pool with --machine": {
			[]Pool{calico(), calico(named("b"), at("v1.35.0"))}, Options{},
		},
		"MachineDeployment default/b: the list of taints is dedicated=build:NoSchedule, but for " + windows + " it is " +
			"os=windows:NoSchedule, and a cluster has one for all; choose a pool with --machine": {
			[]Pool{calico(), calico(named("b"), tainted(other))}, Options{},
		},
		windows + ": spec.network.hnsNetworkName is \"pods\", but the image of kube-proxy waits for the network " +
			"Calico; remove it, or set spec.network.kubeProxy.run: Service": {
			[]Pool{calico(func(p *Pool) { p.Network.HNSNetworkName = "pods" })}, Options{},
		},
		windows + ": spec.windows.csiProxy makes csi-proxy a service of these nodes, and --csi-proxy would " +
			"start a second one there; remove one of the two": {
			[]Pool{calico(func(p *Pool) { p.CSIProxy = true })}, Options{CSIProxy: true},
		},
		windows + ": spec.containerd.hyperVIsolation is not Enabled, so no node starts the pods of --hyper-v; " +
			"set it, or leave the flag out": {
			[]Pool{calico()}, Options{HyperV: true},
		},
		`--windows "2016" is not a release of Windows Server; use 2019, 2022, 23h2, 2025`: {
			[]Pool{calico()}, Options{Releases: []string{"2016"}},
		},
		`--registry "https://a/b" is not the beginning of an image's name; write one such as registry.example.com/mirror`: {
			[]Pool{calico()}, Options{Registry: "https://a/b"},
		},
	} {
		_, err := Build(c.pools, c.options)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestTaints: a RuntimeClass tolerates what the Nodes of the pool have.
func TestTaints(t *testing.T) {
	for name, c := range map[string]struct {
		pool Pool
		want []any
	}{
		"by default": {calico(), []any{map[string]any{
			"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule",
		}}},
		"none": {calico(tainted()), nil},
		"others": {
			calico(tainted(bootstrapv1.NodeTaint{Key: "a", Effect: corev1.TaintEffectNoExecute})),
			[]any{map[string]any{"key": "a", "operator": "Equal", "effect": "NoExecute"}},
		},
	} {
		found := expect.Got(Build([]Pool{c.pool}, Options{Releases: []string{"2025"}}))(t)
		class := found.Objects[len(found.Objects)-1].Object
		scheduling, _ := class["scheduling"].(map[string]any)
		tolerations, _ := scheduling["tolerations"].([]any)
		expect.Same(t, "tolerations, "+name, c.want, tolerations)
		expect.Same(t, "selector, "+name, any(map[string]any{
			"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.26100",
		}), scheduling["nodeSelector"])
	}
}

// TestNoSecondProxy: the bootstrap controller, which warns of a DaemonSet beside the service of a node, says nothing of ours;
// without its affinity it would.
func TestNoSecondProxy(t *testing.T) {
	sets := daemonSets(t, expect.Got(Build([]Pool{calico()}, Options{}))(t))
	node := calico(with("Overlay", "Calico", "Service")).Network
	expect.Same(t, "with the affinity", "", network.SecondKubeProxy(node, network.Labels(node), sets))
	sets[0].Spec.Template.Spec.Affinity = nil
	if network.SecondKubeProxy(node, network.Labels(node), sets) == "" {
		t.Error("a DaemonSet without the affinity is no second kube-proxy")
	}
}

// TestUnwritable: what cannot be written is told, with its name, and no part of it is handed out as if it were all.
func TestUnwritable(t *testing.T) {
	odd := &unstructured.Unstructured{Object: map[string]any{
		"kind": "ConfigMap", "metadata": map[string]any{"name": "odd"}, "data": func() {},
	}}
	found := expect.Got(Build([]Pool{calico()}, Options{}))(t)
	found.Objects = append(found.Objects, odd)
	for what, write := range map[string]func() ([]byte, error){
		"manifests": found.Manifests, "a resource set": func() ([]byte, error) { return found.ResourceSet(prod) },
	} {
		text, err := write()
		expect.Says(t, what, err, "write ConfigMap odd: ")
		expect.Same(t, what+": objects in it", 0, strings.Count(string(text), "kind:"))
	}
}
