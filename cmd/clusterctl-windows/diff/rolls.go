package diff

import (
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
	if c.before.Pool == nil || c.after.Pool == nil {
		return "a Machine that exists keeps its VM and its user data."
	}
	why, edited := rolls(c.before.Pool, c.after.Pool), editedTemplates(c)
	switch {
	case len(edited) > 0 && ownedByTopology(c.after.Pool):
		why = append(why, "the topology replaces "+strings.Join(edited, " and "))
	case len(edited) > 0:
		return "the API server will refuse this: " + strings.Join(edited, " and ") + " changes under the same name, and templates " +
			"are immutable. Give the template a new name, and use that in the MachineDeployment, which then replaces its machines."
	case len(why) == 0:
		return "the pool does not roll."
	}
	return "the pool rolls, " + how(c.after.Pool) + ": " + strings.Join(why, "; ") + "."
}

// how Cluster API replaces the machines.
func how(pool *clusterv1.MachineDeployment) string {
	if pool.Spec.Rollout.Strategy.Type == clusterv1.OnDeleteMachineDeploymentStrategyType {
		return "each machine when you delete it (OnDelete)"
	}
	return "which replaces its machines"
}

// rolls says which changes have Cluster API replace the machines of a pool. A test compares it with Cluster API's own decision,
// in core/reconcilers/machinedeployment/mdutil.
func rolls(before, after *clusterv1.MachineDeployment) (why []string) {
	first, second := before.Spec.Template.Spec, after.Spec.Template.Spec
	const within = "spec.template.spec."
	for _, one := range []struct{ field, was, is string }{
		{within + "version", first.Version, second.Version},
		{within + "infrastructureRef.name", first.InfrastructureRef.Name, second.InfrastructureRef.Name},
		{within + "bootstrap.configRef.name", first.Bootstrap.ConfigRef.Name, second.Bootstrap.ConfigRef.Name},
		{within + "bootstrap.dataSecretName", text(first.Bootstrap.DataSecretName), text(second.Bootstrap.DataSecretName)},
		{within + "failureDomain", first.FailureDomain, second.FailureDomain},
		{"spec.rollout.after", afterOf(before), afterOf(after)},
	} {
		if one.was != one.is {
			why = append(why, fmt.Sprintf("%s is %s and was %s", one.field, orNone(one.is), orNone(one.was)))
		}
	}
	return why
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

func orNone(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

func ownedByTopology(pool *clusterv1.MachineDeployment) bool {
	_, owned := pool.Labels[clusterv1.ClusterTopologyOwnedLabel]
	return owned
}

// editedTemplates are those that have the same name and another content.
func editedTemplates(c change) (edited []string) {
	first, second := c.before.Pool.Spec.Template.Spec, c.after.Pool.Spec.Template.Spec
	was, is := c.before.Windows.Spec, c.after.Windows.Spec
	was.ProviderID, is.ProviderID = "", "" // computed for the example
	if first.InfrastructureRef.Name == second.InfrastructureRef.Name && !equality.Semantic.DeepEqual(was, is) {
		edited = append(edited, "WindowsMachineTemplate "+second.InfrastructureRef.Name)
	}
	if first.Bootstrap.ConfigRef.Name == second.Bootstrap.ConfigRef.Name &&
		!equality.Semantic.DeepEqual(c.before.Config(), c.after.Config()) {
		edited = append(edited, "WindowsBootstrapConfigTemplate "+second.Bootstrap.ConfigRef.Name)
	}
	return edited
}
