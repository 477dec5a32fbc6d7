package placement

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"slices"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// Stored is a workload that is read only where it must be.
type Stored struct {
	// Name tells it from all others of its cluster, and Version is another one when it has changed.
	Name, Version string
	Read          func() Workload
}

// Memory remembers the verdicts on the workloads of one cluster, so that a look reads and judges again only what has changed
// since the last one: a workload with another Version, and all of them where the cluster is another. Of a workload it keeps no
// more than what is wrong with it, but for those of cluster DNS and kube-proxy. The zero value is ready. What it was given must
// not be changed afterwards.
type Memory struct {
	cluster [sha256.Size]byte // of the cluster that was judged for; thousands of Nodes are not kept
	judged  map[string]judged
}

// mostKept are workloads of cluster DNS and kube-proxy that are kept. No cluster needs as many.
const mostKept = 200

// judged is the verdict on a workload of this version.
type judged struct {
	version string
	wrong   *Finding // nil if nothing is
	// kept is the workload where findings on the cluster need it, else nil.
	kept *Workload
}

// Wrong are the findings with a problem. The workloads of Seen do not matter.
func (m *Memory) Wrong(s Seen, workloads iter.Seq[Stored]) (all []Finding) {
	s.Cluster, s.Workloads = inOrder(s.Cluster), nil
	if cluster := s.digest(); cluster != m.cluster {
		m.judged, m.cluster = nil, cluster
	}
	now := make(map[string]judged, len(m.judged))
	for one := range workloads {
		known, there := m.judged[one.Name]
		if !there || known.version != one.Version {
			known = s.remember(one)
		}
		switch {
		case known.kept == nil:
		case len(s.Workloads) < mostKept:
			s.Workloads = append(s.Workloads, *known.kept)
		default:
			known.kept = nil
		}
		if now[one.Name] = known; known.wrong != nil {
			all = append(all, *known.wrong)
		}
	}
	m.judged = now
	for _, finding := range s.ofCluster() {
		if finding.Problem != "" {
			all = append(all, finding)
		}
	}
	return all
}

func (s Seen) remember(one Stored) judged {
	w := one.Read()
	now := judged{version: one.Version}
	if finding := s.judge(w); finding.Problem != "" {
		now.wrong = &finding
	}
	isDNS := w.Namespace == metav1.NamespaceSystem && len(s.DNS) > 0 &&
		labels.SelectorFromSet(s.DNS).Matches(labels.Set(w.Template.Labels))
	if isDNS || slices.ContainsFunc(w.Template.Spec.Containers, bootstrap.RunsKubeProxy) {
		now.kept = &w
	}
	return now
}

// digest is the same where the verdicts on workloads are.
func (s Seen) digest() (digest [sha256.Size]byte) {
	hash := sha256.New()
	text := json.NewEncoder(hash)
	for _, nodes := range [][]Node{s.Windows, s.Linux} {
		for i := range nodes {
			_ = text.Encode(&nodes[i]) // JSON has all that a Node has, and a hash takes all
		}
		_ = text.Encode(len(nodes))
	}
	_ = text.Encode([]any{s.RuntimeClasses, s.Mutates, s.DNS})
	hash.Sum(digest[:0])
	return digest
}

// inOrder sorts, as those who watch a cluster keep it in maps.
func inOrder(c Cluster) Cluster {
	byName := func(a, b Node) int { return cmp.Compare(a.Name, b.Name) }
	c.Windows, c.Linux = slices.SortedFunc(slices.Values(c.Windows), byName), slices.SortedFunc(slices.Values(c.Linux), byName)
	c.RuntimeClasses = slices.SortedFunc(slices.Values(c.RuntimeClasses), func(a, b nodev1.RuntimeClass) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return c
}
