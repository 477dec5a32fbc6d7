package addresses

import (
	"fmt"
	"slices"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// ofOne are the effects of a machine with one address.
var ofOne = []string{
	"management POST ipaddressclaims #1",
	"management PATCH ipaddressclaims finalizers #1",
	"management PATCH ipaddresses finalizers #1",
	"management PATCH ipaddresses finalizers #2",
	"management PATCH ipaddressclaims finalizers #2",
}

// TestKilled: a process that is killed before or after any of them leaves nothing held and nothing lost. Another one takes over.
func TestKilled(t *testing.T) {
	s := quietStage(t)
	s.SetCredentials(t, datacenter.Credentials())
	s.pool(t, "nodes", "10.27.0.", "99")
	var names []string
	for _, after := range []bool{false, true} {
		var plans []world.Plan
		for _, effect := range ofOne {
			plans = append(plans, world.Plan{Effect: effect, After: after})
		}
		name := fmt.Sprintf("killed-%t", after)
		names = append(names, name+"-0-0")
		t.Run(fmt.Sprint(plans), func(t *testing.T) { s.liveAndDie(t, name, plans) })
	}
	for _, name := range names {
		s.released(t, name)
	}
}

// liveAndDie is the life of a machine, whose controllers are killed again and again.
func (s *stage) liveAndDie(t *testing.T, name string, plans []world.Plan) {
	run := world.Succeed(t, plans, func(gate *world.Gate) (*world.Process, error) {
		return s.Launch(world.Options{VSphere: vsphere.Provider{}, Gate: gate})
	})
	m := s.machine(name, "nodes")
	m.Create(t)
	ready := m.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed)
	vm := ready.Windows.Status.ComputerName
	s.wantHeld(t, name+"-0-0")
	wantMACs(t, vm, ready.Windows.Status.NetworkInterfaces)
	m.End(t)
	if vms := datacenter.Owner(t).VMs(); slices.Contains(vms, vm) {
		t.Errorf("the VM is left: %q", vms)
	}
	run.End()
	if !run.Hit() {
		t.Error("a process was not killed: there is no such effect")
	}
}
