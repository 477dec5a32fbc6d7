package addresses

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/world"
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
	for i, effect := range ofOne {
		for _, after := range []bool{false, true} {
			plan := world.Plan{Effect: effect, After: after}
			name := fmt.Sprintf("killed-%d-%t", i, after)
			names = append(names, name+"-0-0")
			t.Run(plan.String(), func(t *testing.T) { s.liveAndDie(t, name, plan) })
		}
	}
	for _, name := range names {
		s.released(t, name)
	}
}

// liveAndDie is the life of a machine, whose controllers are killed once.
func (s *stage) liveAndDie(t *testing.T, name string, plan world.Plan) {
	end, hit := s.launch(t, plan)
	m := s.machine(name, "nodes")
	m.Create(t)
	ready := m.Await(t, "running VM", world.Windows("Ready False WaitingForGuest"), world.DataSecretNamed)
	vm := ready.Windows.Status.ComputerName
	if claim, address := s.claim(t.Context(), t, name+"-0-0"), s.address(t.Context(), t, name+"-0-0"); !held(claim) ||
		!held(address) {
		t.Errorf("claim %v and address %v of a VM that runs must be held", claim.Finalizers, address.Finalizers)
	}
	world.Eventually(t, "adapter", func(context.Context) error {
		if macs := hypervisor.of(vm); len(macs) == 0 || macs[0] != ready.Windows.Status.Networks[0].MACAddress {
			return fmt.Errorf("the VM has adapters %q, the status says %+v", macs, ready.Windows.Status.Networks)
		}
		return nil
	})
	m.End(t)
	if vms, err := datacenter.VMs(t.Context()); err != nil || slices.Contains(vms, vm) {
		t.Errorf("the VM is left: %q, %v", vms, err)
	}
	end()
	if !hit() {
		t.Error("the process was not killed: there is no such effect")
	}
}

// launch starts a process, and another one once that was killed.
func (s *stage) launch(t *testing.T, plan world.Plan) (end func(), hit func() bool) {
	t.Helper()
	gate := &world.Gate{Plan: plan}
	first, err := s.Launch(world.Options{VSphere: vsphere.Provider{}, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var failed error
	var next sync.WaitGroup
	next.Go(func() {
		<-first.Ended()
		second, err := s.Launch(world.Options{VSphere: vsphere.Provider{}})
		if err != nil {
			failed = err
			return
		}
		<-over
		failed = second.Stop()
	})
	end = sync.OnceFunc(func() {
		close(over)
		err := first.Stop()
		next.Wait()
		if err := errors.Join(err, failed); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end, gate.Hit
}
