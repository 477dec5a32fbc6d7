package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/findings"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/collect"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

const (
	// findAgain is how soon a cluster is read again, and reportAgain how soon people learn of more findings than a minute has room
	// for.
	findAgain, reportAgain = 10 * time.Minute, time.Minute
	// longestFind is how long lists are read: what a look does before that takes the rest of its minute.
	longestFind = 35 * time.Second
	// mostOfNodes is how many bytes the labels and taints of a cluster's Nodes may have: those of 5,000 have 8 MiB.
	mostOfNodes = 8 << 20
	// mostFindings on workloads are kept of a cluster.
	mostFindings = 1000
)

// Findings makes known of clusters with Windows machines where pods go wrong: the metric capwin_placement_findings counts what
// was wrong at the last reading, an event on the Cluster has each finding once, and so has the log. A new process begins anew.
// Nothing is watched for that: a cluster is read page by page when it gets its first machine, and each ten minutes. Of its
// workloads, one page at a time is kept.
type Findings struct {
	// Client reads the cache.
	Client   client.Reader
	Lists    Lists
	Policies *Policies
	Events   events.EventRecorder
	// Count gets how many findings with a problem a Cluster has, which is NAMESPACE/NAME.
	Count func(cluster, problem string, n int)

	known memories[findingMemory]
}

// findingMemory is when a cluster was read, and what was reported of that.
type findingMemory struct {
	read time.Time
	findings.Record
}

// Needs implements Keep.
func (*Findings) Needs(_ *clusterv1.Cluster, machines []client.Object, _ map[string]bool) []string {
	if len(machines) > 0 {
		return []string{"findings"}
	}
	return nil
}

// Forget implements Keep.
func (f *Findings) Forget(cluster client.ObjectKey) {
	f.known.forget(cluster)
	f.count(cluster, nil)
}

func (f *Findings) count(cluster client.ObjectKey, counts map[placement.Problem]int) {
	for _, problem := range placement.Problems() {
		f.Count(cluster.String(), string(problem), counts[problem])
	}
}

// Look implements Keep.
func (f *Findings) Look(ctx context.Context, v *Visit) (err error) {
	if len(v.Needs) == 0 {
		f.Forget(v.Key)
		return nil
	}
	last := f.known.of(v.Key)
	log := ctrl.LoggerFrom(ctx).WithName("placement").WithValues("cluster", v.Key)
	if v.Now.Sub(last.read) >= findAgain {
		wrong, err := f.find(ctx, v)
		if err != nil {
			return err
		}
		last.read = v.Now
		counts, gone := last.Take(wrong)
		f.count(v.Key, counts)
		if n := len(gone); n > 0 {
			log.Info("A workload cluster no longer has it wrong", "count", n, "findings", gone[:min(n, findings.AtOnce)])
		}
	}
	v.LookAgain(findAgain - v.Now.Sub(last.read))
	next, more := last.Next()
	for _, one := range next {
		log.Info("A workload cluster has something wrong with its placement", "finding", findings.NameOf(one), "nodes",
			findings.NodesOf(one), "why", cloud.Clean(one.Why, findings.MaxNote))
		f.Events.Eventf(v.Cluster, fieldOf(v.Cluster, findings.NameOf(one)), corev1.EventTypeWarning, infrav1.PlacementFindingReason,
			"Look", "%s", findings.NoteOf(one))
	}
	if more {
		v.LookAgain(reportAgain)
	}
	return nil
}

// fieldOf is a part of a Cluster. The recorder takes events that relate to the same object for one.
func fieldOf(cluster *clusterv1.Cluster, path string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Namespace: cluster.Namespace, Name: cluster.Name, FieldPath: path,
	}
}

// find reads the cluster, and returns what is wrong there. What is too much or not shown is a finding.
func (f *Findings) find(ctx context.Context, v *Visit) ([]placement.Finding, error) {
	server, err := f.Lists.Reader(ctx, v.Key)
	if err != nil {
		return nil, err
	}
	server.Enough = v.within(longestFind)
	c := collect.Collector{Server: server, MostOfNodes: mostOfNodes}
	unread := c.Read(ctx)
	if err := breakOff(ctx, unread); err != nil {
		return nil, err
	}
	joins, err := f.joins(ctx, v)
	if err != nil {
		return nil, err
	}
	c.Add(joins)
	policy := f.Policies.known.of(v.Key)
	c.Mutates = policy.There.Changing && (policy.answer == nil || errors.Is(policy.answer, keep.ErrSettling))
	var wrong []placement.Finding
	if unread == nil {
		unread = c.Workloads(ctx, func(w collect.Workload) error {
			one, err := w.Decode()
			if err != nil {
				return err
			}
			if finding := c.Take(one); finding.Problem != "" && len(wrong) < mostFindings {
				wrong = append(wrong, finding)
			}
			return ctx.Err()
		})
	}
	if err := breakOff(ctx, unread); err != nil {
		return nil, err
	}
	var found []placement.Finding // what is about the whole cluster comes first, as workloads may be more than people learn of
	if unkept, is := errors.AsType[*policies.UnkeptError](policy.answer); is {
		found = append(found, placement.Finding{Of: "policies", Problem: placement.PoliciesIncomplete, Why: unkept.Why})
	}
	if unread != nil || len(c.Lacking) > 0 {
		return append(append(found, notRead(v.Cluster, unread, c.Lacking)), wrong...), nil
	}
	return slices.Concat(found, wrong, c.OfCluster()), nil
}

// notRead is the finding about what was not read: of what is not known nothing is missing.
func notRead(about *clusterv1.Cluster, unread error, lacking []string) placement.Finding {
	why := "the user of Secret " + about.Name + "-kubeconfig may not " + strings.Join(lacking, ", ")
	if unread != nil {
		why = cloud.Clean(unread.Error(), maxNote/2)
	}
	return placement.Finding{Of: "unread", Problem: placement.PoliciesIncomplete, Why: fmt.Sprintf("Cluster %s was not read as a "+
		"whole, so it is not known where all pods go, nor whether one of the workloads is cluster DNS or kube-proxy: %s",
		about.Name, why)}
}

// joins are those of the Cluster's machines, by the cache.
func (f *Findings) joins(ctx context.Context, v *Visit) ([]placement.Join, error) {
	var machines []infrav1.WindowsMachine
	for _, o := range v.objects {
		if m, is := o.(*infrav1.WindowsMachine); is {
			machines = append(machines, *m)
		}
	}
	var configs bootstrapv1.WindowsBootstrapConfigList
	err := f.Client.List(ctx, &configs, client.InNamespace(v.Key.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: v.Key.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list windowsbootstrapconfigs: %w", err)
	}
	return placement.JoinsOf(machines, configs.Items), nil
}
