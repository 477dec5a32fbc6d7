package controllers

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// cached waits until our controllers see the claim that they wrote.
func (s *stage) cached(m *world.Machine) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, cache := range s.process.Caches {
			var seen infrav1.WindowsMachine
			if err := cache.Get(ctx, m.Key, &seen); err != nil {
				return err
			}
			if seen.Status.ComputerName == "" {
				return errors.New("not yet")
			}
		}
		return nil
	}
}

// TestLinuxFirst takes the one Linux node of the cluster away that the tests of this file and of gate_test.go share.
func TestLinuxFirst(t *testing.T) {
	apart := shared.Apart(t)
	s := newStage(t, world.Start{Credentials: password, NotInitialized: true, Workload: apart})
	s.start(t)
	check := func(err error) {
		t.Helper()
		expect.OK(t, err)
	}
	check(apart.RemoveLinuxNode(t.Context()))
	m, own := s.machine("m"), s.withOwnData(t)
	m.Create(t)
	own.CreateWithoutConfig(t)

	nothing := func(configReason, machineReason string) {
		t.Helper()
		m.Await(t, configReason, world.Config("Ready Unknown "+configReason))
		own.Await(t, machineReason, world.Windows("Ready False "+machineReason))
		s.process.Later(t, world.Machines, m.Key) // configs are not watched for machines
		s.look(t, m)
		s.process.Reconcile(t, world.Machines, own.Key)
		state := m.Await(t, configReason, world.Windows("Ready False "+configReason))
		if state.Data != nil || len(state.Tokens) > 0 || len(state.Config.Finalizers) > 0 || len(s.cloud.Calls()) > 0 {
			t.Errorf("something was made before Linux is there:\n%s", state)
		}
	}
	nothing("WaitingForControlPlane", "WaitingForControlPlane")
	s.Initialize(t)
	nothing("WaitingForLinuxNode", "WaitingForLinuxNode")
	check(apart.AddLinuxNode(t.Context()))
	check(apart.SetLinuxNodeReady(t.Context(), corev1.ConditionFalse))
	nothing("WaitingForLinuxNode", "WaitingForLinuxNode")
	check(apart.SetLinuxNodeReady(t.Context(), corev1.ConditionTrue))
	s.process.Later(t, world.Configs, m.Key)
	s.process.Later(t, world.Machines, own.Key)
	m.Await(t, "life after Linux", world.Windows("Ready True Running"), world.Tokens(1))
	own.Await(t, "life after Linux", world.Windows("Ready True Running"))
}

// TestNewerThanTheControlPlane: a kubelet that is newer than its API server may ask for what that does not have.
func TestNewerThanTheControlPlane(t *testing.T) {
	s := newStage(t, world.Start{Credentials: password})
	s.start(t)
	m := s.machine("m")
	m.Core.Spec.Version = "v1.99.0"
	m.Create(t)
	state := m.Await(t, "the control plane's upgrade", world.Config("Ready Unknown WaitingForControlPlaneVersion"),
		world.Windows("Ready False WaitingForControlPlaneVersion"))
	if state.Data != nil || len(state.Tokens) > 0 {
		t.Errorf("something was made for a node that must not join:\n%s", state)
	}
}

// withOwnData is a machine whose user made the bootstrap data.
func (s *stage) withOwnData(t *testing.T) *world.Machine {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: "own-data"}, Data: map[string][]byte{"value": []byte("x")},
	}
	expect.OK(t, client.IgnoreAlreadyExists(s.Client.Create(t.Context(), secret)))
	m := s.machine("own")
	m.Core.Spec.Bootstrap.ConfigRef.Kind, m.Core.Spec.Bootstrap.ConfigRef.Name, m.Core.Spec.Bootstrap.ConfigRef.APIGroup = "", "", ""
	m.Core.Spec.Bootstrap.DataSecretName = &secret.Name
	return m
}
