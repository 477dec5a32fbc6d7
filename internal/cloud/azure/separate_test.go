package azure

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

// TestSeparateAdapters makes and removes a VM with several adapters that come before it, while something goes wrong with them.
// Its user hears nothing but what is told, and the VM runs soon.
func TestSeparateAdapters(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(*stage, *cloud.Machine)
		puts map[string]int // requests for adapters and for VMs
		soon time.Duration  // until the VM has its adapters and was asked for
		told string         // what errors say; none is expected without
	}{
		"nothing is wrong": {
			func(*stage, *cloud.Machine) {}, map[string]int{"PUT nic": 3, "PUT vm": 1}, 10 * time.Second, "",
		},
		"the answer for the second is lost": {
			func(s *stage, m *cloud.Machine) { s.loseOnce("PUT nic", request.AdapterName(*m, 1)) },
			map[string]int{"PUT nic": 3, "PUT vm": 1},
			15 * time.Second, "Azure does not answer",
		},
		"the answer for the last is lost": {
			func(s *stage, m *cloud.Machine) { s.loseOnce("PUT nic", request.AdapterName(*m, 2)) },
			map[string]int{"PUT nic": 3, "PUT vm": 1},
			10 * time.Second, "Azure does not answer",
		},
		"the answer for the VM is lost": {
			func(s *stage, m *cloud.Machine) { s.loseOnce("PUT vm", m.Name) },
			map[string]int{"PUT nic": 3, "PUT vm": 2},
			10 * time.Second, "Azure does not answer",
		},
		"Azure shows them late": {
			func(s *stage, _ *cloud.Machine) {
				s.Change(func(in *armsim.Inside) { in.World.Lag.Get = 20 * time.Second })
			}, map[string]int{"PUT nic": 3, "PUT vm": 1}, 30 * time.Second, "",
		},
		"one fails at first": {
			func(s *stage, _ *cloud.Machine) { s.Change(func(in *armsim.Inside) { in.Network.Fail = 1 }) },
			map[string]int{"PUT nic": 4, "PUT vm": 1},
			15 * time.Second, "",
		},
		"Azure still works on them when the VM is asked for": {
			func(s *stage, _ *cloud.Machine) {
				s.Change(func(in *armsim.Inside) { in.Network.Behind = 20 * time.Second })
			}, map[string]int{"PUT nic": 3, "PUT vm": 5}, 30 * time.Second, "",
		},
		"no room for the first size, and the next has no accelerated networking": {
			func(s *stage, m *cloud.Machine) {
				m.Spec.Azure.FallbackVMSizes = []string{"Standard_B2s"}
				s.Change(func(in *armsim.Inside) { in.Compute.Faults.Cores = map[string]int{"standardDSv5Family": 0} })
			}, map[string]int{"PUT nic": 6, "PUT vm": 2}, 20 * time.Second, "",
		},
		"no room for the first size once it is accepted, so that Azure reserves them": {
			func(s *stage, m *cloud.Machine) {
				m.Spec.Azure.FallbackVMSizes = []string{"Standard_B2s"}
				s.Change(func(in *armsim.Inside) {
					in.Compute.Faults.Full = func(size, _ string) string {
						return map[string]string{"Standard_D8s_v5": "AllocationFailed"}[size]
					}
				})
			}, map[string]int{"PUT nic": 6, "PUT vm": 2}, 10 * time.Second, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			m := s.machine("m")
			m.Spec.Azure.VMSize = "Standard_D8s_v5"
			for _, one := range []string{"second", "third"} {
				more := m.Spec.Azure.NetworkInterfaces[0]
				more.Name = one
				m.Spec.Azure.NetworkInterfaces = append(m.Spec.Azure.NetworkInterfaces, more)
			}
			m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
			a, before := s.watched(), s.things()
			s.Forget()
			test.harm(s, &m)
			if took := s.askedFor(a, m, test.told); took > test.soon {
				t.Errorf("the VM was asked for after %s, want %s", took, test.soon)
			}
			s.run(a, m)
			got := s.ByClass()
			if diff := cmp.Diff(test.puts, map[string]int{"PUT nic": got["PUT nic"], "PUT vm": got["PUT vm"]}); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if n := len(s.Names(armsim.Group, network.NIC)); n != 3 {
				t.Errorf("there are %d adapters", n)
			}
			s.gone(a, m)
			if diff := cmp.Diff(before, s.things()); diff != "" {
				t.Errorf("what there is (-before +after):\n%s", diff)
			}
		})
	}
}

