package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	kjson "sigs.k8s.io/json"
)

func (m *machine) loadCluster(o *objects) error {
	key := types.NamespacedName{Namespace: m.owner.Namespace, Name: m.owner.Spec.ClusterName}
	var err error
	if m.cluster, err = load[clusterv1.Cluster](o, "Cluster", key); err != nil {
		return err
	}
	if m.cluster.Spec.ControlPlaneEndpoint.IsValid() {
		return nil
	}
	return m.findEndpoint(o)
}

// findEndpoint takes over what the cluster's infrastructure says, as Cluster API does: in git it stands only there.
func (m *machine) findEndpoint(o *objects) error {
	ref := m.cluster.Spec.InfrastructureRef
	for _, one := range o.all {
		if one.kind != ref.Kind || one.version.Group != ref.APIGroup || one.key.Name != ref.Name || one.key.Namespace != m.cluster.Namespace {
			continue
		}
		var read struct {
			Spec struct {
				ControlPlaneEndpoint clusterv1.APIEndpoint `json:"controlPlaneEndpoint"`
			} `json:"spec"`
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(one.data, &read); err != nil {
			return fmt.Errorf("%s: %w", one, err)
		}
		if endpoint := read.Spec.ControlPlaneEndpoint; endpoint.IsValid() {
			m.cluster.Spec.ControlPlaneEndpoint = endpoint
			m.note("Cluster %s has no spec.controlPlaneEndpoint yet: that of %s is used, %s", m.cluster.Name, one, endpoint.String())
		}
	}
	return nil
}
