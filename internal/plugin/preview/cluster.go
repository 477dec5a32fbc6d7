package preview

import (
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
)

func (m *Machine) loadCluster(o *objects.Set) error {
	key := types.NamespacedName{Namespace: m.Owner.Namespace, Name: m.Owner.Spec.ClusterName}
	var err error
	if m.cluster, err = objects.Load[clusterv1.Cluster](o, "Cluster", key); err != nil {
		return err
	}
	if m.cluster.Spec.ControlPlaneEndpoint.IsValid() {
		return nil
	}
	return m.findEndpoint(o)
}

// findEndpoint takes the endpoint from the cluster's infrastructure, as Cluster API does. In files from git only that object
// has it.
func (m *Machine) findEndpoint(o *objects.Set) error {
	ref := m.cluster.Spec.InfrastructureRef
	for _, one := range o.All {
		referred := one.Kind == ref.Kind && one.Version.Group == ref.APIGroup && one.Key == types.NamespacedName{
			Namespace: m.cluster.Namespace, Name: ref.Name,
		}
		if !referred {
			continue
		}
		endpoint, err := objects.Field[clusterv1.APIEndpoint](one, "spec", "controlPlaneEndpoint")
		if err != nil {
			return err
		}
		if endpoint != nil && endpoint.IsValid() {
			m.cluster.Spec.ControlPlaneEndpoint = *endpoint
			m.note("Cluster %s has no spec.controlPlaneEndpoint yet; using %s from %s", m.cluster.Name, endpoint.String(), one)
		}
	}
	return nil
}
