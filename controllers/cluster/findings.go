package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/findings"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/collect"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

const (
	// findAgain is how soon a cluster is read again, and reportAgain how soon findings follow for which a minute has no room.
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
	// Policies are those of the same Cluster.
	Policies *Policies
	// Count gets how many findings with a problem a Cluster has, which is NAMESPACE/NAME.
	Count func(cluster, problem string, n int)

	read     time.Time // when the cluster was read
	reported findings.Record
	bytes    int // of findings
}

// Lists reads lists of workload clusters.
type Lists interface {
	Reader(ctx context.Context, cluster client.ObjectKey) (apiserver.Reader, error)
}

// collector reads lists for no longer than that, before the look is ended for them: what comes after them in it has time, too.
func collector(ctx context.Context, lists Lists, v *Visit, longest time.Duration) (*collect.Collector, error) {
	server, err := lists.Reader(ctx, v.Key)
	end := v.r.Now().Add(longest)
	server.Enough = func() error {
		if v.r.Now().After(end) {
			return fmt.Errorf("its lists take longer than %s and were not read to the end", longest)
		}
		return nil
	}
	return &collect.Collector{Server: server, MostOfNodes: mostOfNodes}, err
}

// eachWorkload keeps one page of them at a time.
func eachWorkload(ctx context.Context, c *collect.Collector, take func(placement.Workload)) error {
	return c.Workloads(ctx, func(w collect.Workload) error {
		decoded, err := w.Decode()
		if err != nil {
			return err
		}
		take(decoded)
		return ctx.Err()
	})
}

// Needs implements Keep.
func (*Findings) Needs(_ *clusterv1.Cluster, machines client.ObjectList, _ map[string]bool) []string {
	if meta.LenList(machines) > 0 {
		return []string{"findings"}
	}
	return nil
}

func (f *Findings) count(cluster client.ObjectKey, counts map[placement.Problem]int) {
	for _, problem := range placement.Problems() {
		f.Count(cluster.String(), string(problem), counts[problem])
	}
}

// forget drops what is known of a Cluster.
func (f *Findings) forget(r *Reconciler, cluster client.ObjectKey) {
	r.Bytes.Swap(cluster.Namespace, f.bytes, 0)
	f.read, f.reported, f.bytes = time.Time{}, findings.Record{}, 0
	f.count(cluster, nil)
}

// Look implements Keep.
func (f *Findings) Look(ctx context.Context, v *Visit) error {
	if len(v.Needs) == 0 {
		f.forget(v.r, v.Key)
		return nil
	}
	log := ctrl.LoggerFrom(ctx).WithName("placement").WithValues("cluster", v.Key)
	if v.Now.Sub(f.read) >= findAgain {
		wrong, err := f.find(ctx, v)
		if err != nil {
			return err
		}
		f.read = v.Now
		fitting, bytes := tenants.Fitting(v.r.Bytes, v.Key.Namespace, f.bytes, wrong)
		if f.bytes = bytes; len(fitting) < len(wrong) {
			fitting = slices.Insert(fitting, 0, leftOut(v.Key, len(wrong)-len(fitting)))
		}
		counts, gone := f.reported.Take(fitting)
		f.count(v.Key, counts)
		if n := len(gone); n > 0 {
			log.Info("A placement finding of a workload cluster has ended", "count", n, "findings", gone[:min(n, findings.AtOnce)])
		}
	}
	v.LookAgain(findAgain - v.Now.Sub(f.read))
	next, pending := f.reported.Next(func(n int) int { return v.r.pace.Take(tenants.Events, v.Key.Namespace, n, v.Now) })
	for _, finding := range next {
		log.Info("A workload cluster has a placement finding", "finding", findings.NameOf(finding),
			"why", cloud.Clean(finding.Why, findings.MaxNote))
		v.report(corev1.EventTypeWarning, infrav1.PlacementFindingReason, findings.NameOf(finding), findings.NoteOf(finding))
	}
	if pending {
		v.LookAgain(reportAgain)
	}
	return nil
}

func leftOut(cluster client.ObjectKey, count int) placement.Finding {
	return placement.Finding{Of: "left out", Problem: placement.PoliciesIncomplete, Why: fmt.Sprintf("Cluster %s has more "+
		"findings, which are left out (%d): the manager keeps no more of what the clusters of namespace %s show", cluster.Name, count,
		cluster.Namespace)}
}

// find reads the cluster, and returns what is wrong there. What is too much or not shown is a finding.
func (f *Findings) find(ctx context.Context, v *Visit) ([]placement.Finding, error) {
	c, err := collector(ctx, f.Policies.Lists, v, longestFind)
	if err != nil {
		return nil, err
	}
	unread := c.Read(ctx)
	joins, err := f.joins(ctx, v)
	if err != nil {
		return nil, err
	}
	c.Add(joins)
	answer := f.Policies.answer
	c.Mutates = f.Policies.memory.Present.Changing && (answer == nil || errors.Is(answer, keep.ErrSettling))
	var wrong []placement.Finding
	if unread == nil {
		unread = eachWorkload(ctx, c, func(w placement.Workload) {
			if finding := c.Take(w); finding.Problem != "" && len(wrong) < mostFindings {
				finding.Why, finding.Nodes = cloud.Clean(finding.Why, findings.MaxNote), nil // it may have all that a workload selects
				wrong = append(wrong, finding)
			}
		})
	}
	if err := breakOff(ctx, unread); err != nil {
		return nil, err
	}
	var found []placement.Finding // what is about the whole cluster comes first, as workloads may be more than people learn of
	if unkept, ok := errors.AsType[*policies.UnkeptError](answer); ok {
		found = append(found, placement.Finding{Of: "policies", Problem: placement.PoliciesIncomplete, Why: unkept.Reason})
	}
	if unread != nil || len(c.Lacking) > 0 {
		return append(append(found, notRead(v.Cluster, unread, c.Lacking)), wrong...), nil
	}
	return slices.Concat(found, wrong, c.OfCluster()), nil
}

// notRead is the finding about what was not read: of what is not known nothing is missing.
func notRead(cluster *clusterv1.Cluster, unread error, lacking []string) placement.Finding {
	reason := "the user of Secret " + cluster.Name + "-kubeconfig may not " + strings.Join(lacking, ", ")
	if unread != nil {
		reason = cloud.Clean(unread.Error(), findings.MaxNote/2)
	}
	return placement.Finding{Of: "unread", Problem: placement.PoliciesIncomplete, Why: fmt.Sprintf("Cluster %s was not read "+
		"completely, so findings about its pods, cluster DNS and kube-proxy may be missing: %s",
		cluster.Name, reason)}
}

// joins are those of the Cluster's machines, by the cache.
func (f *Findings) joins(ctx context.Context, v *Visit) ([]placement.Join, error) {
	machines, ok := v.objects.(*infrav1.WindowsMachineList)
	if !ok {
		return nil, nil
	}
	var configs bootstrapv1.WindowsBootstrapConfigList
	if err := v.list(ctx, &configs); err != nil {
		return nil, fmt.Errorf("list windowsbootstrapconfigs: %w", err)
	}
	return placement.JoinsOf(machines.Items, configs.Items), nil
}
