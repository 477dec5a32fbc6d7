package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capilabels "sigs.k8s.io/cluster-api/util/labels"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// Node is what decides of a Node.
type Node struct {
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
	// Unknown are keys of labels that the Node will have with values that nobody knows yet: a pod may select any value of them.
	Unknown []string
}

// There converts a Node of the cluster.
func There(node corev1.Node) Node {
	return Node{Name: node.Name, Labels: node.Labels, Taints: node.Spec.Taints}
}

// Kind is the same for Nodes that differ in their names alone.
func (n Node) Kind() string {
	labels := maps.Clone(n.Labels)
	delete(labels, corev1.LabelHostname)
	return fmt.Sprint(labels, n.Taints, n.Unknown) // maps are printed in the order of their keys
}

// IsWindows reports whether it runs Windows.
func (n Node) IsWindows() bool { return n.Labels[corev1.LabelOSStable] == windows }

// Values of the system's labels, and the deprecated labels that each kubelet still gives its Node (kubernetes v1.36.3,
// pkg/kubelet/kubelet_node_status.go).
const (
	windows, linux = "windows", "linux"

	betaOS   = "beta.kubernetes.io/os"
	betaArch = "beta.kubernetes.io/arch"
)

// ofCloud are the labels that a cloud provider gives a Node once it has joined, with values that follow from the VM.
var ofCloud = []string{
	corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
	corev1.LabelInstanceType, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
}

// ToBeMade is the Node that a config and its machine will join: the labels and taints of kubeadm join, the labels that Cluster
// API copies from its Machine (the WindowsMachine has the same), and the kubelet's own. Taints of the Machine, which Cluster API
// adds where its gate MachineTaintPropagation is on, are left out: pods that they keep off are reported before they could come.
// An error is a *bootstrap.InvalidError: no such Node will join. Until the machine has a computer name, the Node has its
// namespace and name instead, with a slash, which no Node has.
func ToBeMade(config *bootstrapv1.WindowsBootstrapConfig, machine *infrav1.WindowsMachine) (Node, error) {
	labels, taints, err := bootstrap.Registered(config.Spec, machine)
	if err != nil {
		return Node{}, fmt.Errorf("labels and taints of WindowsBootstrapConfig %s/%s: %w", config.Namespace, config.Name, err)
	}
	maps.Copy(labels, capilabels.GetManagedLabels(machine.Labels))
	maps.Copy(labels, map[string]string{
		corev1.LabelOSStable: windows, betaOS: windows, corev1.LabelArchStable: "amd64", betaArch: "amd64",
	})
	n := Node{Name: machine.Namespace + "/" + machine.Name, Labels: labels, Taints: taints}
	if name := machine.Status.ComputerName; name != "" {
		n.Name, labels[corev1.LabelHostname] = name, name
	}
	if build := machine.Status.WindowsBuild; build != "" {
		number, _, _ := strings.Cut(build, ".") // the kubelet leaves out the update
		labels[corev1.LabelWindowsBuild] = "10.0." + number
	}
	for _, key := range append(slices.Clone(ofCloud), corev1.LabelWindowsBuild) {
		if _, ok := labels[key]; !ok {
			n.Unknown = append(n.Unknown, key)
		}
	}
	return n, nil
}

// passing are the taints that come and go by themselves, whatever the pods. Kubernetes' own: k8s.io/api v0.36.3,
// core/v1/well_known_taints.go; of cloud providers: k8s.io/cloud-provider v0.36.3, api/well_known_taints.go; of Cluster API:
// v1.14.2, api/core/v1beta2/common_types.go; of the cluster autoscaler: 55c37cd, cluster-autoscaler/utils/taints.
var passing = []string{
	corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeUnschedulable, corev1.TaintNodeMemoryPressure,
	corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeNetworkUnavailable, corev1.TaintNodeOutOfService,
	"node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown",
	"node.cluster.x-k8s.io/uninitialized", "node.cluster.x-k8s.io/outdated-revision",
	"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler",
}

// keepsAway reports whether a taint keeps pods away that do not tolerate it, as long as the Node lives.
func keepsAway(taint *corev1.Taint) bool {
	return taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.Contains(passing, taint.Key)
}

// Join is a Windows machine of a Cluster: the Node that it has made or will make, and its config.
type Join struct {
	Node   Node
	Config *bootstrapv1.WindowsBootstrapConfig
}

// JoinsOf are those of machines that are not being deleted and whose config is known, by name. A config that is refused makes no
// Node.
func JoinsOf(machines []infrav1.WindowsMachine, configs []bootstrapv1.WindowsBootstrapConfig) (joins []Join) {
	ofOwner := map[string]*bootstrapv1.WindowsBootstrapConfig{}
	for i := range configs {
		ofOwner[machineOf(&configs[i])] = &configs[i]
	}
	delete(ofOwner, "")
	for i := range machines {
		m := &machines[i]
		config := ofOwner[machineOf(m)]
		if config == nil || !m.DeletionTimestamp.IsZero() {
			continue
		}
		if node, err := ToBeMade(config, m); err == nil {
			joins = append(joins, Join{node, config})
		}
	}
	slices.SortFunc(joins, func(a, b Join) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	return joins
}

// machineOf is the name of the Machine of Cluster API that an object belongs to; empty if there is none.
func machineOf(o metav1.Object) string {
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == "Machine" {
			return ref.Name
		}
	}
	return ""
}

// Add adds what machines mean: who is to run kube-proxy on a Node, and the Nodes that are not there yet: of those that differ in
// their names alone, the first.
func (s *Seen) Add(joins []Join) {
	s.ProxyRuns = map[string]bootstrapv1.KubeProxyRun{}
	kinds := map[string]bool{}
	for _, j := range joins {
		s.ProxyRuns[j.Node.Name] = bootstrap.KubeProxyRun(j.Config.Spec.Network)
		if _, ok := s.Kubelets[j.Node.Name]; ok {
			continue
		}
		s.Joining++
		if kind := j.Node.Kind(); !kinds[kind] {
			kinds[kind] = true
			s.Windows = append(s.Windows, j.Node)
		}
	}
}
