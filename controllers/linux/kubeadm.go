package linux

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// settledAfter is how long after the control plane is initialized its ConfigMaps and its first Node may still come. kubeadm init
// makes them before it ends, and what hosts a control plane makes the ConfigMaps seconds after.
const settledAfter = 5 * time.Minute

// kubeadm waits for what kubeadm join reads. Where it does not come, another program made the control plane.
func (g Gate) kubeadm(ctx context.Context, c Candidate) (warning string, err error) {
	if c.Config == nil {
		return "", nil
	}
	found, err := g.Workload.Kubeadm(ctx, client.ObjectKeyFromObject(c.Cluster), !bringsDiscovery(c.Config))
	if err != nil {
		return "", notAsked(ctx, c.Cluster, "ConfigMaps of kubeadm", err)
	}
	if len(found.Missing) > 0 {
		return "", g.notKubeadms(c.Cluster, found.Missing)
	}
	return refused(c.Cluster, found.Refused, "whether kubeadm has made the control plane, so that nodes can join"), nil
}

// bringsDiscovery says that nodes find their cluster by a file and not by the ConfigMap cluster-info.
func bringsDiscovery(config *bootstrapv1.WindowsBootstrapConfig) bool {
	return config.Spec.Discovery.KubeconfigFrom.Secret.Name != ""
}

func (g Gate) notKubeadms(cluster *clusterv1.Cluster, missing []string) error {
	names := "ConfigMap " + missing[0]
	if len(missing) > 1 {
		names = "ConfigMaps " + strings.Join(missing, " and ")
	}
	if !g.isSettled(cluster) {
		return phase.Poll(infrav1.WaitingForControlPlaneReason, "Cluster %s does not have %s yet, which kubeadm join reads",
			cluster.Name, names)
	}
	return phase.Stall(infrav1.ControlPlaneNotKubeadmReason,
		"Cluster %s does not have %s, which kubeadm join reads: another program than kubeadm made its control plane, such as k3s, "+
			"RKE2, Talos or a cloud, and a WindowsBootstrapConfig cannot join it; %s", cluster.Name, names, instead(missing))
}

// instead says what to do about the control plane of another program.
func instead(missing []string) string {
	const other = "use a Cluster whose control plane kubeadm makes, such as a KubeadmControlPlane, or give the Machines user data " +
		"of their own in bootstrap.dataSecretName"
	if slices.ContainsFunc(missing, func(name string) bool { return !strings.HasSuffix(name, "/cluster-info") }) {
		return other
	}
	return "set spec.discovery.kubeconfigFrom of the config, with which none reads it, or " + other
}

// isSettled says that what the control plane makes first is there by now, or will not come.
func (g Gate) isSettled(cluster *clusterv1.Cluster) bool {
	since, known := initializedSince(cluster)
	return known && g.Now().Sub(since) >= settledAfter
}

// initializedSince is when the control plane was initialized. The Cluster says so, to whichever process asks.
func initializedSince(cluster *clusterv1.Cluster) (since time.Time, known bool) {
	c := conditions.Get(cluster, clusterv1.ClusterControlPlaneInitializedCondition)
	if c == nil || !conditions.IsTrue(cluster, c.Type) {
		return time.Time{}, false
	}
	return c.LastTransitionTime.Time, true
}

// refused warns of what was not looked at.
func refused(cluster *clusterv1.Cluster, what []string, unknown string) string {
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("Cluster %s does not show %s to the user of Secret %s-kubeconfig, so it is not known %s; give that user the "+
		"right to read it", cluster.Name, strings.Join(what, " and "), cluster.Name, unknown)
}
