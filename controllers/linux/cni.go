package linux

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

const (
	// cniAgain is how soon a machine that waits for a CNI looks again. Its own watches know nothing of the others.
	cniAgain = 30 * time.Second
	// atJoin is how long after we see that a Node has joined its NotReady still counts as the first one.
	atJoin = time.Minute
	// mostMachines are named by a sentence.
	mostMachines = 3
)

// cni stops a machine that would have no CNI either: none of the Cluster's Windows machines that have joined has ever had one. It
// warns of a cluster without a CNI for Windows before the first of them.
//
// A machine whose VM may have been asked for goes on, so that somebody looks after the VM. The first machine of a MachineSet goes
// on, too: its template may be what mends the others, and a rolling update deletes none of them before it has joined. An outage
// holds nobody: a CNI that was there comes back, and new machines may be how.
func (g Gate) cni(ctx context.Context, c Candidate) (warning string, err error) {
	if controllerutil.ContainsFinalizer(c.Windows, infrav1.MachineFinalizer) {
		return "", nil
	}
	joined, err := g.joined(ctx, c.Cluster)
	switch {
	case err != nil:
		return "", err
	case len(joined) == 0:
		return g.noCNI(ctx, c), nil
	case !isHopeless(joined, setOf(c.Windows)):
		return "", nil
	}
	had, err := g.hadCNI(ctx, c.Cluster, joined)
	if err != nil || had {
		return "", err
	}
	return "", phase.WaitFor(cniAgain, infrav1.WaitingForCNIReason, "%s", cloud.Clean(waitsForCNI(c, joined), maxSentence))
}

// joined are the Cluster's Windows machines whose Nodes are there, without those that are being deleted.
func (g Gate) joined(ctx context.Context, cluster *clusterv1.Cluster) (joined []infrav1.WindowsMachine, err error) {
	var all infrav1.WindowsMachineList
	if err := g.Cache.List(ctx, &all, ofCluster(cluster), client.InNamespace(cluster.Namespace),
		client.UnsafeDisableDeepCopy); err != nil { // only read
		return nil, fmt.Errorf("list windowsmachines of Cluster %s: %w", cluster.Name, err)
	}
	for _, m := range all.Items {
		if m.Status.NodeName != "" && m.DeletionTimestamp.IsZero() {
			joined = append(joined, m)
		}
	}
	return joined, nil
}

func ofCluster(cluster *clusterv1.Cluster) client.ListOption {
	return client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
}

// isHopeless says that all of them lack a CNI for long, and that one is of the MachineSet.
func isHopeless(joined []infrav1.WindowsMachine, set string) bool {
	return !slices.ContainsFunc(joined, func(m infrav1.WindowsMachine) bool {
		return conditions.GetReason(&m, infrav1.CNIReadyCondition) != infrav1.CNINotReadyReason
	}) && slices.ContainsFunc(joined, func(m infrav1.WindowsMachine) bool { return setOf(&m) == set })
}

// setOf is the MachineSet of a machine; empty for one that a person has made.
func setOf(m *infrav1.WindowsMachine) string { return m.Labels[clusterv1.MachineSetNameLabel] }

// hadCNI says that one of the Nodes has been Ready, and so had a CNI before.
func (g Gate) hadCNI(ctx context.Context, cluster *clusterv1.Cluster, joined []infrav1.WindowsMachine) (bool, error) {
	var machines clusterv1.MachineList
	if err := g.Cache.List(ctx, &machines, ofCluster(cluster), client.InNamespace(cluster.Namespace),
		client.UnsafeDisableDeepCopy); err != nil { // only read
		return false, fmt.Errorf("list machines of Cluster %s: %w", cluster.Name, err)
	}
	since := map[string]time.Time{}
	for _, m := range joined {
		if c := conditions.Get(&m, infrav1.BootstrapSucceededCondition); c != nil && c.Status == metav1.ConditionTrue {
			since[m.Name] = c.LastTransitionTime.Time
		}
	}
	return slices.ContainsFunc(machines.Items, func(m clusterv1.Machine) bool {
		at, known := since[m.Spec.InfrastructureRef.Name]
		return known && wasReady(&m, at)
	}), nil
}

