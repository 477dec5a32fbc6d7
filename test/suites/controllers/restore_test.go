package controllers

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// The management clusters of a restore.
const (
	burnt = "11111111-1111-1111-1111-111111111111"
	next  = "22222222-2222-2222-2222-222222222222"
)

// TestRestore does to the objects what a restore into a new management cluster does: the API server makes them anew, without
// status and with other UIDs, and the managers know another UID of their cluster. With its bootstrap Secret each machine has its
// VM again, also one that was being made; without it the machine is held, until the operator names the cluster that is gone.
func TestRestore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live   func(*stage, *testing.T) (*world.Machine, world.State)
		secret bool
		want   string // of the machine, after the operator's word if it has no Secret
	}{
		"a node":                         {(*stage).running, true, "BootstrapSucceeded True Joined"},
		"a VM that boots":                {(*stage).booting, true, "Ready True Running"},
		"a node without Secret":          {(*stage).running, false, "BootstrapSucceeded True Joined"},
		"a VM that boots without Secret": {(*stage).booting, false, "Ready True Running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, world.Start{Credentials: password})
			s.startIn(t, burnt)
			m, before := c.live(s, t)
			s.stopPaused(t, m)
			s.cloud.Calls()
			var restored world.State
			if c.secret {
				restored = m.Move(t)
			} else {
				restored = m.MoveWithoutData(t)
			}
			s.Pause(t, false)
			s.startIn(t, next)
			m.Touch(t, restored.Core, "restored")
			if !c.secret {
				m.Await(t, "it is held", world.Windows("Ready False VMNotProved"))
				expect.Same(t, "VMs that were made or removed", 0, s.made())
				expect.OK(t, s.process.Stop())
				s.startIn(t, next, burnt)
			}
			after := m.Await(t, "its VM is known again", world.Windows(c.want))
			expect.Same(t, "identity", before.Windows.Spec.ProviderID, after.Windows.Spec.ProviderID)
			expect.Same(t, "VMs that were made or removed", 0, s.made())
			m.Delete(t)
			m.Await(t, "end", objectsGone)
			s.vms(t)
		})
	}
}

// TestRestoreIsHeld: a machine without its bootstrap Secret that is deleted after a restore keeps its object, and its VM.
func TestRestoreIsHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	s.startIn(t, burnt)
	m, before := s.booting(t)
	s.stopPaused(t, m)
	m.MoveWithoutData(t)
	s.Pause(t, false)
	s.startIn(t, next)
	m.Await(t, "it is held", world.Windows("Ready False VMNotProved"))
	m.Delete(t)
	m.Await(t, "it is held in deletion", world.Windows("Ready False VMNotProved"), func(s world.State) string {
		if s.Windows.DeletionTimestamp.IsZero() {
			return "it is not being deleted"
		}
		return ""
	})
	s.process.Reconcile(t, world.Machines, m.Key)
	s.vms(t, before.Windows.Status.ComputerName)
	expect.OK(t, s.process.Stop())
	s.startIn(t, next, burnt)
	m.Await(t, "end", objectsGone)
	s.vms(t)
}

// objectsGone waits until the objects are gone. The token of a Secret that was lost expires by itself.
func objectsGone(s world.State) string {
	if s.Windows != nil || s.Config != nil || s.Core != nil {
		return "the objects are there"
	}
	return ""
}

// stopPaused pauses the Cluster of a machine, and ends the controllers once they have seen that.
func (s *stage) stopPaused(t *testing.T, m *world.Machine) {
	t.Helper()
	s.Pause(t, true)
	m.Await(t, "pause", world.Windows("Paused True Paused"), world.Config("Paused True Paused"))
	expect.OK(t, s.process.Stop())
}

// startIn starts the controllers in a management cluster that has taken over the machines of others.
func (s *stage) startIn(t *testing.T, manager types.UID, tookOver ...types.UID) {
	t.Helper()
	o := s.options()
	o.Manager, o.TookOver = manager, tookOver
	s.process = s.Run(t, o)
}

// made counts the requests for VMs and for their removal since the last time.
func (s *stage) made() int {
	calls := s.cloud.Calls()
	return calls["create"] + calls["remove"]
}
