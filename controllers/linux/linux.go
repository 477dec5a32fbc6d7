// Package linux makes Windows wait for Linux: there is no user data and no VM before the Cluster has a control plane that runs
// on Linux.
package linux

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// Workload reaches the API servers of workload clusters. Errors say if a cluster cannot be reached now, or must not be.
type Workload interface {
	// GetClient returns a client for Secrets, which reads from the API server itself.
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	// ControlPlane returns the control-plane Nodes that run on Linux, as they were a few seconds ago.
	ControlPlane(ctx context.Context, cluster client.ObjectKey) ([]corev1.Node, error)
}

// ControlPlane stops until the Cluster's control plane is initialized and one of its Nodes on Linux is Ready. Then it returns
// all of those Nodes.
func ControlPlane(ctx context.Context, clusters Workload, cluster *clusterv1.Cluster) ([]corev1.Node, error) {
	if !ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false) {
		return nil, phase.Wait(phase.Cluster, infrav1.WaitingForControlPlaneReason,
			"the control plane of Cluster %s is not initialized yet", cluster.Name)
	}
	nodes, err := clusters.ControlPlane(ctx, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return nil, notAsked(ctx, cluster, err)
	}
	for _, node := range nodes {
		if util.IsNodeReady(&node) {
			return nodes, nil
		}
	}
	return nil, phase.Poll(infrav1.WaitingForLinuxNodeReason,
		"Cluster %s has no Ready Node among its %d with the labels %s and %s=linux; Windows VMs are made only after one is Ready",
		cluster.Name, len(nodes), workload.ControlPlaneLabel, corev1.LabelOSStable)
}

// notAsked says why the workload cluster could not be asked for its Nodes.
func notAsked(ctx context.Context, cluster *clusterv1.Cluster, err error) error {
	if refused, ok := errors.AsType[*workload.RefusedError](err); ok {
		return phase.Lack(infrav1.KubeconfigRefusedReason, "%s", refused)
	}
	away, ok := errors.AsType[*workload.UnreachableError](err)
	if !ok {
		return fmt.Errorf("read Nodes of Cluster %s: %w", cluster.Name, err)
	}
	ctrl.LoggerFrom(ctx).V(4).Info("Workload cluster cannot be asked", "error", err.Error())
	return phase.Poll(infrav1.WaitingForLinuxNodeReason,
		"the API server of Cluster %s %s; Windows waits until it shows a Ready Linux Node", cluster.Name, away.Why)
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
