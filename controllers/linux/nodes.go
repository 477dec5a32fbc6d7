package linux

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// carried waits for a Node on Linux that can have pods: one of the control plane or, where that has no Nodes, any. It returns
// those of the control plane.
func (g Gate) carried(ctx context.Context, c Candidate) ([]corev1.Node, error) {
	key := client.ObjectKeyFromObject(c.Cluster)
	nodes, err := g.Workload.ControlPlane(ctx, key)
	if err != nil {
		return nil, notAsked(ctx, c.Cluster, "Nodes", err)
	}
	if slices.ContainsFunc(nodes, workload.CanCarry) {
		return nodes, nil
	}
	nodeless, err := g.nodeless(ctx, c.Cluster, len(nodes))
	if err != nil {
		return nil, err
	}
	if nodeless == "" {
		return nil, noLinux(c, nodes, fmt.Sprintf("Cluster %s has no Ready Node among its %d with the labels %s and %s=linux",
			c.Cluster.Name, len(nodes), workload.ControlPlaneLabel, corev1.LabelOSStable))
	}
	all, err := g.Workload.Linux(ctx, key)
	if err != nil {
		return nil, notAsked(ctx, c.Cluster, "Nodes", err)
	}
	if slices.ContainsFunc(all.Found, workload.CanCarry) {
		return nodes, nil
	}
	return nil, noLinux(c, all.Found, fmt.Sprintf("Cluster %s has no Ready Node among its %s with the label %s=linux, and %s: "+
		"cluster DNS and other add-ons need a Linux pool, so add one",
		c.Cluster.Name, count(all), corev1.LabelOSStable, nodeless))
}

// nodeless says why none of the control plane's Nodes needs to carry the cluster. It is empty where one must. Programs such as
// k0s run no kubelet on the machines of their control plane. kubeadm registers the Node of the first one before the control plane
// is initialized, and Nodes that are there and not Ready belong to machines with kubelets.
func (g Gate) nodeless(ctx context.Context, cluster *clusterv1.Cluster, nodes int) (why string, err error) {
	hosted, err := g.isHosted(ctx, cluster)
	switch {
	case err != nil:
		return "", err
	case hosted:
		return "no control-plane Machines, as one whose control plane is hosted elsewhere", nil
	case nodes == 0 && g.isSettled(cluster):
		return fmt.Sprintf("no Node with the label %s, as one whose control-plane machines run no kubelet, such as those of k0s",
			workload.ControlPlaneLabel), nil
	}
	return "", nil
}

// isHosted says that Cluster API has made no machines for the control plane. Those that it makes are there before the control
// plane is initialized.
func (g Gate) isHosted(ctx context.Context, cluster *clusterv1.Cluster) (bool, error) {
	var machines clusterv1.MachineList
	err := g.Cache.List(ctx, &machines, client.InNamespace(cluster.Namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel},
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}, client.Limit(1), client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, fmt.Errorf("list control-plane machines of Cluster %s: %w", cluster.Name, err)
	}
	return len(machines.Items) == 0, nil
}

// noLinux stops with what is missing, unless a Node is Ready and only its cloud provider is missing.
func noLinux(c Candidate, nodes []corev1.Node, missing string) error {
	at := slices.IndexFunc(nodes, workload.IsReady)
	if at < 0 {
		return phase.Poll(infrav1.WaitingForLinuxNodeReason, "%s; Windows VMs are made only after one is Ready", missing)
	}
	return phase.Poll(infrav1.WaitingForLinuxNodeReason,
		"no cloud provider has initialized Node %s of Cluster %s, which is Ready and still has the taint %s, and no Windows VM is "+
			"made where no cloud provider works; look at the pods of the cloud provider in kube-system: %s",
		placement.Named(nodes[at].Name), c.Cluster.Name, workload.UninitializedTaint, cloudProvider(c))
}

// flavorLabel is what the flavors write on a Cluster: its cloud.
const flavorLabel = "capwin.io/cloud"

// cloudProvider says what may be wrong with that of the cloud: vsphere-cpi v1.36.0 reads a Secret, cloud-provider-azure v1.36.6 a
// file of the machine or a Secret. By that chart of Azure, cloud-node-manager initializes Nodes, which reads neither.
func cloudProvider(c Candidate) string {
	key := client.ObjectKeyFromObject(c.Cluster)
	of, brought := c.Cluster.Labels[flavorLabel], ""
	switch {
	case c.Windows.Spec.Azure != nil && of == "azure":
		return fmt.Sprintf("cloud-node-manager initializes Nodes, cloud-controller-manager reads /etc/kubernetes/azure.json of the "+
			"control plane's machines, and HelmChartProxy %s-azure-ccm of the management cluster brings both", key)
	case c.Windows.Spec.Azure != nil:
		return "it does not run, or has no configuration, which is /etc/kubernetes/azure.json of the control plane's machines or " +
			"Secret kube-system/azure-cloud-provider, as its chart or manifest says"
	case of == "vsphere":
		brought = fmt.Sprintf(" (Secret %s-vsphere-cloud-secret of the management cluster brings it)", key)
	}
	return "it does not run, or its Secret kube-system/vsphere-cloud-secret" + brought +
		" is missing, as far as its chart or manifest has not named it otherwise"
}

// count says how many Nodes there are, as far as they were read.
func count(nodes workload.Nodes) string {
	if nodes.More {
		return fmt.Sprintf("first %d", len(nodes.Found))
	}
	return fmt.Sprint(len(nodes.Found))
}
