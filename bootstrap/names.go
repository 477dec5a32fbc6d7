package bootstrap

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/kubelet"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/network"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// What callers need from the rooms behind this one.
type (
	// InvalidError says what the user has to change, and where.
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

// Addressed says whether every address that the machine needs from pools has been assigned.
func Addressed(m *infrav1.WindowsMachine) bool { return network.Addressed(m) }

// CheckAddress says why a node could not work with an address from a pool.
func CheckAddress(one infrav1.NetworkAddress) error { return network.CheckAddress(one) }

// The labels by which a Node says which programs are Windows services on it.
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

// Registered are the labels and taints with which kubeadm join registers a Node of this spec, beside the labels that each kubelet
// gives its own. An *InvalidError says what Render would refuse of them, too.
func Registered(spec bootstrapv1.WindowsBootstrapConfigSpec) (map[string]string, []corev1.Taint, error) {
	return kubelet.Registered(spec.Node, ServiceLabels(spec))
}

// UsesFlannel says whether the settings of the Linux nodes matter to a node of this spec.
func UsesFlannel(spec bootstrapv1.WindowsBootstrapConfigSpec) bool {
	return spec.Network.CNI == bootstrapv1.CNIFlannel
}

// FlannelNamespaces are where the settings may be, in the order in which they are looked for.
func FlannelNamespaces() []string { return network.FlannelNamespaces() }

// FlannelMismatch says why nodes of this spec and the Linux nodes with these settings would not reach each other's pods. It is
// empty when they do.
func FlannelMismatch(spec bootstrapv1.WindowsBootstrapConfigSpec, namespace, settings string) string {
	return network.FlannelMismatch(spec.Network, namespace, settings)
}

// HasKubeProxyService says whether kube-proxy is a Windows service of a node of this spec.
func HasKubeProxyService(spec bootstrapv1.WindowsBootstrapConfigSpec) bool {
	return network.HasKubeProxyService(spec.Network)
}

// KubeProxyNamespace is where DaemonSets of kube-proxy are.
const KubeProxyNamespace = network.KubeProxyNamespace

// SecondKubeProxy warns of a DaemonSet that would run a kube-proxy beside the service of a node of this spec. It is empty if none
// does.
func SecondKubeProxy(spec bootstrapv1.WindowsBootstrapConfigSpec, daemonSets []appsv1.DaemonSet) string {
	labels := network.Labels(spec.Network)
	for name, value := range spec.Node.Labels {
		labels[name] = string(value)
	}
	return network.SecondKubeProxy(spec.Network, labels, daemonSets)
}

// CNISource says what brings the CNI's configuration to a Node of this spec, for one that has none.
func CNISource(spec bootstrapv1.WindowsBootstrapConfigSpec) string {
	return network.CNISource(spec.Network)
}
