package azure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

const ownAddress = "10.1.5.5"

// strangersAdapter is one with the address, without marks.
func (s *stage) strangersAdapter(name string) {
	s.Change(func(in *armsim.Inside) {
		id := doc.Resource(armsim.Subscription, armsim.Group, network.Provider, "networkInterfaces", name)
		in.World.Put(id, doc.Object{"location": armsim.Location, "properties": doc.Object{
			"provisioningState": "Succeeded", "ipConfigurations": doc.Objects(doc.Object{"name": "ip", "properties": doc.Object{
				"subnet": doc.Object{"id": armsim.SubnetID}, "privateIPAllocationMethod": "Static", "privateIPAddress": ownAddress,
			}}),
		}})
	})
}

// ofOne counts the calls that name a VM or an adapter, none of which the inline mode makes but one PUT and one DELETE.
func (s *stage) ofOne() map[string]int {
	all := map[string]int{}
	for what, n := range s.ByClass() {
		switch what {
		case "PUT vm", "GET vm", "DELETE vm", "PUT nic", "GET nic", "DELETE nic":
			all[what] = n
		}
	}
	return all
}

// TestAdapterBeforeItsVM pins the calls that make and remove a VM whose adapter is made first: because it has an address of its
// own, or because the cloud refuses it in the request for the VM.
func TestAdapterBeforeItsVM(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*stage, *cloud.Machine)
		puts   int
	}{
		"an address of its own": {func(_ *stage, m *cloud.Machine) {
			m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
		}, 1},
		"a cloud that refuses inline adapters": {func(s *stage, _ *cloud.Machine) {
			s.Change(func(in *armsim.Inside) { in.Compute.Faults.RefuseInline = true })
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			m := s.machine("m")
			test.change(s, &m)
			a := s.watched()
			before := s.things()
			s.Forget()
			for range 20 {
				if vm, err := a.Ensure(t.Context(), m); err == nil && vm.State == cloud.Running && len(vm.Addresses) == 3 {
					break
				}
				s.live(a, 15*time.Second)
			}
			want := map[string]int{"PUT vm": test.puts, "GET nic": 2, "PUT nic": 1}
			if diff := cmp.Diff(want, s.ofOne()); diff != "" {
				t.Errorf("calls to make it (-want +got):\n%s", diff)
			}
			if got := s.Names(armsim.Group, network.NIC); len(got) != 1 {
				t.Errorf("adapters are %q", got)
			}
			s.Forget()
			s.gone(a, m)
			if got := s.ofOne(); got["DELETE vm"] != 1 || got["DELETE nic"] != 0 || got["GET nic"] != 0 {
				t.Errorf("calls to remove it: %v", got)
			}
			if diff := cmp.Diff(before, s.things()); diff != "" {
				t.Errorf("what there is (-before +after):\n%s", diff)
			}
		})
	}
}

// TestAdapterThatAzureShowsOtherwise than it was asked for is taken as it is: else it would be asked for again for ever.
func TestAdapterThatAzureShowsOtherwise(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
	_, _ = a.Ensure(t.Context(), m)
	id := doc.Resource(armsim.Subscription, armsim.Group, network.Provider, "networkInterfaces", request.AdapterName(m, 0))
	s.Change(func(in *armsim.Inside) {
		body, path := in.World.Find(id).Body, []string{"properties", "enableAcceleratedNetworking"}
		doc.Set(body, !doc.Flag(body, path...), path...)
	})
	s.run(a, m)
	expect.Same(t, "requests for the adapter", 1, s.ByClass()["PUT nic"])
}

// TestAdapterWithoutVM goes at once when its machine is deleted by the process that made it.
func TestAdapterWithoutVM(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
	before := s.things()
	_, _ = a.Ensure(t.Context(), m)
	if got := s.Names(armsim.Group, network.NIC); len(got) != 1 {
		t.Fatalf("adapters are %q", got)
	}
	s.live(a, 5*time.Second)
	s.gone(a, m)
	s.Advance(time.Minute)
	if diff := cmp.Diff(before, s.things()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
	if got := s.ByClass(); got["DELETE nic"] != 1 || got["PUT vm"] != 0 {
		t.Errorf("calls are %v", got)
	}
}
