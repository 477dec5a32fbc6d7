package preview

import (
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/conflicts"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// findConflicts notes what the files contradict each other in, before all else.
func (m *Machine) findConflicts(o *objects.Set) {
	m.Conflicts = m.subject(o).Notes()
	m.Notes = append(slices.Clone(m.Conflicts), m.Notes...)
}

func (m *Machine) subject(o *objects.Set) conflicts.Subject {
	return conflicts.Subject{Files: o, Cluster: m.cluster, Owner: m.Owner, Windows: m.Windows}
}

// ConflictSubject is the machine with its Cluster, as far as the files have that: a check does without.
func (m *Machine) ConflictSubject(o *objects.Set) conflicts.Subject {
	if err := m.loadCluster(o); err != nil {
		m.cluster = &clusterv1.Cluster{}
	}
	return m.subject(o)
}
