package workload

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// fresh is how long one reading of the Nodes, or of cluster DNS, serves all machines of a Cluster.
	fresh = 4 * time.Second
	// mostNodes are read at once. Of a control plane there are no more: etcd's own advice is 7.
	mostNodes = 20
	// mostPages of a list are read.
	mostPages = 5
)

// ControlPlaneLabel is what Nodes of a control plane have, and UninitializedTaint what a kubelet with an external cloud provider
// gives its Node until that provider has found the VM (k8s.io/cloud-provider v0.36.3, api/well_known_taints.go).
const (
	ControlPlaneLabel  = "node-role.kubernetes.io/control-plane"
	UninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
)

// Nodes are those of a cluster that a caller asked for, or the first of them.
type Nodes struct {
	Found []corev1.Node
	// More is true if the cluster has others.
	More bool
}

// Linux returns the Nodes of any role that run on Linux, as they were seconds ago: of each, its name, its Ready condition, the
// version of its kubelet, and UninitializedTaint. It returns the first of them, and goes on until one can carry pods.
func (c *Clusters) Linux(ctx context.Context, key client.ObjectKey) (Nodes, error) {
	api, err := c.GetClient(ctx, key)
	if err != nil {
		return Nodes{}, err
	}
	return c.cluster(key).linux.get(ctx, fresh, func(ctx context.Context) (Nodes, error) {
		return readLinux(ctx, api, brief)
	})
}

// IsReady reports whether the Node's kubelet runs pods.
func IsReady(node corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// IsUninitialized reports whether no cloud provider has found the Node's VM yet, and the kubelet waits for one.
func IsUninitialized(node corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == UninitializedTaint })
}

// CanCarry reports whether the Node can have pods of any workload.
func CanCarry(node corev1.Node) bool { return IsReady(node) && !IsUninitialized(node) }

// readControlPlane asks for as many Nodes as we want, and for no more when there are more.
func readControlPlane(ctx context.Context, api client.Client) ([]corev1.Node, error) {
	page, _, err := readPage(ctx, api, brief, client.HasLabels{ControlPlaneLabel}, onLinux)
	return page, err
}

// The labels by which a kubelet shows which system it runs on.
var (
	onLinux   = client.MatchingLabels{corev1.LabelOSStable: "linux"}
	onWindows = client.MatchingLabels{corev1.LabelOSStable: "windows"}
)

// readLinux reads pages until one has a Node that can carry pods.
func readLinux(ctx context.Context, api client.Client, keep func(corev1.Node) corev1.Node) (nodes Nodes, err error) {
	next := ""
	for range mostPages {
		var page []corev1.Node
		if page, next, err = readPage(ctx, api, keep, onLinux, client.Continue(next)); err != nil {
			return Nodes{}, err
		}
		nodes.Found = append(nodes.Found, page...)
		if next == "" || slices.ContainsFunc(page, CanCarry) {
			break
		}
	}
	nodes.More = next != ""
	return nodes, nil
}

func readPage(
	ctx context.Context, api client.Client, keep func(corev1.Node) corev1.Node, options ...client.ListOption,
) (page []corev1.Node, next string, err error) {
	var list corev1.NodeList
	if err := api.List(ctx, &list, append(options, client.Limit(mostNodes))...); err != nil {
		return nil, "", err
	}
	if len(list.Items) > mostNodes {
		return nil, "", &UnreachableError{Why: "answers with more Nodes than were requested"}
	}
	for _, node := range list.Items {
		page = append(page, keep(node))
	}
	return page, list.Continue, nil
}

func brief(node corev1.Node) corev1.Node {
	kept := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	kept.Status.NodeInfo.KubeletVersion = node.Status.NodeInfo.KubeletVersion
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			kept.Status.Conditions = []corev1.NodeCondition{{Type: condition.Type, Status: condition.Status}}
		}
	}
	if IsUninitialized(node) {
		kept.Spec.Taints = []corev1.Taint{{Key: UninitializedTaint}}
	}
	return kept
}
