package azure

import (
	"slices"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

// TestNextSizeAfterARefusal has Azure refuse the first size at once, which makes nothing: the next size is asked for in the same
// breath, and another machine does not try the first.
func TestNextSizeAfterARefusal(t *testing.T) {
	for name, harm := range map[string]func(*armsim.Inside){
		"no quota for its family": func(in *armsim.Inside) {
			in.Compute.Faults.Cores = map[string]int{"standardDSv5Family": 0}
		},
		"it is sold out": func(in *armsim.Inside) {
			in.Compute.Faults.Full = func(size, _ string) string {
				return map[string]string{"Standard_D4s_v5": "SkuNotAvailable"}[size]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.Change(harm)
			a := s.watched()
			for _, test := range []struct {
				name string
				puts int
			}{{"m", 2}, {"another", 1}} {
				m := s.machine(test.name)
				m.Spec.Azure.FallbackVMSizes = []string{"Standard_D4as_v5"}
				vm := expect.Got(a.Ensure(t.Context(), m))(t)
				expect.Same(t, "state", cloud.Creating, vm.State)
				expect.Same(t, "requests for "+test.name, test.puts, s.OfVM(m.Name)["PUT vm"])
				s.Change(func(in *armsim.Inside) {
					size := doc.Text(in.World.Find(armsim.VMID(m.Name)).Body, "properties", "hardwareProfile", "vmSize")
					expect.Same(t, "size of "+test.name, "Standard_D4as_v5", size)
				})
			}
		})
	}
}

// TestNextSizeAfterAFailure has Azure accept the first size and then find no place for it, while a VM of that size that it
// accepted before is only now seen to run: this says nothing of the room there is left. The machine is looked at only when the
// account says so.
func TestNextSizeAfterAFailure(t *testing.T) {
	s := newStage(t)
	a, early, m := s.watched(), s.machine("early"), s.machine("m")
	m.Spec.Azure.FallbackVMSizes = []string{"Standard_D4as_v5"}
	expect.Got(a.Ensure(t.Context(), early))(t)
	s.Advance(time.Minute) // Azure has placed it, and we have not looked
	s.Change(func(in *armsim.Inside) {
		in.Compute.Faults.Full = func(size, _ string) string {
			return map[string]string{"Standard_D4s_v5": "AllocationFailed"}[size]
		}
	})
	expect.Got(a.Ensure(t.Context(), m))(t)
	began, looked, told := s.Now(), 0, false
	for runs := false; !runs; {
		if s.Advance(time.Second); s.Now().Sub(began) > 4*time.Minute {
			t.Fatalf("the VM does not run; calls are %v", s.OfVM(m.Name))
		}
		if slices.Contains(a.poll(t.Context()), m.Key) {
			looked++
			runs = expect.Got(a.Ensure(t.Context(), m))(t).State == cloud.Running
		}
		if !told && s.OfVM(m.Name)["GET vm view"] > 0 {
			told = expect.Got(a.Ensure(t.Context(), early))(t).State == cloud.Running
		}
	}
	wantCalls(t, s.OfVM(m.Name), map[string]int{"PUT vm": 2, "GET vm view": 1, "DELETE vm": 1, "GET vm": 2})
	expect.Same(t, "the earlier VM was seen to run", true, told)
	t.Logf("it runs after %s, looked at %d times", s.Now().Sub(began), looked)
	expect.Same(t, "adapters, with the one that Azure keeps", 3, len(s.Names(armsim.Group, network.NIC)))
	s.live(a, 40*time.Minute)
	expect.Same(t, "adapters, later", 2, len(s.Names(armsim.Group, network.NIC)))
}
