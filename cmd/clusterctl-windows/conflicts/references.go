package conflicts

import (
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// The groups of the objects that a Cluster refers to.
const (
	kubeadmGroup        = "controlplane.cluster.x-k8s.io"
	infrastructureGroup = "infrastructure.cluster.x-k8s.io"
)

// references are those of the Cluster that lead nowhere, as far as the files show it.
func (s Subject) references() (notes []string) {
	spec := s.Cluster.Spec
	if s.Cluster.Name == "" || spec.Topology.IsDefined() { // then Cluster API writes them
		return nil
	}
	notes = append(notes, s.leads("spec.controlPlaneRef", spec.ControlPlaneRef, kubeadmGroup)...)
	return append(notes, s.leads("spec.infrastructureRef", spec.InfrastructureRef, infrastructureGroup)...)
}

// leads explains why a reference leads nowhere. References to unknown kinds are not judged.
func (s Subject) leads(field string, ref clusterv1.ContractVersionedObjectReference, group string) []string {
	isKnown := cloudOf[ref.Kind] != "" || notKubeadms[ref.Kind] != "" || ref.Kind == "KubeadmControlPlane"
	switch {
	case strings.HasSuffix(ref.Kind, "Template"):
		return note("%s: %s.kind is %q, which is a template for others: write the kind %s, and the name of such an object",
			s.name(), field, ref.Kind, strings.TrimSuffix(ref.Kind, "Template"))
	case isKnown && ref.APIGroup != group:
		return note("%s: %s.apiGroup is %q, but the kind %s is of %s: write that", s.name(), field, ref.APIGroup, ref.Kind, group)
	}
	if _, found := s.Files.Referred(ref, s.Cluster.Namespace); found {
		return nil
	}
	var names []string
	for _, object := range s.Files.Items {
		if object.Kind == ref.Kind && object.Key.Namespace == s.Cluster.Namespace {
			names = append(names, object.Key.Name)
		}
	}
	if meant := objects.Nearest(ref.Name, names); meant != "" {
		return note("%s: %s names %s, which is not in %s; did you mean %s, which is there?", s.name(), field, refText(ref),
			s.Files.Source, meant)
	}
	return nil
}
