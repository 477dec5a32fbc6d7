package placement

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
)

// versionTime is how long a new cluster may take until its version is known, and its policies are there: what is told depends on
// both.
const versionTime = 2 * time.Minute

// look finds what is wrong in a cluster, and tells people of it.
func (t *Teller) look(ctx context.Context, about *clusterv1.Cluster, of *view) {
	m := t.memory(ctx, client.ObjectKeyFromObject(about))
	if m == nil {
		return
	}
	m.looking.Lock()
	defer m.looking.Unlock()
	s := of.state()
	if s.version == "" && t.Now().Sub(m.began) < versionTime {
		return
	}
	runs, err := t.proxyRuns(ctx, about)
	if err != nil {
		if ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Cannot look at where pods go")
		}
		return
	}
	seen := of.seen(s)
	seen.ProxyRuns = runs
	if of.leavesOut("", daemonSets) {
		seen.ProxyRuns = nil // one of them may be a kube-proxy, so that none is missing
	}
	findings := m.verdicts.Wrong(seen, until(ctx, of.stored()))
	if len(s.notKept) > 0 {
		findings = append(findings, verdict.Finding{
			Of: "policies", Problem: verdict.PoliciesIncomplete, Why: strings.Join(s.notKept, "; "),
		})
	}
	if s.leftOut > 0 {
		findings = append(findings, verdict.Finding{Of: "unread", Problem: verdict.PoliciesIncomplete, Why: fmt.Sprintf("%d objects "+
			"of Cluster %s were not read, because they are too large or too many, so it is not known where their pods go, nor whether "+
			"one of them is cluster DNS or kube-proxy", s.leftOut, about.Name)})
	}
	t.Tell(ctx, about, findings)
}

// until ends with ctx: there may be many.
func until(ctx context.Context, all []verdict.Stored) iter.Seq[verdict.Stored] {
	return func(yield func(verdict.Stored) bool) {
		for _, one := range all {
			if ctx.Err() != nil || !yield(one) {
				return
			}
		}
	}
}

// plan makes the event that comes before the policy.
func (t *Teller) plan(ctx context.Context, about *clusterv1.Cluster, text string) {
	ctrl.LoggerFrom(ctx).Info("The policy of a workload cluster will change workloads", "plan", cloud.Clean(text, maxNote))
	t.Events.Eventf(about, fieldOf(about, "plan"), corev1.EventTypeNormal, infrav1.PlacementFindingReason, "Plan", "%s",
		cloud.Clean(text+"; to have none changed, set the annotation "+infrav1.LinuxPolicyAnnotation+": "+infrav1.LinuxPolicyWarn+
			" on the Cluster", maxNote))
}

// forget is called when a Cluster is not looked after any more.
func (t *Teller) forget(cluster client.ObjectKey) { t.Forget(cluster) }

// memory is nil if the Cluster may be forgotten already.
func (t *Teller) memory(ctx context.Context, key client.ObjectKey) *memory {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	return t.memoryOf(key)
}

// proxyRuns say who is to run kube-proxy on the Nodes of the Cluster's Windows machines, by the cache.
func (t *Teller) proxyRuns(ctx context.Context, about *clusterv1.Cluster) (map[string]bootstrapv1.KubeProxyRun, error) {
	var machines clusterv1.MachineList
	err := t.Client.List(ctx, &machines, client.InNamespace(about.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: about.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	runs := map[string]bootstrapv1.KubeProxyRun{}
	for i := range machines.Items {
		m := &machines.Items[i]
		if m.Spec.Bootstrap.ConfigRef.Kind != "WindowsBootstrapConfig" || !m.Status.NodeRef.IsDefined() {
			continue
		}
		var config bootstrapv1.WindowsBootstrapConfig
		key := client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.Bootstrap.ConfigRef.Name}
		err := t.Client.Get(ctx, key, &config)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get windowsbootstrapconfig %s: %w", key, err)
		}
		if err == nil {
			runs[m.Status.NodeRef.Name] = bootstrap.KubeProxyRun(config.Spec.Network)
		}
	}
	return runs, nil
}

// seen is what the view has of the cluster. Of what it may not have all, nothing is said to be missing.
func (v *view) seen(s state) verdict.Seen {
	windows, linux := v.nodes()
	kubelets := map[string]string{}
	for _, one := range windows {
		kubelets[one.Name] = one.Kubelet
	}
	seen := verdict.Seen{
		Cluster: verdict.Cluster{
			Windows: plain(windows), Linux: plain(linux), RuntimeClasses: v.classes(),
		},
		Version: s.version, Mutates: v.hasMutating() && len(s.notKept) == 0,
	}
	if s.hidden[daemonSets] != "" {
		return seen
	}
	seen.Kubelets = kubelets
	mayLack := v.leavesOut(dnsService.Namespace+"/", slices.Collect(maps.Keys(kinds))...)
	if s.hidden[deployments] == "" && s.hidden[statefulSets] == "" && !mayLack {
		seen.DNS = v.dns()
	}
	return seen
}

// leavesOut says whether objects of these resources, whose keys begin so, may have been left out.
func (v *view) leavesOut(prefix string, resources ...string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(resources, func(resource string) bool { return v.stores[resource].leavesOut(prefix) })
}

func plain(nodes []node) []verdict.Node {
	all := make([]verdict.Node, len(nodes))
	for i, n := range nodes {
		all[i] = n.Node
	}
	return all
}

// hasMutating says whether the policy that changes workloads is there.
func (v *view) hasMutating() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.own["mutatingadmissionpolicies"].objects) > 0
}

// seed is that of the hashes by which a workload is known to have changed.
var seed = maphash.MakeSeed()

// stored are the workloads, each of which is decoded only when somebody reads it.
func (v *view) stored() (all []verdict.Stored) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, resource := range []string{daemonSets, deployments, statefulSets} {
		for key, text := range v.stores[resource].all() {
			all = append(all, verdict.Stored{
				Name: resource + "/" + key, Version: strconv.FormatUint(maphash.Bytes(seed, text), 36),
				Read: func() verdict.Workload { return workloadOf(kinds[resource], text) }, // never changed, only replaced
			})
		}
	}
	return all
}
