package linux

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// dns waits until cluster DNS stays on Linux, and until it answers there. A cluster without it, or one whose DNS is no
// Deployment, has nothing to wait for.
func (g Gate) dns(ctx context.Context, c Candidate, p *Passage) error {
	found, err := g.Workload.DNS(ctx, client.ObjectKeyFromObject(c.Cluster))
	if err != nil {
		return notAsked(ctx, c.Cluster, "cluster DNS", err)
	}
	p.refused(c.Cluster, found.Refused, "whether cluster DNS stays on Linux")
	if len(found.Deployments) == 0 {
		return nil
	}
	return cmp.Or(keepOnLinux(c, found), awaitDNS(c, found))
}

// keepOnLinux stops where pods of cluster DNS may come to a Windows Node: one that is there, or the candidate's. Annotations do
// not count: no image of cluster DNS runs on Windows, whatever an annotation claims. Nor do replicas: nobody looks here when a
// Deployment that was scaled to 0 is scaled up again. Until then the command in the sentence restarts no pod.
func keepOnLinux(c Candidate, dns workload.DNS) error {
	cluster := placement.Cluster{
		Windows: append(nodesOf(dns.Windows), c.toBeMade()...), Linux: nodesOf(dns.Linux), RuntimeClasses: dns.RuntimeClasses,
	}
	for _, d := range dns.Deployments {
		lands := cluster.Judge(deployment(d))
		if lands.Verdict != placement.Lands {
			continue
		}
		mend := ""
		if lands.Mend != "" {
			mend = "; run this in the workload cluster: " + lands.Mend
		}
		return phase.Lack(infrav1.WaitingForPlacementReason, "cluster DNS of Cluster %s must stay on Linux before it gets a Windows "+
			"VM: %s%s", c.Cluster.Name, lands.Why, mend)
	}
	return nil
}

func deployment(d appsv1.Deployment) placement.Workload {
	return placement.Workload{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name, Template: d.Spec.Template}
}

func nodesOf(nodes workload.Nodes) (list []placement.Node) {
	for _, node := range nodes.Found {
		list = append(list, placement.There(node))
	}
	return list
}

// toBeMade is the Node that the candidate would be, or none if its config is invalid, which another condition reports. Whatever
// user data of others do, a Node without taints takes more pods than any other.
func (c Candidate) toBeMade() []placement.Node {
	config := c.Config
	if config == nil {
		config = &bootstrapv1.WindowsBootstrapConfig{}
		config.Spec.Node.Taints = &[]bootstrapv1.NodeTaint{}
	}
	node, err := placement.ToBeMade(config, c.Windows)
	if err != nil {
		return nil
	}
	return []placement.Node{node}
}

// awaitDNS stops where no replica of cluster DNS is available, unless a Windows Node is there already: no outage stops a pool
// from growing. A Deployment that wants no pods is not waited for: kubeadm's stays at 0 where a DaemonSet does its work.
func awaitDNS(c Candidate, dns workload.DNS) error {
	var missing []string
	for _, d := range dns.Deployments {
		if d.Status.AvailableReplicas > 0 {
			return nil
		}
		if replicas := ptr.Deref(d.Spec.Replicas, 1); replicas > 0 {
			missing = append(missing, fmt.Sprintf("%s has 0 of %d replicas available", deployment(d), replicas))
		}
	}
	if len(missing) == 0 || len(dns.Windows.Found) > 0 {
		return nil
	}
	return phase.Poll(infrav1.WaitingForClusterDNSReason, "cluster DNS of Cluster %s does not answer: %s; look at its pods, as the "+
		"first Windows VM is made only after it is available", c.Cluster.Name, placement.List(missing))
}

const (
	// cniAgain is how soon a machine that waits for a CNI looks again. Its own watches know nothing of the others.
	cniAgain = 30 * time.Second
	// atJoin is how long after we see that a Node has joined its NotReady still counts as the first one.
	atJoin = time.Minute
)

// cni waits for a CNI where Windows machines have joined, and warns of a cluster without one before the first of them. A machine
// whose VM may have been asked for goes on, so that somebody looks after the VM.
func (g Gate) cni(ctx context.Context, c Candidate, p *Passage) error {
	if controllerutil.ContainsFinalizer(c.Windows, infrav1.MachineFinalizer) {
		return nil
	}
	var machines infrav1.WindowsMachineList
	if err := g.list(ctx, c.Cluster, &machines); err != nil {
		return err
	}
	var withNodes []*infrav1.WindowsMachine
	for i := range machines.Items {
		if m := &machines.Items[i]; m.Status.NodeName != "" && m.DeletionTimestamp.IsZero() {
			withNodes = append(withNodes, m)
		}
	}
	if len(withNodes) > 0 {
		return g.awaitCNI(ctx, c, withNodes)
	}
	if c.Config != nil && bootstrap.WantsCNIDaemonSet(c.Config.Spec) {
		g.checkCNI(ctx, c, p)
	}
	return nil
}

