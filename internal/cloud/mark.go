package cloud

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Marked is a VM with our marks, or what was made with one and has none any more, as the cloud shows it. Whoever may change VMs
// there can write all of it.
type Marked struct {
	// Kind is what it is, if it is no VM but was left by one, such as "disk"; empty for a VM.
	Kind string
	// Name that it has now.
	Name string
	// Key, ProviderID and Cluster are the marks. What a VM left has the ProviderID of that VM.
	Key        Key
	ProviderID string
	Cluster    ClusterMark
}

// Of reports whether the marks are those of a machine. Some clouds show more that has to agree.
func (m Marked) Of(machine Machine) bool {
	return m.Key == machine.Key && m.ProviderID != "" && m.ProviderID == machine.ProviderID
}

// ClusterMark names the Cluster of a machine, in the machine's namespace, to show whose a VM was once its machine is gone.
// Another installation may have a Cluster of the same name, but none of the same UID.
type ClusterMark struct {
	Name string
	UID  types.UID
	// Manager is the UID of the management cluster, which is that of its namespace kube-system.
	Manager types.UID
}

// MarkOf is the mark of a Cluster; the zero value without one.
func MarkOf(cluster *clusterv1.Cluster, manager types.UID) ClusterMark {
	if cluster == nil {
		return ClusterMark{}
	}
	return ClusterMark{Name: cluster.Name, UID: cluster.UID, Manager: manager}
}

// String is the mark as it is written on a VM.
func (c ClusterMark) String() string {
	if c.Name == "" || c.UID == "" {
		return ""
	}
	return strings.TrimSuffix(c.Name+"/"+string(c.UID)+"/"+string(c.Manager), "/")
}

// ReadClusterMark is the inverse of String. What is not a mark is the zero value.
func ReadClusterMark(text string) ClusterMark {
	name, uids, _ := strings.Cut(text, "/")
	uid, manager, _ := strings.Cut(uids, "/")
	if name == "" || uid == "" {
		return ClusterMark{}
	}
	return ClusterMark{Name: name, UID: types.UID(uid), Manager: types.UID(manager)}
}
