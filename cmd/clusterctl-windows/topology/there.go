package topology

import (
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// isWindows says whether an object is a Machine or a MachineDeployment of ours.
func isWindows(one objects.Object) bool {
	path := map[string][]string{
		"Machine":           {"spec", "infrastructureRef", "kind"},
		"MachineDeployment": {"spec", "template", "spec", "infrastructureRef", "kind"},
	}[one.Kind]
	if path == nil || one.Version.Group != clusterv1.GroupVersion.Group {
		return false
	}
	kind, err := objects.Field[string](one, path...)
	return err == nil && kind != nil && (*kind == "WindowsMachine" || *kind == windowsTemplates.Kind)
}

// hasWindows says whether the files have any of them.
func hasWindows(o *objects.Set) bool { return slices.ContainsFunc(o.All, isWindows) }

// isExpanded says whether the files have machines or pools that Cluster API made of the topology, as kubectl prints them.
func isExpanded(o *objects.Set, cluster *clusterv1.Cluster) bool {
	return slices.ContainsFunc(o.All, func(one objects.Object) bool {
		if !isWindows(one) || one.Key.Namespace != cluster.Namespace {
			return false
		}
		labels, err := objects.Field[map[string]string](one, "metadata", "labels")
		if err != nil || labels == nil || (*labels)[clusterv1.ClusterNameLabel] != cluster.Name {
			return false
		}
		_, owned := (*labels)[clusterv1.ClusterTopologyOwnedLabel]
		return owned
	})
}
