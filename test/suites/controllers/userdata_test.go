package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// noUserData checks that the machine's VM holds none, and that they were taken away once.
func (s *stage) noUserData(t *testing.T, state world.State) {
	t.Helper()
	vm, _ := s.cloud.Get(state.Windows.Status.ComputerName)
	if len(vm.UserData) > 0 || vm.Given || s.cloud.Erasures() != 1 {
		t.Errorf("the VM has %d bytes of user data; some were taken away %d times, want once",
			len(vm.UserData), s.cloud.Erasures())
	}
}

var erased = world.Windows("UserDataRemoved True UserDataRemoved")

// TestUserDataOfJoined: the user data stay until the Node has joined, whatever the guest says, and go then.
func TestUserDataOfJoined(t *testing.T) {
	s := ready(t)
	m, booting := s.booting(t)
	s.tell(booting, succeeded)
	m.Await(t, "report", world.Windows("BootstrapSucceeded Unknown WaitingForNode"))
	s.look(t, m)
	if vm, _ := s.cloud.Get(booting.Windows.Status.ComputerName); len(vm.UserData) == 0 || s.cloud.Erasures() > 0 {
		t.Error("the user data are gone before the Node has joined")
	}
	m.Await(t, "user data in use", world.Windows("UserDataRemoved False UserDataInUse"))
	m.Join(t)
	s.noUserData(t, m.Await(t, "node", world.Windows("BootstrapSucceeded True Joined"), erased))
	s.cloud.Update(booting.Windows.Status.ComputerName, func(vm *fake.VM) { vm.UserData = []byte("written by the guest") })
	s.look(t, m)
	if n := s.cloud.Erasures(); n != 1 {
		t.Errorf("user data were taken away %d times", n)
	}
}

// TestUserDataAlone: after a restart, a machine has lost its config and its bootstrap Secret. Neither is needed to take the user
// data away.
func TestUserDataAlone(t *testing.T) {
	s := ready(t)
	m, booting := s.booting(t)
	s.cloud.Keep(cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, "the role lacks the privilege Example"))
	m.Join(t)
	refused := m.Await(t, "refusal", world.Windows("BootstrapSucceeded True Joined"), world.Windows("Ready True Running"),
		world.Windows("UserDataRemoved False CredentialsRejected"), world.Windows("Stalled False NotStalled"),
		world.Windows("CloudReachable True CloudReachable"))
	expect.OK(t, s.process.Stop())
	owned := &corev1.Secret{ObjectMeta: booting.Data.ObjectMeta} // goes with its owner, so it is the first to go
	for _, object := range []client.Object{owned, refused.Config} {
		world.Change(t, s.Client, object, func(o client.Object) { o.SetFinalizers(nil) })
		expect.OK(t, client.IgnoreNotFound(s.Client.Delete(t.Context(), object)))
	}
	s.cloud.Keep(nil)
	s.start(t)
	s.noUserData(t, m.Await(t, "removal", erased))
}
