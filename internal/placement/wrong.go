package placement

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

const (
	// mostFindings on workloads are kept of a cluster.
	mostFindings = 1000
	// mostKept are workloads of cluster DNS and kube-proxy that are kept. No cluster needs as many.
	mostKept = 200
)

// Wrong collects what is wrong in a cluster from workloads that come one after the other. It keeps those of cluster DNS and of
// kube-proxy, which findings on the cluster need, and of the others what is wrong.
type Wrong struct {
	seen  Seen
	found []Finding
}

// NewWrong begins with what is known of a cluster. Its workloads do not matter.
func NewWrong(s Seen) *Wrong {
	s.Workloads = nil
	return &Wrong{seen: s}
}

// Take judges a workload.
func (w *Wrong) Take(one Workload) {
	if finding := w.seen.judge(one); finding.Problem != "" && len(w.found) < mostFindings {
		w.found = append(w.found, finding)
	}
	isDNS := one.Namespace == metav1.NamespaceSystem && len(w.seen.DNS) > 0 &&
		labels.SelectorFromSet(w.seen.DNS).Matches(labels.Set(one.Template.Labels))
	runsProxy := slices.ContainsFunc(one.Template.Spec.Containers, bootstrap.RunsKubeProxy)
	if (isDNS || runsProxy) && len(w.seen.Workloads) < mostKept {
		w.seen.Workloads = append(w.seen.Workloads, one)
	}
}

// OfWorkloads are the findings on workloads, in their order.
func (w *Wrong) OfWorkloads() []Finding { return slices.Clone(w.found) }

// Findings are those on workloads, and then those on cluster DNS and kube-proxy.
func (w *Wrong) Findings() []Finding {
	all := w.OfWorkloads()
	for _, finding := range w.seen.ofCluster() {
		if finding.Problem != "" {
			all = append(all, finding)
		}
	}
	return all
}
