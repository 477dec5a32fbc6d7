package diff

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
)

// whenGone is what follows where the cluster loses the object, too: nothing of a file deletes it there.
func whenGone(m *preview.Machine) string {
	if m.Pool == nil {
		return "deleting the Machine in the cluster deletes its VM."
	}
	return "deleting the MachineDeployment in the cluster deletes its machines and their VMs."
}

// happens is what a change means for the machines that exist.
func (c change) happens() string {
	if c.old.Pool == nil || c.current.Pool == nil {
		return "a Machine that exists keeps its VM and its user data."
	}
	reasons, edited := rolls(c.old.Pool, c.current.Pool), editedTemplates(c)
	switch {
	case len(edited) > 0 && ownedByTopology(c.current.Pool):
		reasons = append(reasons, "the topology replaces "+strings.Join(edited, " and "))
	case len(edited) > 0:
		return "the API server will refuse this: " + strings.Join(edited, " and ") + " changes under the same name, and templates " +
			"are immutable. Give the template a new name, and use that in the MachineDeployment, which then replaces its machines."
	case len(reasons) == 0:
		return "the pool does not roll."
	}
	return "the pool rolls, " + howReplaced(c.current.Pool) + ": " + strings.Join(reasons, "; ") + "."
}

// howReplaced describes how Cluster API replaces the machines.
func howReplaced(pool *clusterv1.MachineDeployment) string {
	if pool.Spec.Rollout.Strategy.Type == clusterv1.OnDeleteMachineDeploymentStrategyType {
		return "each machine when you delete it (OnDelete)"
	}
	return "which replaces its machines"
}

// rolls lists the changes that make Cluster API replace the machines of a pool. A test compares it with Cluster API's own
// decision, in core/reconcilers/machinedeployment/mdutil.
func rolls(old, current *clusterv1.MachineDeployment) (reasons []string) {
	first, second := old.Spec.Template.Spec, current.Spec.Template.Spec
	const prefix = "spec.template.spec."
	for _, field := range []struct{ field, oldValue, newValue string }{
		{prefix + "version", first.Version, second.Version},
		{prefix + "infrastructureRef.name", first.InfrastructureRef.Name, second.InfrastructureRef.Name},
		{prefix + "bootstrap.configRef.name", first.Bootstrap.ConfigRef.Name, second.Bootstrap.ConfigRef.Name},
		{prefix + "bootstrap.dataSecretName", text(first.Bootstrap.DataSecretName), text(second.Bootstrap.DataSecretName)},
		{prefix + "failureDomain", first.FailureDomain, second.FailureDomain},
		{"spec.rollout.after", afterOf(old), afterOf(current)},
	} {
		if field.oldValue != field.newValue {
			reasons = append(reasons, fmt.Sprintf("%s is %s and was %s", field.field,
				cmp.Or(field.newValue, "not set"), cmp.Or(field.oldValue, "not set")))
		}
	}
	return reasons
}

func text(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

func afterOf(pool *clusterv1.MachineDeployment) string {
	if pool.Spec.Rollout.After.IsZero() {
		return ""
	}
	return pool.Spec.Rollout.After.UTC().Format("2006-01-02T15:04:05Z")
}

func ownedByTopology(pool *clusterv1.MachineDeployment) bool {
	_, owned := pool.Labels[clusterv1.ClusterTopologyOwnedLabel]
	return owned
}

// editedTemplates are those that have the same name and another content.
func editedTemplates(c change) (edited []string) {
	first, second := c.old.Pool.Spec.Template.Spec, c.current.Pool.Spec.Template.Spec
	oldSpec, newSpec := c.old.Windows.Spec, c.current.Windows.Spec
	oldSpec.ProviderID, newSpec.ProviderID = "", "" // computed for the example
	if first.InfrastructureRef.Name == second.InfrastructureRef.Name && !equality.Semantic.DeepEqual(oldSpec, newSpec) {
		edited = append(edited, "WindowsMachineTemplate "+second.InfrastructureRef.Name)
	}
	if first.Bootstrap.ConfigRef.Name == second.Bootstrap.ConfigRef.Name &&
		!equality.Semantic.DeepEqual(c.old.Config(), c.current.Config()) {
		edited = append(edited, "WindowsBootstrapConfigTemplate "+second.Bootstrap.ConfigRef.Name)
	}
	return edited
}
