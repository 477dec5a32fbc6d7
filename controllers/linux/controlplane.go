package linux

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// carried waits for a Node on Linux that can have pods: one of the control plane or, where that has no Nodes, any.
func (g Gate) carried(ctx context.Context, c Candidate, p *Passage) (err error) {
	if p.ControlPlane, err = g.Workload.ControlPlane(ctx, client.ObjectKeyFromObject(c.Cluster)); err != nil {
		return notAsked(ctx, c.Cluster, "Nodes", err)
	}
	if slices.ContainsFunc(p.ControlPlane, workload.CanCarry) {
		return nil
	}
	return g.awaitCarrier(ctx, c, p)
}

// awaitCarrier waits where no Node of the control plane can have pods.
func (g Gate) awaitCarrier(ctx context.Context, c Candidate, p *Passage) error {
	if nodeless, err := g.isNodeless(ctx, c.Cluster, len(p.ControlPlane)); err != nil || !nodeless {
		return cmp.Or(err, g.awaitNode(c, workload.Nodes{Found: p.ControlPlane}, " and "+workload.ControlPlaneLabel))
	}
	nodes, err := g.Workload.Linux(ctx, client.ObjectKeyFromObject(c.Cluster))
	if err != nil {
		return notAsked(ctx, c.Cluster, "Nodes", err)
	}
	if slices.ContainsFunc(nodes.Found, workload.CanCarry) {
		return nil
	}
	return g.awaitNode(c, nodes, ", and its control plane is hosted elsewhere or runs no kubelet, such as that of k0s: cluster DNS "+
		"and other add-ons need a Linux pool, so add one")
}

// isNodeless reports whether no Node of the control plane needs to carry the Cluster. One that is hosted elsewhere has no
// machines: those that Cluster API makes are there before the control plane is initialized. Programs such as k0s run no kubelet
// on theirs, while kubeadm registers the first Node before. Nodes that are there and not Ready belong to machines with kubelets.
func (g Gate) isNodeless(ctx context.Context, cluster *clusterv1.Cluster, nodes int) (bool, error) {
	var machines clusterv1.MachineList
	err := g.list(ctx, cluster, &machines, client.HasLabels{clusterv1.MachineControlPlaneLabel}, client.Limit(1))
	return len(machines.Items) == 0 || nodes == 0 && g.isSettled(cluster), err
}

// awaitNode waits for one of the Nodes to be Ready and known to a cloud provider, which none of them is.
func (g Gate) awaitNode(c Candidate, nodes workload.Nodes, addition string) error {
	if i := slices.IndexFunc(nodes.Found, workload.IsReady); i >= 0 {
		return phase.Poll(infrav1.WaitingForLinuxNodeReason, "no cloud provider has initialized Node %s of Cluster %s, which is "+
			"Ready and still has the taint %s, so no Windows VM is made; look at the pods of the cloud provider in kube-system%s",
			placement.Named(nodes.Found[i].Name), c.Cluster.Name, workload.UninitializedTaint, g.initializer(c))
	}
	count := fmt.Sprint(len(nodes.Found))
	if nodes.More {
		count = "first " + count
	}
	return phase.Poll(infrav1.WaitingForLinuxNodeReason, "Cluster %s has no Ready Node among its %s with the label %s=linux%s; "+
		"Windows VMs are made only after one is Ready", c.Cluster.Name, count, corev1.LabelOSStable, addition)
}

// initializer names what the cloud provider reads, if its chart has no other name for it, and what brings that in a flavor.
func (g Gate) initializer(c Candidate) string {
	registered := g.Clouds.Find(c.Windows)
	if registered.Provider == nil {
		return ""
	}
	text := ", " + registered.Initializer.Reads
	if c.Cluster.Labels[infrav1.CloudLabel] == registered.Provider.Name() { // which the flavors write
		text += "; " + fmt.Sprintf(registered.Initializer.Brings, client.ObjectKeyFromObject(c.Cluster))
	}
	return text
}

// kubeadm waits for what kubeadm join reads. Where it does not come, another program made the control plane.
func (g Gate) kubeadm(ctx context.Context, c Candidate, p *Passage) error {
	if c.Config == nil {
		return nil
	}
	bringsDiscovery := c.Config.Spec.Discovery.KubeconfigFrom.Secret.Name != "" // then none reads the ConfigMap cluster-info
	found, err := g.Workload.Kubeadm(ctx, client.ObjectKeyFromObject(c.Cluster), !bringsDiscovery)
	if err != nil {
		return notAsked(ctx, c.Cluster, "ConfigMaps of kubeadm", err)
	}
	if len(found.Missing) == 0 {
		p.refused(c.Cluster, found.Refused, "whether kubeadm has made the control plane, so that nodes can join")
		return nil
	}
	return g.awaitKubeadm(c, "ConfigMap "+strings.Join(found.Missing, " and ConfigMap "))
}

func (g Gate) awaitKubeadm(c Candidate, missing string) error {
	if !g.isSettled(c.Cluster) {
		return phase.Poll(infrav1.WaitingForControlPlaneReason, "Cluster %s does not have %s yet, which kubeadm join reads",
			c.Cluster.Name, missing)
	}
	return phase.Stall(infrav1.ControlPlaneNotKubeadmReason, "Cluster %s does not have %s, which kubeadm join reads: another "+
		"program than kubeadm made its control plane, such as k3s, RKE2, Talos or a cloud, and a WindowsBootstrapConfig cannot join "+
		"it; use a Cluster with a KubeadmControlPlane, or user data of your own in bootstrap.dataSecretName of the Machines; if only "+
		"cluster-info is missing, you can set spec.discovery.kubeconfigFrom of the config instead", c.Cluster.Name, missing)
}

// settledAfter is how long after the control plane is initialized its ConfigMaps and its first Node may still come. kubeadm init
// makes them before it ends, and what hosts a control plane makes the ConfigMaps seconds after.
const settledAfter = 5 * time.Minute

// isSettled reports whether what the control plane makes first is there by now, or will not come. The time is the Cluster's.
func (g Gate) isSettled(cluster *clusterv1.Cluster) bool {
	const initialized = clusterv1.ClusterControlPlaneInitializedCondition
	return conditions.IsTrue(cluster, initialized) &&
		g.Now().Sub(conditions.GetLastTransitionTime(cluster, initialized).Time) >= settledAfter
}
