package controllers

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestFailedBootstrap has a guest that gives up.
func TestFailedBootstrap(t *testing.T) {
	s := ready(t)
	m, state := s.booting(t)
	reason := bootstrap.Reasons()[0]
	s.tell(state, `{"version":1,"state":"Failed","reason":"`+reason+`","message":"it did not work","exitCode":3,"elapsed":180,`+
		`"phase":{"index":4,"of":5,"name":"join"},"lastLines":["x509: unknown authority"]}`)
	failed := m.Await(t, "failure", world.Windows("Ready False "+reason), world.Windows("Stalled True "+reason), world.Tokens(0),
		world.Config("Ready False "+reason), sameStory, shownByCore, released)
	want := `Bootstrap 4/5 join failed after 3m: exit 3, "it did not work" (` + reason + `)`
	if got := conditions.GetMessage(failed.Windows, infrav1.ReadyCondition); got != want {
		t.Errorf("the message does not say what happened: %s", got)
	}
	s.vms(t, state.Windows.Status.ComputerName)
	s.look(t, m)
	m.Await(t, "no new token", world.Tokens(0))
	m.End(t)
}

// TestMachineDeletedEarly deletes a Machine whose node is still waited for, and which a hook of its user holds.
func TestMachineDeletedEarly(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password, NotInitialized: true})
	s.start(t)
	m := s.machine("m")
	hook := clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/backup"
	m.Core.Annotations = map[string]string{hook: "tester"}
	m.Create(t)
	m.Await(t, "wait", world.Config("Ready Unknown WaitingForControlPlane"))
	m.Delete(t)
	s.Initialize(t)
	held := m.Await(t, "notice", world.Config("Ready Unknown Deleting"))
	if held.Data != nil || len(held.Tokens) > 0 || len(held.Config.Finalizers) > 0 {
		t.Errorf("something was made for a machine that goes:\n%s", held)
	}
	world.Change(t, s.Client, held.Core, func(machine *clusterv1.Machine) { delete(machine.Annotations, hook) })
	m.Await(t, "end", world.Gone)
	s.vms(t)
}
