// Package linux makes Windows wait for Linux: there is no user data and no VM before the Cluster has a control plane that runs
// on Linux.
package linux

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// Workload reaches the API servers of workload clusters. An error means that the cluster cannot be reached now.
type Workload interface {
	// GetClient returns a client that may read from a cache, never for Secrets.
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
}

// ControlPlane stops until the Cluster's control plane is initialized and one of its Nodes on Linux is Ready. Then it returns
// all of those Nodes.
func ControlPlane(ctx context.Context, workload Workload, cluster *clusterv1.Cluster) ([]corev1.Node, error) {
	if !ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false) {
		return nil, phase.Wait(infrav1.WaitingForControlPlaneReason,
			"the control plane of Cluster %s is not initialized yet", cluster.Name)
	}
	c, err := workload.GetClient(ctx, client.ObjectKeyFromObject(cluster))
	if err != nil {
		ctrl.LoggerFrom(ctx).V(4).Info("Workload cluster cannot be reached", "error", err.Error())
		return nil, phase.Poll(infrav1.WaitingForLinuxNodeReason, "the API server of Cluster %s cannot be reached yet", cluster.Name)
	}
	var nodes corev1.NodeList
	err = c.List(ctx, &nodes, client.HasLabels{controlPlaneLabel}, client.MatchingLabels{corev1.LabelOSStable: "linux"})
	if err != nil {
		return nil, err
	}
	for _, node := range nodes.Items {
		if util.IsNodeReady(&node) {
			return nodes.Items, nil
		}
	}
	return nil, phase.Poll(infrav1.WaitingForLinuxNodeReason,
		"Cluster %s has no Ready Node among its %d with the labels %s and %s=linux; Windows VMs are made only after one is Ready",
		cluster.Name, len(nodes.Items), controlPlaneLabel, corev1.LabelOSStable)
}

// OldestVersion is the oldest version of the Nodes' kubelets, each of which is as old as the API server beside it; it is empty
// when no Node says one. While a control plane is upgraded, any of its API servers may answer.
func OldestVersion(nodes []corev1.Node) string {
	var found *version.Version
	for _, node := range nodes {
		parsed, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
		if err == nil && (found == nil || parsed.LessThan(found)) {
			found = parsed
		}
	}
	if found == nil {
		return ""
	}
	return "v" + found.String()
}
