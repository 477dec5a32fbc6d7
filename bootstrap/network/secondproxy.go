package network

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// KubeProxyNamespace is where kube-proxy's DaemonSets are: a pod can mount kubeadm's ConfigMap kube-proxy only there, as those do
// that are published (kubernetes-sigs/sig-windows-tools 401ee6f, hostprocess/calico/kube-proxy/kube-proxy.yml).
const KubeProxyNamespace = "kube-system"

// HasKubeProxyService reports whether kube-proxy is a service of a node of this spec.
func HasKubeProxyService(spec bootstrapv1.Network) bool {
	return KubeProxyRun(spec) == bootstrapv1.KubeProxyService
}

// SecondKubeProxy warns of a DaemonSet that runs a kube-proxy beside the node's own. It is empty if none of them does. The labels
// are those that the spec gives the Node. At its start each kube-proxy removes all policies of load balancers from HNS
// (kubernetes v1.36.3, pkg/proxy/winkernel/proxier.go, newProxierInternal).
func SecondKubeProxy(spec bootstrapv1.Network, nodeLabels map[string]string, daemonSets []appsv1.DaemonSet) string {
	for _, set := range daemonSets {
		pod := set.Spec.Template.Spec
		if HasKubeProxyService(spec) && slices.ContainsFunc(pod.Containers, RunsKubeProxy) && isForWindows(pod, nodeLabels) {
			return fmt.Sprintf("%s.kubeProxy.run: it is Service, and the DaemonSet %s/%s runs another kube-proxy on this node: each "+
				"removes the other's load balancers from HNS when it starts, and both need port 10256; remove the DaemonSet, have it "+
				"leave out Nodes with the label %s=%s, or set run to DaemonSet",
				fieldNetwork, set.Namespace, set.Name, LabelKubeProxy, LabelService)
		}
	}
	return ""
}

// HasKubeProxyPods reports whether a DaemonSet brings kube-proxy to a node of this spec.
func HasKubeProxyPods(spec bootstrapv1.Network) bool {
	return KubeProxyRun(spec) == bootstrapv1.KubeProxyDaemonSet
}

// RemovedGate warns of a DaemonSet whose kube-proxy comes to this node with a feature gate that its version no longer has: it
// ends at once. It is empty if none does.
func RemovedGate(minor uint64, gates []string, nodeLabels map[string]string, daemonSets []appsv1.DaemonSet) string {
	for _, set := range daemonSets {
		pod := set.Spec.Template.Spec
		for _, gate := range gates {
			names := func(c corev1.Container) bool { return RunsKubeProxy(c) && namesGate(c, gate) }
			if slices.ContainsFunc(pod.Containers, names) && isForWindows(pod, nodeLabels) {
				return fmt.Sprintf("%s.kubeProxy.run: it is DaemonSet, and the DaemonSet %s/%s gives kube-proxy the feature gate %s, "+
					"which kube-proxy of v1.%d no longer has, so that it would end at once; remove the gate from the DaemonSet",
					fieldNetwork, set.Namespace, set.Name, gate, minor)
			}
		}
	}
	return ""
}

// namesGate looks at all that a container is given by its DaemonSet.
func namesGate(c corev1.Container, gate string) bool {
	texts := slices.Concat(c.Command, c.Args)
	for _, variable := range c.Env {
		texts = append(texts, variable.Value)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, gate+"=") })
}

// How kube-proxy is found in a command, an argument or a path, and in the name of an image.
var (
	kubeProxyProgram = regexp.MustCompile(`(^|[\s/\\"'=])kube-proxy(\.exe)?($|[\s/\\"'])`)
	kubeProxyImage   = regexp.MustCompile(`(^|/)kube-proxy[^/]*$`)
)

// RunsKubeProxy goes by the container's name, by its image and by what it starts.
func RunsKubeProxy(c corev1.Container) bool {
	return c.Name == "kube-proxy" || kubeProxyImage.MatchString(c.Image) ||
		slices.ContainsFunc(slices.Concat(c.Command, c.Args), kubeProxyProgram.MatchString)
}

// isForWindows reports whether such a pod comes to this node, and would not if that ran Linux. Taints are not looked at: the
// DaemonSets of kube-proxy tolerate all.
func isForWindows(pod corev1.PodSpec, nodeLabels map[string]string) bool {
	comesTo := func(os string) bool {
		node := labels.Set{corev1.LabelOSStable: os, "beta.kubernetes.io/os": os}
		maps.Copy(node, nodeLabels)
		return selects(pod, node)
	}
	return comesTo("windows") && !comesTo("linux")
}

func selects(pod corev1.PodSpec, node labels.Set) bool {
	for name, value := range pod.NodeSelector {
		if !holds(corev1.NodeSelectorRequirement{Key: name, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}, node) {
			return false
		}
	}
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil {
		return true
	}
	required := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return required == nil || slices.ContainsFunc(required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		unmet := func(r corev1.NodeSelectorRequirement) bool { return !holds(r, node) }
		return !slices.ContainsFunc(term.MatchExpressions, unmet)
	})
}

// operators are the words of labels for those of the API.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// ofKubernetes are labels that the kubelet or a cloud provider writes, such as that of the architecture.
var ofKubernetes = regexp.MustCompile(`^([a-z0-9.-]+\.)?(kubernetes|k8s)\.io/`)

// holds takes a label of Kubernetes that the spec does not give for one that suits the pod.
func holds(wanted corev1.NodeSelectorRequirement, node labels.Set) bool {
	if !node.Has(wanted.Key) && ofKubernetes.MatchString(wanted.Key) {
		return true
	}
	requirement, err := labels.NewRequirement(wanted.Key, operators[wanted.Operator], wanted.Values)
	return err == nil && requirement.Matches(node)
}
