// Package linux makes Windows wait for Linux: there is no user data and no VM before Linux can carry the Cluster. The Gate opens
// once
//
//   - the control plane is initialized, and a Node on Linux is Ready and known to the cloud provider that its kubelet waits for;
//   - kubeadm join finds what it reads, where that is how the machine becomes a Node;
//   - cluster DNS stays away from Windows, and answers if no Windows Node is there yet;
//   - one of the Windows machines that have joined has a CNI, if there are any of the machine's own MachineSet;
//   - the policies that keep other workloads for Linux away from Windows act, where they can be had.
//
// A read that the workload cluster refuses holds nobody: it is a warning. Time counts from conditions of the Cluster, so that it
// does not begin anew with a process.
package linux

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// maxSentence is what is kept of a sentence, whatever a workload cluster has as names: longer than any with a command to copy.
const maxSentence = 4096

// Workload reads from the API servers of workload clusters, as the methods of workload.Clusters do. All machines of a Cluster
// share what was read.
type Workload interface {
	ControlPlane(ctx context.Context, cluster client.ObjectKey) ([]corev1.Node, error)
	Linux(ctx context.Context, cluster client.ObjectKey) (workload.Nodes, error)
	Kubeadm(ctx context.Context, cluster client.ObjectKey, withClusterInfo bool) (workload.ConfigMaps, error)
	DNS(ctx context.Context, cluster client.ObjectKey) (workload.DNS, error)
	HostProcesses(ctx context.Context, cluster client.ObjectKey) (workload.DaemonSets, error)
}

// Gate lets machines pass once Linux can carry their Cluster. Both managers ask it, each before it makes anything.
type Gate struct {
	Workload Workload
	// Cache has the Machines of Cluster API, and the WindowsMachines.
	Cache client.Reader
	// Policies keep workloads on Linux. It is nil in a manager that does not look after them.
	Policies Policies
	// Clouds are those that machines may be in.
	Clouds cloud.Registry
	Now    func() time.Time
}

// Policies are those in workload clusters that keep workloads for Linux off Windows Nodes.
type Policies interface {
	// Kept reports whether the policies act in a Cluster, so that it may get a Windows VM, and begins to look after them there. If
	// they cannot be had, it returns true and the reason in a sentence. It MUST do so after some time.
	Kept(cluster *clusterv1.Cluster, machine client.ObjectKey) (kept bool, warning string)
}

// Candidate is a machine that is to become a Windows Node.
type Candidate struct {
	Cluster *clusterv1.Cluster
	Windows *infrav1.WindowsMachine
	// Config is what the user data is made of. It is nil where others make it: nothing is known then of how the machine joins.
	Config *bootstrapv1.WindowsBootstrapConfig
}

// Passage is what the Gate has seen when it let a machine pass.
type Passage struct {
	// ControlPlane are the control-plane Nodes that run on Linux. There may be none where the control plane is hosted elsewhere.
	ControlPlane []corev1.Node
	// Warnings say what was not looked at, because the workload cluster did not show it, and that nothing may bring a CNI.
	Warnings []string
	// Unkept is why the policies do not keep everything on Linux. There is none if they do, or if others ask.
	Unkept []string
}

// Pass stops a machine until Linux can carry its Cluster.
func (g Gate) Pass(ctx context.Context, c Candidate) (Passage, error) {
	if !ptr.Deref(c.Cluster.Status.Initialization.ControlPlaneInitialized, false) {
		return Passage{}, phase.Wait(phase.Cluster, infrav1.WaitingForControlPlaneReason,
			"the control plane of Cluster %s is not initialized yet", c.Cluster.Name)
	}
	var p Passage
	checks := []func(context.Context, Candidate, *Passage) error{g.carried, g.kubeadm, g.dns, g.cni}
	if g.Policies != nil {
		checks = append(checks, g.policies)
	}
	for _, check := range checks {
		err := check(ctx, c, &p)
		if stop, ok := errors.AsType[*phase.Stop](err); ok {
			stop.Message = cloud.Clean(stop.Message, maxSentence)
		}
		if err != nil {
			return Passage{}, err
		}
	}
	return p, nil
}

func (p *Passage) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, cloud.Clean(fmt.Sprintf(format, args...), maxSentence))
}

// policies waits until the policies act, where that can be.
func (g Gate) policies(_ context.Context, c Candidate, p *Passage) error {
	kept, warning := g.Policies.Kept(c.Cluster, client.ObjectKeyFromObject(c.Windows))
	if !kept {
		return phase.Poll(infrav1.WaitingForLinuxPoliciesReason, "the admission policies that keep workloads for Linux off Windows "+
			"Nodes are being written to Cluster %s, and do not act yet; a Windows VM is made once they do, or after a minute",
			c.Cluster.Name)
	}
	if warning != "" {
		p.Unkept = []string{warning}
	}
	return nil
}

// list reads the Cluster's objects of a kind from the cache. They MUST NOT be changed.
func (g Gate) list(ctx context.Context, cluster *clusterv1.Cluster, list client.ObjectList, options ...client.ListOption) error {
	options = append(options, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}, client.UnsafeDisableDeepCopy)
	if err := g.Cache.List(ctx, list, options...); err != nil {
		return fmt.Errorf("list machines of Cluster %s: %w", cluster.Name, err)
	}
	return nil
}

// notAsked turns an error of a read into why the workload cluster could not be asked.
func notAsked(ctx context.Context, cluster *clusterv1.Cluster, subject string, err error) error {
	if refused, ok := errors.AsType[*workload.RefusedError](err); ok {
		return phase.Lack(infrav1.KubeconfigRefusedReason, "%s", refused)
	}
	unreachable, ok := errors.AsType[*workload.UnreachableError](err)
	if !ok {
		return fmt.Errorf("read %s of Cluster %s: %w", subject, cluster.Name, err)
	}
	ctrl.LoggerFrom(ctx).V(4).Info("Workload cluster cannot be read", "for", subject, "error", err.Error())
	return phase.Poll(infrav1.WaitingForLinuxNodeReason,
		"the API server of Cluster %s %s; Windows waits until it shows a Ready Linux Node", cluster.Name, unreachable.Why)
}

// refused warns of what was not looked at, if the workload cluster refused to show any of it.
func (p *Passage) refused(cluster *clusterv1.Cluster, objects []string, unknown string) {
	if len(objects) > 0 {
		p.warn("Cluster %s does not show %s to the user of Secret %s-kubeconfig, so the manager cannot check %s; give that user the "+
			"right to read it", cluster.Name, placement.List(objects), cluster.Name, unknown)
	}
}

// OldestVersion is the oldest version of the Nodes' kubelets, each of which is as old as the API server beside it; it is empty
// when no Node has one. While a control plane is upgraded, any of its API servers may answer.
func OldestVersion(nodes []corev1.Node) (oldest string) {
	for _, node := range nodes {
		found, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
		if err == nil && (oldest == "" || found.LessThan(version.MustParseGeneric(oldest))) {
			oldest = "v" + found.String()
		}
	}
	return oldest
}
