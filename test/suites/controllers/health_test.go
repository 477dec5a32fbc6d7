package controllers

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/pages"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

const (
	gaveUp = `{"version":1,"state":"Failed","reason":"ImageVersionMismatch","elapsed":9,` +
		`"phase":{"index":1,"of":7,"name":"prepare"},"message":"the image has kubeadm 1.35, the Machine needs 1.36"}`
	gaveUpSentence = `BootstrapConfigReady: Bootstrap 1/7 prepare failed after 9s: ` +
		`"the image has kubeadm 1.35, the Machine needs 1.36" (ImageVersionMismatch)`
)

// TestHealthCheck has Cluster API's own manager replace the machine of a guest that failed, by the MachineHealthCheck of
// docs/health.md. What happens when, in this case and all others, is in test/suites/health.
func TestHealthCheck(t *testing.T) {
	s := ready(t)
	pool := s.createPool(t, s.machine("failed"))
	first := s.NewMachine(s.machinesOf(t, pool, isOne)[0])
	s.tell(first.Await(t, "running VM", world.Windows("Ready True Running")), gaveUp)
	first.Await(t, "failure", world.Config("Ready False ImageVersionMismatch"), shownByCore)
	s.shownByPool(t, pool, gaveUpSentence)

	expect.OK(t, s.Client.Create(t.Context(), s.healthCheck(t, pool.Name)))
	replacing := func(names []string) bool { return isOne(names) && names[0] != first.Key.Name }
	second := s.NewMachine(s.machinesOf(t, pool, replacing)[0])
	s.tell(second.Await(t, "running VM", world.Windows("Ready True Running")), succeeded)
	second.Await(t, "report", world.Windows("BootstrapSucceeded Unknown WaitingForNode"))
	second.Join(t)
	second.Await(t, "node", world.Windows("BootstrapSucceeded True Joined"))
	expect.Same(t, "machines in the end", []string{second.Key.Name}, s.machinesOf(t, pool, replacing))

	expect.OK(t, s.Client.Delete(t.Context(), pool))
	second.Await(t, "end", world.Gone)
}

// healthCheck is the one of docs/health.md for a pool, with a rule for guests that has no time to wait for.
func (s *stage) healthCheck(t *testing.T, pool string) *clusterv1.MachineHealthCheck {
	t.Helper()
	check := &clusterv1.MachineHealthCheck{}
	expect.OK(t, yaml.UnmarshalStrict(recipe(t, 0), check))
	check.Namespace, check.Name, check.Spec.ClusterName = s.Name, pool, world.ClusterName
	check.Spec.Selector.MatchLabels = map[string]string{clusterv1.MachineDeploymentNameLabel: pool}
	*check.Spec.Checks.UnhealthyMachineConditions[0].TimeoutSeconds = 1
	return check
}

// recipe is a block of YAML in docs/health.md: the MachineHealthCheck, and what the MachineDeployment has for it.
func recipe(t *testing.T, number int) []byte {
	t.Helper()
	return []byte(pages.YAML(t, "../../../docs/health.md")[number])
}
