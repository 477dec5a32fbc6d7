package servers

import (
	"fmt"
	"strings"
	"time"
)

// The modules of test/repo/tools/go.mod that name the versions of what we run.
const (
	kubernetesModule = "k8s.io/kubernetes"
	capiModule       = "sigs.k8s.io/cluster-api"
	etcdModule       = "go.etcd.io/etcd/server/v3"
	envtestModule    = "sigs.k8s.io/controller-runtime/tools/setup-envtest"
	cloudModule      = "k8s.io/cloud-provider-vsphere"
)

// program is one executable of the servers folder.
type program struct {
	name   string
	module string
	pkg    string
	// cost is what a first build takes on two cores, for the person who waits.
	cost time.Duration
	// envtest: setup-envtest has it ready-made.
	envtest bool
}

// programs in the order in which they are built: what shares packages stands together.
var programs = []program{
	{name: "etcd", module: etcdModule, pkg: etcdModule, cost: time.Minute, envtest: true},
	{
		name: "kube-apiserver", module: kubernetesModule, pkg: kubernetesModule + "/cmd/kube-apiserver",
		cost: 3 * time.Minute, envtest: true,
	},
	{name: "kubectl", module: kubernetesModule, pkg: kubernetesModule + "/cmd/kubectl", cost: 20 * time.Second, envtest: true},
	{
		name: "kube-controller-manager", module: kubernetesModule, pkg: kubernetesModule + "/cmd/kube-controller-manager",
		cost: time.Minute,
	},
	{name: "kube-scheduler", module: kubernetesModule, pkg: kubernetesModule + "/cmd/kube-scheduler", cost: 10 * time.Second},
	{name: "kubeadm", module: kubernetesModule, pkg: kubernetesModule + "/cmd/kubeadm", cost: 10 * time.Second},
	{name: cloudControllerManager, module: cloudModule, pkg: cloudModule + "/cmd/" + cloudControllerManager, cost: time.Minute},
	{name: "capi-core", module: capiModule, pkg: capiModule + "/core", cost: 30 * time.Second},
	{name: "capi-kubeadm-bootstrap", module: capiModule, pkg: capiModule + "/bootstrap/kubeadm", cost: 10 * time.Second},
	{name: "capi-kubeadm-control-plane", module: capiModule, pkg: capiModule + "/controlplane/kubeadm", cost: 10 * time.Second},
	{name: "clusterctl", module: capiModule, pkg: capiModule + "/cmd/clusterctl", cost: 10 * time.Second},
}

// packages are what all programs are made from, and the names that they get.
func packages() (all [][2]string) {
	for _, p := range programs {
		all = append(all, [2]string{p.name, p.pkg})
	}
	return all
}

// providers are the parts of Cluster API with their manifests, core first; each runs the program of the same name.
var providers = []provider{
	{name: "capi-core", config: "core/config/default"},
	{name: "capi-kubeadm-bootstrap", config: "bootstrap/kubeadm/config/default"},
	{name: "capi-kubeadm-control-plane", config: "controlplane/kubeadm/config/default"},
}

// stamps are the packages that hold the version a program reports. etcd has its version in its source.
var stamps = map[string][]string{
	kubernetesModule: {"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"},
	capiModule:       {"sigs.k8s.io/cluster-api/version"},
	caaph.path:       {"sigs.k8s.io/cluster-api-addon-provider-helm/version"},
}

// ldflags leave out debug data (a third of the size) and stamp the version, which `go build` of a dependency does not.
func ldflags(module, version string) string {
	flags := []string{"-s", "-w"}
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	for _, pkg := range stamps[module] {
		for _, value := range [][2]string{
			{"gitVersion", version}, {"gitMajor", major}, {"gitMinor", minor}, {"gitTreeState", "clean"},
		} {
			flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, value[0], value[1]))
		}
	}
	return strings.Join(flags, " ")
}
