package preview

import (
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

func (m *Machine) loadCluster(o *objects.Set) error {
	key := types.NamespacedName{Namespace: m.Owner.Namespace, Name: m.Owner.Spec.ClusterName}
	var err error
	if m.cluster, err = objects.Load[clusterv1.Cluster](o, "Cluster", key); err != nil {
		return err
	}
	if m.cluster.Spec.ControlPlaneEndpoint.IsValid() || m.bringsKubeconfig() {
		return nil
	}
	return m.findEndpoint(o)
}

// bringsKubeconfig reports whether the node gets its API server from a kubeconfig instead of the Cluster.
func (m *Machine) bringsKubeconfig() bool {
	return m.config != nil && m.config.Spec.Discovery.KubeconfigFrom.Secret.Name != ""
}

// findEndpoint takes the endpoint from the cluster's infrastructure, as Cluster API does. In files from git only that object
// has it, or none has it yet.
func (m *Machine) findEndpoint(o *objects.Set) error {
	object, found := o.Referred(m.cluster.Spec.InfrastructureRef, m.cluster.Namespace)
	if !found {
		m.fillEndpoint("the Cluster's infrastructure")
		return nil
	}
	endpoint, err := objects.Field[clusterv1.APIEndpoint](object, "spec", "controlPlaneEndpoint")
	if err != nil {
		return err
	}
	if !endpoint.IsValid() {
		m.fillEndpoint(object.String())
		return nil
	}
	m.cluster.Spec.ControlPlaneEndpoint = endpoint
	m.note("Cluster %s has no spec.controlPlaneEndpoint yet; using %s from %s", m.cluster.Name, endpoint.String(), object)
	return nil
}

// fillEndpoint sets a placeholder, of which no part is set.
func (m *Machine) fillEndpoint(source string) {
	endpoint := &m.cluster.Spec.ControlPlaneEndpoint
	if endpoint.Host != "" || endpoint.Port != 0 {
		return // Render names the missing part
	}
	*endpoint = bootstrap.PlaceholderEndpoint
	m.standIn("the endpoint of the API server, which " + source + " sets")
}
