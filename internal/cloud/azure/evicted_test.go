package azure

import (
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestEvictions: a spot VM that Azure evicted and a VM that somebody deallocated have reasons of their own, and one that is
// started again runs.
func TestEvictions(t *testing.T) {
	s := newStage(t)
	a := s.watched()
	spot, regular := s.machine("spot"), s.machine("regular")
	vm := *spot.Spec.Azure
	vm.Priority = infrav1.AzurePrioritySpot
	vm.Spot = infrav1.AzureSpot{MaxPrice: "1.5", EvictionPolicy: infrav1.AzureEvictionDeallocate}
	spot.Spec.Azure = &vm
	s.run(a, spot)
	s.run(a, regular)
	s.live(a, 10*time.Minute) // until both are whole
	if !s.Evict(armsim.VMID(spot.Name)) {
		t.Fatal("the VM is no spot VM")
	}
	s.act(regular, "deallocate")
	s.live(a, 3*time.Minute)
	for want, m := range map[cloud.Why]cloud.Machine{cloud.Evicted: spot, cloud.Deallocated: regular} {
		got := expect.Got(a.Observe(t.Context(), m))(t)
		expect.Same(t, "state", cloud.Stopped, got.State)
		expect.Same(t, "why", want, got.Why)
	}
	for _, m := range []cloud.Machine{spot, regular} {
		s.act(m, "start")
		s.live(a, 3*time.Minute)
		got := expect.Got(a.Observe(t.Context(), m))(t)
		expect.Same(t, "state", cloud.Running, got.State)
		expect.Same(t, "why", cloud.Why(""), got.Why)
	}
}

// act is what a user does to a VM.
func (s *stage) act(m cloud.Machine, name string) {
	s.t.Helper()
	s.Change(func(in *armsim.Inside) {
		if _, refused, known := in.Compute.Act(armsim.VMID(m.Name), name); refused != nil || !known {
			s.t.Errorf("%s %s: %v", name, m.Name, refused)
		}
	})
}