// loseOnce loses the first answer to a call.
func (s *stage) loseOnce(what, of string) {
	lost := false
	s.Change(func(in *armsim.Inside) {
		in.Faults.Lose = func(call armsim.Call) bool {
			hit := !lost && call.Method+" "+call.Class == what && doc.Same(call.Resource, of)
			lost = lost || hit
			return hit
		}
	})
}

// askedFor says how long it takes until Azure has accepted the VM. The machine is looked at as often as it asks for.
func (s *stage) askedFor(a *account, m cloud.Machine, told string) time.Duration {
	s.t.Helper()
	began := s.Now()
	for range 100 {
		_, err := a.Ensure(s.t.Context(), m)
		if s.has(m.Name) {
			return s.Now().Sub(began)
		}
		after := 5 * time.Second
		if said, ok := errors.AsType[*cloud.Error](err); ok {
			after = max(said.After, after)
			if said.Kind != cloud.Later && (told == "" || !strings.Contains(said.Message, told)) {
				s.t.Errorf("after %s: %s: %v", s.Now().Sub(began), said.Kind, said)
			}
		}
		s.live(a, after)
	}
	s.t.Fatal("the VM is not asked for")
	return 0
}

// TestAdapterThatKeepsFailing is told, and asked for once a minute; it goes with its machine.
func TestAdapterThatKeepsFailing(t *testing.T) {
	s := newStage(t)
	s.Change(func(in *armsim.Inside) { in.Network.Fail = 1000 })
	a, m := s.watched(), s.machine("m")
	m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
	before := s.things()
	s.Forget()
	var told *cloud.Error
	for range 10 * 60 / 5 {
		_, err := a.Ensure(t.Context(), m)
		if said, ok := errors.AsType[*cloud.Error](err); ok && said.Kind != cloud.Later {
			told = said
		}
		s.live(a, 5*time.Second)
	}
	if told == nil || told.Reason != infrav1.CloudTaskFailedReason || !strings.Contains(told.Message, request.AdapterName(m, 0)) {
		t.Errorf("told is %v, want which adapter fails", told)
	}
	if told != nil && (told.After <= 0 || told.After > time.Minute) {
		t.Errorf("it is looked at again after %s", told.After)
	}
	if n := s.ByClass(); n["PUT nic"] < 5 || n["PUT nic"] > 12 || n["PUT vm"] != 0 {
		t.Errorf("calls in ten minutes: %v", n)
	}
	s.gone(a, m)
	s.Advance(time.Minute)
	if diff := cmp.Diff(before, s.things()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

// TestNothingBeforeUserData has user data that Azure does not take: no adapter is asked for, whatever the mode.
func TestNothingBeforeUserData(t *testing.T) {
	for name, refuses := range map[string]bool{"an address of its own": false, "a cloud that refuses inline adapters": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			a, m := s.watched(), s.machine("m")
			a.refusesInline.Store(refuses)
			if !refuses {
				m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
			}
			m.UserData = make(cloud.UserData, request.MaxUserData+1).Read
			for range 20 {
				if _, err := a.Ensure(t.Context(), m); err == nil {
					t.Fatal("Ensure accepts the user data")
				}
				s.live(a, 5*time.Second)
			}
			for _, call := range s.Calls() {
				if call.Method == http.MethodPut || call.Class == "nic" {
					t.Errorf("%s %s %s", call.Method, call.Class, call.Resource)
				}
			}
		})
	}
}
