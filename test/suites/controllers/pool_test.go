package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// createPool makes a MachineDeployment of one machine like this, as docs/health.md has it.
func (s *stage) createPool(t *testing.T, m *world.Machine) *clusterv1.MachineDeployment {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: s.Name, Name: m.Key.Name}
	windows := &infrav1.WindowsMachineTemplate{ObjectMeta: meta}
	windows.Spec.Template.Spec = m.Windows.Spec
	config := &bootstrapv1.WindowsBootstrapConfigTemplate{ObjectMeta: meta}
	config.Spec.Template.Spec = m.Config.Spec
	config.Spec.Template.Spec.BootstrapDeadlineSeconds = 1200 // an API server wants no empty spec
	pool := &clusterv1.MachineDeployment{ObjectMeta: meta, Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: world.ClusterName, Replicas: new(int32(1)), Template: clusterv1.MachineTemplateSpec{Spec: m.Core.Spec},
	}}
	pool.Spec.Template.Spec.Bootstrap.ConfigRef.Kind += "Template"
	pool.Spec.Template.Spec.InfrastructureRef.Kind += "Template"
	expect.OK(t, yaml.UnmarshalStrict(recipe(t, 1), pool))
	for _, object := range []client.Object{windows, config, pool} {
		expect.OK(t, s.Client.Create(t.Context(), object))
	}
	return pool
}

// machinesOf waits until the names of a pool's Machines are as wanted.
func (s *stage) machinesOf(t *testing.T, pool *clusterv1.MachineDeployment, wanted func([]string) bool) (names []string) {
	t.Helper()
	wait.Eventually(t, "the machines of the pool", func(ctx context.Context) error {
		var all clusterv1.MachineList
		ofPool := client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: pool.Name}
		if err := s.Client.List(ctx, &all, client.InNamespace(s.Name), ofPool); err != nil {
			return err
		}
		names = nil
		for _, m := range all.Items {
			names = append(names, m.Name)
		}
		if slices.Sort(names); !wanted(names) {
			return fmt.Errorf("they are %q", names)
		}
		return nil
	})
	return names
}

func isOne(names []string) bool { return len(names) == 1 }

// shownByPool waits until a sentence about its machines stands on the MachineDeployment.
func (s *stage) shownByPool(t *testing.T, pool *clusterv1.MachineDeployment, sentence string) {
	t.Helper()
	wait.Eventually(t, "the sentence on the MachineDeployment", func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return err
		}
		shown := conditions.GetMessage(pool, clusterv1.MachineDeploymentMachinesReadyCondition)
		if !strings.Contains(shown, sentence) {
			return fmt.Errorf("MachinesReady is %q", shown)
		}
		return nil
	})
}
