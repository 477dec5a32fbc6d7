package preview

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// findDeployment finds the MachineDeployment that would make a machine of this name. Any name is accepted if there is only one
// MachineDeployment and no Machine whose name could be misspelled.
func findDeployment(o *objects.Set, name string) (*clusterv1.MachineDeployment, error) {
	deployments, err := Deployments(o)
	if err != nil {
		return nil, err
	}
	if len(deployments) == 1 && len(o.OfKind("Machine")) == 0 {
		return deployments[0], nil
	}
	var best *clusterv1.MachineDeployment
	for _, deployment := range deployments {
		if makes(deployment, name) && (best == nil || len(best.Name) < len(deployment.Name)) {
			best = deployment
		}
	}
	if best == nil {
		if err := otherKinds(o, name); err != nil {
			return nil, err
		}
		return nil, unknownMachine(o, deployments, name)
	}
	return best, nil
}

// Deployments are the MachineDeployments of Windows machines.
func Deployments(o *objects.Set) ([]*clusterv1.MachineDeployment, error) {
	var found []*clusterv1.MachineDeployment
	deployments, err := allDeployments(o)
	for _, deployment := range deployments {
		if deployment.Spec.Template.Spec.InfrastructureRef.Kind == "WindowsMachineTemplate" {
			found = append(found, deployment)
		}
	}
	return found, err
}

// allDeployments are those of other machines, too.
func allDeployments(o *objects.Set) ([]*clusterv1.MachineDeployment, error) {
	var found []*clusterv1.MachineDeployment
	for _, object := range o.OfKind("MachineDeployment") {
		deployment, err := objects.Decode[clusterv1.MachineDeployment](object)
		if err != nil {
			return nil, err
		}
		found = append(found, deployment)
	}
	return found, nil
}

// otherKinds refuses the MachineDeployments whose machines could have this name, and which refer to another kind. Any name is
// theirs if there is nothing else.
func otherKinds(o *objects.Set, name string) error {
	deployments, err := allDeployments(o)
	if err != nil {
		return err
	}
	single := len(deployments) == 1 && len(o.OfKind("Machine")) == 0
	var refused []error
	for _, deployment := range deployments {
		ref := deployment.Spec.Template.Spec.InfrastructureRef
		if ref.Kind != "WindowsMachineTemplate" && (single || makes(deployment, name)) {
			key := types.NamespacedName{Namespace: deployment.Namespace, Name: deployment.Name}
			pool := objects.Object{Kind: "MachineDeployment", Key: key}
			refused = append(refused, wantKind(pool, "spec.template.spec.infrastructureRef", ref, "WindowsMachineTemplate"))
		}
	}
	return errors.Join(refused...)
}

// makes reports whether Cluster API could give this name to a machine of the deployment.
func makes(deployment *clusterv1.MachineDeployment, name string) bool {
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		return namespace == deployment.Namespace && makes(deployment, rest)
	}
	return strings.HasPrefix(name+"-", deployment.Name+"-")
}

// unknownMachine returns an error that lists the machines in the files.
func unknownMachine(o *objects.Set, deployments []*clusterv1.MachineDeployment, name string) error {
	names := present(o.OfKind("Machine"), deployments)
	hint := "use such a name with --machine, or "
	if len(names) == 0 {
		names, hint = []string{"neither a Machine nor a MachineDeployment of Windows machines"}, ""
	}
	namespace, short, ok := strings.Cut(name, "/")
	if !ok {
		namespace, short = "NAMESPACE", name
	}
	return noMachine("cannot find Machine %s in %s, which has %s; %sadd the output of: kubectl get machine %s -n %s -o yaml",
		name, o.Source, strings.Join(names, "; "), hint, short, namespace)
}

// present lists Machines, and how the machines of MachineDeployments are named.
func present(machines []objects.Object, deployments []*clusterv1.MachineDeployment) (names []string) {
	if len(machines) > 0 {
		names = append(names, "Machines "+list(machines))
	}
	for _, deployment := range deployments {
		text := fmt.Sprintf("MachineDeployment %s/%s, whose machines are named %s-...", deployment.Namespace, deployment.Name,
			deployment.Name)
		names = append(names, text)
	}
	return names
}

// fromDeployment makes the objects that Cluster API would make from the deployment's templates.
func fromDeployment(o *objects.Set, deployment *clusterv1.MachineDeployment, name string) (*Machine, error) {
	template := deployment.Spec.Template
	made := objects.Object{Kind: "MachineDeployment"}
	made.Key = types.NamespacedName{Namespace: deployment.Namespace, Name: deployment.Name}
	infrastructure, config := template.Spec.InfrastructureRef, template.Spec.Bootstrap.ConfigRef
	const prefix = "spec.template.spec."
	err := errors.Join(wantKind(made, prefix+"infrastructureRef", infrastructure, "WindowsMachineTemplate"),
		wantKind(made, prefix+"bootstrap.configRef", config, "WindowsBootstrapConfigTemplate"))
	if err != nil {
		return nil, err
	}
	name = strings.TrimPrefix(name, deployment.Namespace+"/")
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return nil, fmt.Errorf("%q is not a valid name for a Machine: %s", name, objects.WithoutPattern(problems[0]))
	}
	m := &Machine{
		Source: made.String(), Owner: newOwner(deployment, name), Pool: deployment, Replicas: deployment.Spec.Replicas,
	}
	m.note("Machine %s does not exist yet; this is how MachineDeployment %s would make it", name, made.Key)
	m.noteTopology(o, made)
	windowsKey, configKey := keyOf(infrastructure, made.Key.Namespace), keyOf(config, made.Key.Namespace)
	windowsTemplate, noWindows := objects.Load[infrav1.WindowsMachineTemplate](o, infrastructure.Kind, windowsKey)
	configTemplate, noConfig := objects.Load[bootstrapv1.WindowsBootstrapConfigTemplate](o, config.Kind, configKey)
	if err := errors.Join(noWindows, noConfig); err != nil {
		return m, err
	}
	ofWindows, ofConfig := windowsTemplate.Spec.Template, configTemplate.Spec.Template
	m.Windows = &infrav1.WindowsMachine{ObjectMeta: metaOf(m.Owner, ofWindows.ObjectMeta), Spec: ofWindows.Spec}
	m.config = &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metaOf(m.Owner, ofConfig.ObjectMeta), Spec: ofConfig.Spec}
	return m, nil
}

// noteTopology notes that a pool belongs to a topology.
func (m *Machine) noteTopology(o *objects.Set, pool objects.Object) {
	for _, object := range o.OfKind(pool.Kind) {
		if object.Key == pool.Key && object.MadeBy != "" {
			m.note("%s stands for the pool in %s, expanded by %s; Cluster API ends its name, and those of its templates, with random "+
				"characters", pool, object.Place, object.MadeBy)
		}
	}
}

func newOwner(deployment *clusterv1.MachineDeployment, name string) *clusterv1.Machine {
	template := deployment.Spec.Template
	owner := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: deployment.Namespace, Name: name,
			Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
		},
		Spec: template.Spec,
	}
	owner.Spec.ClusterName = deployment.Spec.ClusterName
	owner.Spec.InfrastructureRef.Kind, owner.Spec.InfrastructureRef.Name = "WindowsMachine", name
	owner.Spec.Bootstrap.ConfigRef.Kind, owner.Spec.Bootstrap.ConfigRef.Name = "WindowsBootstrapConfig", name
	return owner
}

// metaOf returns the metadata of an object that is made for a machine. It has the machine's name.
func metaOf(owner *clusterv1.Machine, template clusterv1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: owner.Namespace, Name: owner.Name,
		Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
	}
}