// wasReady says that the Node of a machine became NotReady after it had joined. Cluster API copies the time of that from the
// Node, which is NotReady from its first moment on where it never had a CNI (cluster-api v1.14.2, core/reconcilers/machine,
// setNodeHealthyAndReadyConditions). A kubelet that was silent for a while counts as Ready before: then nobody waits.
func wasReady(m *clusterv1.Machine, joined time.Time) bool {
	ready := conditions.Get(m, clusterv1.MachineNodeReadyCondition)
	return ready != nil && ready.LastTransitionTime.After(joined.Add(atJoin))
}

func waitsForCNI(c Candidate, joined []infrav1.WindowsMachine) string {
	names := make([]string, 0, mostMachines)
	for _, m := range joined[:min(len(joined), mostMachines)] {
		names = append(names, m.Name)
	}
	which := strings.Join(names, ", ")
	if more := len(joined) - mostMachines; more > 0 {
		which = fmt.Sprintf("%s and %d more", which, more)
	}
	return fmt.Sprintf("no Windows Node of Cluster %s has a CNI (WindowsMachines %s), and another one would have none either: "+
		"install the CNI for Windows in the workload cluster, or look at the condition CNIReady of these machines; a VM is made once "+
		"one of them has a CNI, or once those of the same MachineSet are deleted, and the first machine of a new MachineSet does not "+
		"wait",
		c.Cluster.Name, which)
}

// noCNI warns that nothing in the cluster seems to bring a CNI to the Node that the machine will be. Nobody knows what user data
// of others bring. What cannot be read holds nobody.
func (g Gate) noCNI(ctx context.Context, c Candidate) (warning string) {
	if c.Config == nil || !bootstrap.WantsCNIDaemonSet(c.Config.Spec) {
		return ""
	}
	node, err := placement.ToBeMade(c.Config, c.Windows)
	if err != nil {
		return "" // no Node will come of it, as its config says
	}
	const unknown = "whether it has a CNI for Windows"
	sets, err := g.Workload.HostProcesses(ctx, client.ObjectKeyFromObject(c.Cluster))
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).V(4).Info("DaemonSets cannot be read", "error", err.Error())
		return fmt.Sprintf("the DaemonSets of Cluster %s could not be read, so it is not known %s", c.Cluster.Name, unknown)
	case len(sets.Refused) > 0:
		return refused(c.Cluster, sets.Refused, unknown)
	case sets.More || slices.ContainsFunc(sets.Found, func(set appsv1.DaemonSet) bool { return bringsCNI(set, node) }):
		return ""
	}
	return cloud.Clean(fmt.Sprintf("no DaemonSet of Cluster %s seems to bring a CNI to this node, which stays NotReady without "+
		"one: none with HostProcess containers may run there, apart from kube-proxy. Looked for: %s. Install it, unless the image or "+
		"the config brings the CNI; while the Nodes that have joined have none, no other VM is made",
		c.Cluster.Name, bootstrap.CNISource(c.Config.Spec)), maxSentence)
}

// bringsCNI says that pods of the DaemonSet may run on the Node, and that it is more than a kube-proxy. Its RuntimeClass does not
// count: a DaemonSet needs the tolerations in its own template.
func bringsCNI(set appsv1.DaemonSet, node placement.Node) bool {
	template := *set.Spec.Template.DeepCopy()
	template.Spec.RuntimeClassName = nil
	if !slices.ContainsFunc(template.Spec.Containers, isNoKubeProxy) {
		return false
	}
	finding := placement.Cluster{Windows: []placement.Node{node}}.Judge(placement.Workload{
		Kind: "DaemonSet", Namespace: set.Namespace, Name: set.Name, Template: template,
	})
	return finding.Verdict != placement.StaysAway
}

func isNoKubeProxy(c corev1.Container) bool { return !bootstrap.RunsKubeProxy(c) }