// awaitCNI stops a machine that would have no CNI either: none of the Cluster's Windows machines that have joined ever had one.
// The first machine of a MachineSet goes on: its template may be what mends the others, and a rolling update deletes none of them
// before it has joined. An outage holds nobody: a CNI that was there comes back, and new machines may be how.
func (g Gate) awaitCNI(ctx context.Context, c Candidate, withNodes []*infrav1.WindowsMachine) error {
	joined, isHopeless := c.joined(withNodes)
	if !isHopeless {
		return nil
	}
	if hadCNI, err := g.hadCNI(ctx, c.Cluster, joined); err != nil || hadCNI {
		return err
	}
	return phase.WaitFor(cniAgain, infrav1.WaitingForCNIReason, "no Windows Node of Cluster %s has a CNI (WindowsMachines %s), and "+
		"another one would have none either: install the CNI for Windows in the workload cluster, or look at the condition CNIReady "+
		"of these machines; a VM is made once one of them has a CNI, or those of the same MachineSet are deleted, and the first "+
		"machine of a new MachineSet does not wait", c.Cluster.Name, placement.List(slices.Sorted(maps.Keys(joined))))
}

// joined is when the machines whose Nodes are there joined, by name; the zero time if that is not known. It is hopeless if all
// lack a CNI for long, and one is of the candidate's MachineSet: of none, if a person made both.
func (c Candidate) joined(withNodes []*infrav1.WindowsMachine) (joined map[string]time.Time, isHopeless bool) {
	joined, lacking, ofSet := map[string]time.Time{}, true, false
	for _, m := range withNodes {
		joined[m.Name] = time.Time{}
		if conditions.IsTrue(m, infrav1.BootstrapSucceededCondition) {
			joined[m.Name] = conditions.GetLastTransitionTime(m, infrav1.BootstrapSucceededCondition).Time
		}
		lacking = lacking && conditions.GetReason(m, infrav1.CNIReadyCondition) == infrav1.CNINotReadyReason
		ofSet = ofSet || m.Labels[clusterv1.MachineSetNameLabel] == c.Windows.Labels[clusterv1.MachineSetNameLabel]
	}
	return joined, lacking && ofSet
}

// hadCNI reports whether one of the Nodes has been Ready, and so had a CNI: it became NotReady after it had joined. Cluster API
// copies the time of that from the Node, which is NotReady from its first moment on where it never had a CNI (cluster-api
// v1.14.2, core/reconcilers/machine, setNodeHealthyAndReadyConditions). A kubelet that was silent for a while counts as Ready
// before: then nobody waits.
func (g Gate) hadCNI(ctx context.Context, cluster *clusterv1.Cluster, joined map[string]time.Time) (bool, error) {
	var machines clusterv1.MachineList
	err := g.list(ctx, cluster, &machines)
	return slices.ContainsFunc(machines.Items, func(m clusterv1.Machine) bool {
		join := joined[m.Spec.InfrastructureRef.Name]
		changed := conditions.GetLastTransitionTime(&m, clusterv1.MachineNodeReadyCondition)
		return !join.IsZero() && changed != nil && changed.After(join.Add(atJoin))
	}), err
}

// checkCNI warns if nothing in the cluster seems to bring a CNI to the Node that the machine will be. Nobody knows what user data
// of others bring, so it is not asked of them. What cannot be read holds nobody.
func (g Gate) checkCNI(ctx context.Context, c Candidate, p *Passage) {
	node := placement.Cluster{Windows: c.toBeMade()}
	if len(node.Windows) == 0 {
		return
	}
	sets, err := g.Workload.HostProcesses(ctx, client.ObjectKeyFromObject(c.Cluster))
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).V(4).Info("DaemonSets cannot be read", "error", err.Error())
		p.warn("the DaemonSets of Cluster %s could not be read, so the manager cannot check its CNI for Windows", c.Cluster.Name)
	case len(sets.Refused) > 0:
		p.refused(c.Cluster, sets.Refused, "whether it has a CNI for Windows")
	case !sets.More && !slices.ContainsFunc(sets.Found, func(set appsv1.DaemonSet) bool { return bringsCNI(set, node) }):
		p.warn("no DaemonSet of Cluster %s seems to bring a CNI to this node, which stays NotReady without one. Looked for: %s. "+
			"Install it, unless the image or the config brings the CNI; while the Nodes that have joined have none, no other VM is made",
			c.Cluster.Name, bootstrap.CNISource(c.Config.Spec))
	}
}

// bringsCNI reports whether pods of the DaemonSet may run on the Node, and whether it is more than a kube-proxy. Its RuntimeClass
// does not count: a DaemonSet needs the tolerations in its own template.
func bringsCNI(set appsv1.DaemonSet, node placement.Cluster) bool {
	template := set.Spec.Template
	template.Spec.RuntimeClassName = nil
	w := placement.Workload{Kind: "DaemonSet", Namespace: set.Namespace, Name: set.Name, Template: template}
	return node.Judge(w).Verdict != placement.StaysAway && slices.ContainsFunc(template.Spec.Containers,
		func(c corev1.Container) bool { return !bootstrap.RunsKubeProxy(c) })
}
