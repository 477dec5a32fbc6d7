package linux

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// maxSentence is longer than any sentence about cluster DNS that has a command to copy.
const maxSentence = 4096

// dns waits until cluster DNS stays on Linux, and until it answers there. A cluster without it, or one whose DNS is no
// Deployment, has nothing to wait for.
func (g Gate) dns(ctx context.Context, c Candidate) (warning string, err error) {
	found, err := g.Workload.DNS(ctx, client.ObjectKeyFromObject(c.Cluster))
	if err != nil {
		return "", notAsked(ctx, c.Cluster, "cluster DNS", err)
	}
	if lands := landing(c, found); lands != nil {
		mend := ""
		if lands.Mend != "" {
			mend = "; run this in the workload cluster: " + lands.Mend
		}
		return "", phase.Lack(infrav1.WaitingForPlacementReason, "%s", cloud.Clean(fmt.Sprintf(
			"cluster DNS of Cluster %s must stay on Linux before it gets a Windows VM: %s", c.Cluster.Name, lands.Why)+mend, maxSentence))
	}
	if missing := unavailable(found); missing != "" {
		return "", phase.Poll(infrav1.WaitingForClusterDNSReason, "%s", cloud.Clean(fmt.Sprintf(
			"cluster DNS of Cluster %s does not answer: %s; it needs Linux, and the first Windows VM is made only after it is available",
			c.Cluster.Name, missing), maxSentence))
	}
	return refused(c.Cluster, found.Refused, "whether cluster DNS stays on Linux"), nil
}

// landing finds a Deployment of cluster DNS whose pods may come to a Windows Node: one that is there, or the candidate's. Its
// annotations do not count: no image of cluster DNS runs on Windows, whatever somebody says of it. Nor do its replicas: nobody
// looks here when a Deployment that was scaled to 0 is scaled up again. Until then the command in the sentence restarts no pod.
func landing(c Candidate, dns workload.DNS) *placement.Finding {
	cluster := placement.Cluster{Windows: there(dns.Windows), Linux: there(dns.Linux), RuntimeClasses: dns.RuntimeClasses}
	if node, err := placement.ToBeMade(configOf(c), c.Windows); err == nil { // else no Node will come of it, as its config says
		cluster.Windows = append(cluster.Windows, node)
	}
	for _, one := range dns.Deployments {
		finding := cluster.Judge(placement.Workload{
			Kind: "Deployment", Namespace: one.Namespace, Name: one.Name, Template: one.Spec.Template,
		})
		if finding.Verdict == placement.Lands {
			return &finding
		}
	}
	return nil
}

func there(nodes workload.Nodes) (all []placement.Node) {
	for _, node := range nodes.Found {
		all = append(all, placement.There(node))
	}
	return all
}

// configOf is the candidate's config. Whatever user data of others do, a Node without taints takes more pods than any other.
func configOf(c Candidate) *bootstrapv1.WindowsBootstrapConfig {
	if c.Config != nil {
		return c.Config
	}
	config := &bootstrapv1.WindowsBootstrapConfig{}
	config.Spec.Node.Taints = &[]bootstrapv1.NodeTaint{}
	return config
}

// unavailable says what is missing of cluster DNS. It is empty where a Windows Node is there already: no outage stops a pool from
// growing. A Deployment that wants no pods is not waited for: kubeadm's stays at 0 where a DaemonSet does its work.
func unavailable(dns workload.DNS) string {
	wanted := slices.DeleteFunc(slices.Clone(dns.Deployments), func(d appsv1.Deployment) bool {
		return ptr.Deref(d.Spec.Replicas, 1) == 0
	})
	if len(wanted) == 0 || len(dns.Windows.Found) > 0 ||
		slices.ContainsFunc(dns.Deployments, func(d appsv1.Deployment) bool { return d.Status.AvailableReplicas > 0 }) {
		return ""
	}
	var replicas []string
	for _, d := range wanted {
		replicas = append(replicas, fmt.Sprintf("%s has 0 of %d replicas available",
			placement.Workload{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name}, ptr.Deref(d.Spec.Replicas, 1)))
	}
	ready := slices.DeleteFunc(slices.Clone(dns.Linux.Found), func(n corev1.Node) bool { return !workload.CanCarry(n) })
	return fmt.Sprintf("%s, and of the cluster's %s Linux Nodes %d can have pods",
		strings.Join(replicas, ", "), count(dns.Linux), len(ready))
}
