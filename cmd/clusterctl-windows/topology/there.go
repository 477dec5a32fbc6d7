package topology

import (
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// isWindows reports whether an object is a Machine or a MachineDeployment of ours.
func isWindows(object objects.Object) bool {
	path := map[string][]string{
		"Machine":           {"spec", "infrastructureRef", "kind"},
		"MachineDeployment": {"spec", "template", "spec", "infrastructureRef", "kind"},
	}[object.Kind]
	if path == nil || object.Version.Group != clusterv1.GroupVersion.Group {
		return false
	}
	kind, err := objects.Field[string](object, path...)
	return err == nil && (kind == "WindowsMachine" || kind == windowsTemplates.Kind)
}

// hasWindows reports whether the files have any of them.
func hasWindows(o *objects.Set) bool { return slices.ContainsFunc(o.Items, isWindows) }

// isExpanded reports whether the files have machines or pools that Cluster API made of the topology, as kubectl prints them.
func isExpanded(o *objects.Set, cluster *clusterv1.Cluster) bool {
	return slices.ContainsFunc(o.Items, func(object objects.Object) bool {
		if !isWindows(object) || object.Key.Namespace != cluster.Namespace {
			return false
		}
		labels, err := objects.Field[map[string]string](object, "metadata", "labels")
		_, owned := labels[clusterv1.ClusterTopologyOwnedLabel]
		return err == nil && owned && labels[clusterv1.ClusterNameLabel] == cluster.Name
	})
}
