package placement

import (
	"cmp"
	"reflect"
	"slices"

	nodev1 "k8s.io/api/node/v1"
)

// Memory remembers the verdicts on the workloads of one cluster, so that a look judges again only what has changed since the last
// one: a workload with another Version, and all of them where Nodes or RuntimeClasses are others. It keeps nothing of a workload
// with which nothing is wrong. The zero value is ready. What it was given must not be changed afterwards.
type Memory struct {
	cluster Cluster
	mutates bool
	judged  map[string]judged
}

// judged is the verdict on a workload of this version; nil if nothing is wrong.
type judged struct {
	version string
	wrong   *Finding
}

// Wrong are the findings with a problem.
func (m *Memory) Wrong(s Seen) (all []Finding) {
	s.Cluster = inOrder(s.Cluster)
	if m.mutates != s.Mutates || !reflect.DeepEqual(m.cluster, s.Cluster) {
		m.judged = nil
	}
	m.cluster, m.mutates = s.Cluster, s.Mutates
	now := make(map[string]judged, len(s.Workloads))
	for _, w := range s.Workloads {
		name := w.String()
		one, known := m.judged[name]
		if !known || w.Version == "" || one.version != w.Version {
			one = judged{version: w.Version}
			if finding := s.judge(w); finding.Problem != "" {
				one.wrong = &finding
			}
		}
		if now[name] = one; one.wrong != nil {
			all = append(all, *one.wrong)
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

// inOrder sorts, as those who watch a cluster keep it in maps.
func inOrder(c Cluster) Cluster {
	byName := func(a, b Node) int { return cmp.Compare(a.Name, b.Name) }
	c.Windows, c.Linux = slices.SortedFunc(slices.Values(c.Windows), byName), slices.SortedFunc(slices.Values(c.Linux), byName)
	c.RuntimeClasses = slices.SortedFunc(slices.Values(c.RuntimeClasses), func(a, b nodev1.RuntimeClass) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return c
}
