package bootstrap

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/calico"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/kubelet"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/network"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// What callers need from the rooms behind this one.
type (
	// InvalidError has what the user must change, and where.
	InvalidError = step.InvalidError
	// Source is a key of a Secret or ConfigMap that a config refers to.
	Source = step.Source
	// Size of a machine. What is 0 is not known.
	Size = kubelet.Size
)

// SourceSecret is the kind of a Source that is in a Secret.
const SourceSecret = step.SourceSecret

// PhaseNames are the names that a phase of a bootstrap may have, in the order of the phases.
func PhaseNames() []string { return step.PhaseNames() }

// Reasons are all that a node may give for a failed bootstrap. docs/conditions.md lists them; a test compares.
func Reasons() []string { return step.Reasons() }

// Allocatable is what the Node of a machine will offer to pods.
func Allocatable(spec bootstrapv1.WindowsBootstrapConfigSpec, size Size) (corev1.ResourceList, error) {
	return kubelet.Allocatable(spec, size)
}

// Addressed reports whether every address that the machine needs from pools has been assigned.
func Addressed(m *infrav1.WindowsMachine) bool { return network.Addressed(m) }

// CheckAddress returns why a node could not work with an address from a pool.
func CheckAddress(address infrav1.NetworkAddress) error { return network.CheckAddress(address) }

// The labels of a Node for the programs that are Windows services on it.
const (
	LabelKubeProxy = network.LabelKubeProxy
	LabelFlannel   = network.LabelFlannel
	LabelService   = network.LabelService
)

// Where Flannel keeps the settings of the Linux nodes.
const (
	FlannelConfigMap = network.FlannelConfigMap
	FlannelConfigKey = network.FlannelConfigKey
)

// ServiceLabels are the labels of that kind which a Node of this spec gets at its join.
func ServiceLabels(spec bootstrapv1.WindowsBootstrapConfigSpec) map[string]string {
	return network.Labels(spec.Network)
}

// Registered are the labels and taints with which kubeadm join registers the Node of this spec and machine, beside the labels
// that each kubelet gives its own. An *InvalidError has what Render would refuse of them, too.
func Registered(
	spec bootstrapv1.WindowsBootstrapConfigSpec, m *infrav1.WindowsMachine,
) (map[string]string, []corev1.Taint, error) {
	return kubelet.Registered(spec.Node, ServiceLabels(spec), m)
}

// CheckCluster returns why no node of this config works with the Cluster's network: it is what Render refuses of that, and can be
// checked long before there is anything to render. An address of the machine counts once it is known; the machine may be nil.
func CheckCluster(cluster *clusterv1.Cluster, config *bootstrapv1.WindowsBootstrapConfig, windows *infrav1.WindowsMachine) error {
	in := network.Input{
		Spec: config.Spec.Network, ClusterNetwork: cluster.Spec.ClusterNetwork, Endpoint: cluster.Spec.ControlPlaneEndpoint.Host,
	}
	if windows != nil && network.Addressed(windows) {
		in.Adapters, _ = network.ReadAdapters(windows) // Render reports what is wrong with them
	}
	return network.CheckCluster(in)
}

// UsesFlannel reports whether the settings of the Linux nodes matter to a node of this spec.
func UsesFlannel(spec bootstrapv1.WindowsBootstrapConfigSpec) bool {
	return spec.Network.CNI == bootstrapv1.CNIFlannel
}

// FlannelNamespaces are where the settings may be, in the order in which they are looked for.
func FlannelNamespaces() []string { return network.FlannelNamespaces() }

// FlannelMismatch returns why nodes of this spec and the Linux nodes with these settings would not reach each other's pods. It is
// empty when they do.
func FlannelMismatch(spec bootstrapv1.WindowsBootstrapConfigSpec, namespace, settings string) string {
	return network.FlannelMismatch(spec.Network, namespace, settings)
}

// IPPool is a pool of Calico's addresses.
type IPPool = calico.IPPool

// Block is what Calico gives a Windows node of a pool.
type Block = calico.Block

// SmallestBlock is the smallest that a Windows node may get of these pools.
func SmallestBlock(pools []IPPool) Block { return calico.SmallestBlock(pools) }

// UsesCalico reports whether the pods of a node of this spec get their addresses of Calico's pools.
func UsesCalico(spec bootstrapv1.WindowsBootstrapConfigSpec) bool {
	return spec.Network.CNI == bootstrapv1.CNICalico
}

// MaxPods is how many pods the kubelet of this spec takes, default included.
func MaxPods(spec bootstrapv1.WindowsBootstrapConfigSpec) int { return kubelet.MaxPods(spec.Kubelet) }

// KubeProxyRun returns what runs kube-proxy on a node with this network, default included.
func KubeProxyRun(spec bootstrapv1.Network) bootstrapv1.KubeProxyRun {
	return network.KubeProxyRun(spec)
}

// RunsKubeProxy reports whether a container of a DaemonSet is a kube-proxy, by its name, its image and what it starts.
func RunsKubeProxy(c corev1.Container) bool { return network.RunsKubeProxy(c) }

// CheckPair returns why no node has this mode with this CNI, or runs kube-proxy in this way with them.
func CheckPair(spec bootstrapv1.Network) error { return network.CheckPair(spec) }

// KubeProxyNamespace is where DaemonSets of kube-proxy are.
const KubeProxyNamespace = network.KubeProxyNamespace

// HasWrongKubeProxy reports whether a DaemonSet of kube-proxy can be wrong for a node of this spec and version.
func HasWrongKubeProxy(spec bootstrapv1.WindowsBootstrapConfigSpec, version string) bool {
	_, gates := removedGates(version)
	return network.HasKubeProxyService(spec.Network) || len(gates) > 0 && network.HasKubeProxyPods(spec.Network)
}

// WrongKubeProxy warns of a DaemonSet that would run a kube-proxy beside the service of a node of this spec, or one that does not
// know a feature gate which it is given. It is empty if none does.
func WrongKubeProxy(spec bootstrapv1.WindowsBootstrapConfigSpec, version string, daemonSets []appsv1.DaemonSet) string {
	labels := network.Labels(spec.Network)
	for name, value := range spec.Node.Labels {
		labels[name] = string(value)
	}
	if network.HasKubeProxyPods(spec.Network) {
		minor, gates := removedGates(version)
		return network.RemovedGate(minor, gates, labels, daemonSets)
	}
	return network.SecondKubeProxy(spec.Network, labels, daemonSets)
}

// removedGates are none for a version that the rendering refuses.
func removedGates(version string) (minor uint64, gates []string) {
	minor, err := readMinor(version)
	if err != nil {
		return 0, nil
	}
	return minor, kubelet.RemovedGates(minor)
}

// CNISource names what brings the CNI's configuration to a Node of this spec, for one that has none.
func CNISource(spec bootstrapv1.WindowsBootstrapConfigSpec) string {
	return network.CNISource(spec.Network)
}

// WantsCNIDaemonSet reports whether nothing but a DaemonSet of the cluster brings a CNI to a Node of this spec.
func WantsCNIDaemonSet(spec bootstrapv1.WindowsBootstrapConfigSpec) bool {
	return network.WantsDaemonSet(spec.Network)
}
