package topology

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/exp/topology/scope"
)

// blueprint is the class with the templates to which it refers. All that are missing are listed at once. Pools of the kind
// MachinePool are left out: none of them has Windows machines of this provider.
func (t *topology) blueprint() (*scope.ClusterBlueprint, error) {
	class := t.class.DeepCopy()
	class.Spec.Workers.MachinePools = nil
	b := &scope.ClusterBlueprint{
		Topology: t.cluster.Spec.Topology, ClusterClass: class,
		ControlPlane:       &scope.ControlPlaneBlueprint{HealthCheck: class.Spec.ControlPlane.HealthCheck},
		MachineDeployments: map[string]*scope.MachineDeploymentBlueprint{},
	}
	var refused []error
	reported := map[string]bool{}
	load := func(ref clusterv1.ClusterClassTemplateReference) *unstructured.Unstructured {
		template, err := t.template(ref)
		if err != nil && !reported[err.Error()] {
			reported[err.Error()] = true
			refused = append(refused, err)
		}
		return template
	}
	b.InfrastructureClusterTemplate = load(class.Spec.Infrastructure.TemplateRef)
	b.ControlPlane.Template = load(class.Spec.ControlPlane.TemplateRef)
	if b.HasControlPlaneInfrastructureMachine() {
		b.ControlPlane.InfrastructureMachineTemplate = load(class.Spec.ControlPlane.MachineInfrastructure.TemplateRef)
	}
	for _, pool := range class.Spec.Workers.MachineDeployments {
		b.MachineDeployments[pool.Class] = &scope.MachineDeploymentBlueprint{
			Metadata: *pool.Metadata.DeepCopy(), HealthCheck: pool.HealthCheck,
			BootstrapTemplate:             load(pool.Bootstrap.TemplateRef),
			InfrastructureMachineTemplate: load(pool.Infrastructure.TemplateRef),
		}
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("%s: templates of its ClusterClass %s are missing:\n%w", t.name(), t.classKey(), errors.Join(refused...))
	}
	return b, nil
}

// template is a copy of a template of the class.
func (t *topology) template(ref clusterv1.ClusterClassTemplateReference) (*unstructured.Unstructured, error) {
	kind := ref.GroupVersionKind()
	object, err := t.files.Find(kind.GroupKind(), types.NamespacedName{Namespace: t.class.Namespace, Name: ref.Name})
	if err != nil {
		return nil, err
	}
	if object.Version != kind.GroupVersion() {
		return nil, fmt.Errorf("%s has apiVersion %s, but its ClusterClass refers to it as %s; write the same in both",
			object, object.Version, ref.APIVersion)
	}
	return object.Unstructured()
}

// Cluster API's templates of names, where a class has none (cluster-api v1.14.2, exp/topology/desiredstate).
const (
	nameOfCluster = "{{ .cluster.name }}-{{ .random }}"
	nameOfPool    = "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random }}"
)

// endOfNames are the random characters of a name, and what stands before them.
var endOfNames = regexp.MustCompile(`[-.]?\{\{-?\s*\.random\s*-?\}\}`)

func longNames(*clusterv1.ClusterClass) {}

// shortNames takes the random characters from the names that the class makes. So a pool is prod-windows, and prod-windows-1 and
// prod-windows-x7k2p-q9d4t-4mzqr are names of its machines.
func shortNames(class *clusterv1.ClusterClass) {
	shorten := func(name *string, otherwise string) {
		if *name == "" {
			*name = otherwise
		}
		*name = endOfNames.ReplaceAllString(*name, "")
	}
	shorten(&class.Spec.Infrastructure.Naming.Template, nameOfCluster)
	shorten(&class.Spec.ControlPlane.Naming.Template, nameOfCluster)
	for i := range class.Spec.Workers.MachineDeployments {
		name := &class.Spec.Workers.MachineDeployments[i].Naming.Template
		if *name != "" && !strings.Contains(*name, "topologyName") {
			*name = strings.ReplaceAll(*name, ".random", ".machineDeployment.topologyName") // or two pools had the same name
		}
		shorten(name, nameOfPool)
	}
}
