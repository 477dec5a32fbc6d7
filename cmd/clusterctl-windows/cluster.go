package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	kjson "sigs.k8s.io/json"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

func (m *machine) loadCluster(o *objects.Set) error {
	key := types.NamespacedName{Namespace: m.owner.Namespace, Name: m.owner.Spec.ClusterName}
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
func (m *machine) findEndpoint(o *objects.Set) error {
	ref := m.cluster.Spec.InfrastructureRef
	for _, one := range o.All {
		referred := one.Kind == ref.Kind && one.Version.Group == ref.APIGroup && one.Key == types.NamespacedName{
			Namespace: m.cluster.Namespace, Name: ref.Name,
		}
		if !referred {
			continue
		}
		var read struct {
			Spec struct {
				ControlPlaneEndpoint clusterv1.APIEndpoint `json:"controlPlaneEndpoint"`
			} `json:"spec"`
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(one.Data, &read); err != nil {
			return fmt.Errorf("%s: %w", one, err)
		}
		if endpoint := read.Spec.ControlPlaneEndpoint; endpoint.IsValid() {
			m.cluster.Spec.ControlPlaneEndpoint = endpoint
			m.note("Cluster %s has no spec.controlPlaneEndpoint yet; using %s from %s", m.cluster.Name, endpoint.String(), one)
		}
	}
	return nil
}
