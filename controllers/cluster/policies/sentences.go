package policies

import (
	"fmt"
	"time"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// maxCause is how much of an API server's own words people see.
const maxCause = 256

// sentences are about what the probes have found.
func (m *Memory) sentences(s Seen, now time.Time) (list []string) {
	const ignored = "Cluster %s has the %s of capwin but does not enforce %s: its API server has the %s switched off, or is being " +
		"upgraded"
	if m.Refused != nil {
		return []string{fmt.Sprintf("Cluster %s does not allow the user of Secret %s-kubeconfig to create ConfigMaps in kube-system "+
			"(by a dry run), so the manager cannot check that the policies act that keep workloads for Linux off Windows Nodes: %s",
			s.Cluster, s.Cluster,
			causeOf(m.Refused))}
	}
	if m.isSure(now) && m.Present.Refusing && !m.Acting.Refusing {
		list = append(list, fmt.Sprintf(ignored, s.Cluster, "ValidatingAdmissionPolicies", "them",
			"admission plug-in ValidatingAdmissionPolicy"))
	}
	if m.isSure(now) && m.Present.Changing && !m.Acting.Changing {
		list = append(list, fmt.Sprintf(ignored, s.Cluster, "MutatingAdmissionPolicy", "it",
			"feature gate or the admission plug-in MutatingAdmissionPolicy"))
	}
	return list
}

// sentence is about what keeps the objects from being as they should be.
func (s Seen) sentence(act Act, err error) string {
	const effect = "so workloads for Linux are not all kept off its Windows Nodes"
	kind := "ValidatingAdmissionPolicy, which Kubernetes has from 1.30 on"
	if act != WriteRefusing {
		kind = "MutatingAdmissionPolicy, which Kubernetes has from 1.36 on"
	}
	switch keep.ClassOf(err) {
	case keep.Foreign:
		return fmt.Sprintf("Cluster %s: %s was not made by capwin, so it is left alone; rename or remove it, %s", s.Cluster,
			keep.Taken(err), effect)
	case keep.Forbidden:
		return fmt.Sprintf("Cluster %s refuses the user of Secret %s-kubeconfig the policies that keep workloads for Linux off "+
			"Windows Nodes, %s; give that user the rights in docs/security.md: %s", s.Cluster, s.Cluster, effect, causeOf(err))
	case keep.Unserved:
		return fmt.Sprintf("Cluster %s has no %s, %s", s.Cluster, kind, effect)
	}
	return fmt.Sprintf("Cluster %s: %s, %s", s.Cluster, causeOf(err), effect)
}

// causeOf are the words of an API server. They stand in quotes, because they may read like our own advice.
func causeOf(err error) string {
	return fmt.Sprintf("its API server answers %q", cloud.Clean(err.Error(), maxCause))
}
