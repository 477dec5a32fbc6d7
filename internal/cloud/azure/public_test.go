package azure

import (
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

// TestPublicAddress has an adapter with a public address: one request makes both, and one deletion removes both.
func TestPublicAddress(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	m.Spec.Azure.NetworkInterfaces[0].PublicIP = infrav1.AzureEnabled
	s.run(a, m)
	if names := s.Names(armsim.Group, network.PublicIP); len(names) != 1 {
		t.Errorf("public addresses are %q, want one", names)
	}
	s.gone(a, m)
	if names := s.Names(armsim.Group, network.PublicIP); len(names) != 0 {
		t.Errorf("public addresses are left: %q", names)
	}
}

// TestPublicAddressLeft has the cascade leave public addresses: the sweep takes that of a machine that is gone, also in the next
// process, once it was seen without an adapter for ten minutes. A stranger's stays, and one of a VM that runs.
func TestPublicAddressLeft(t *testing.T) {
	for name, harm := range map[string]func(*armsim.Inside){
		"alone":            func(in *armsim.Inside) { in.Network.LeavePublic = true },
		"with its adapter": func(in *armsim.Inside) { in.Network.Leave = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			a, m, runs := s.watched(), s.machine("m"), s.machine("runs")
			for _, one := range []cloud.Machine{m, runs} {
				one.Spec.Azure.NetworkInterfaces[0].PublicIP = infrav1.AzureEnabled
				s.run(a, one)
			}
			s.Change(func(in *armsim.Inside) {
				harm(in)
				id := doc.Resource(armsim.Subscription, armsim.Group, network.Provider, "publicIPAddresses", "strangers")
				in.World.Put(id, doc.Object{"location": armsim.Location, "properties": doc.Object{}})
			})
			s.gone(a, m)
			b := s.watched()
			expect.Got(b.Observe(t.Context(), runs))(t)
			left := len(s.Names(armsim.Group, network.PublicIP))
			s.live(b, 9*time.Minute)
			expect.Same(t, "public addresses, nine minutes later", left, len(s.Names(armsim.Group, network.PublicIP)))
			s.live(b, 80*time.Minute)
			for _, name := range s.Names(armsim.Group, network.PublicIP) {
				if name != "strangers" && !strings.HasPrefix(name, runs.Name) {
					t.Errorf("%s is left", name)
				}
			}
			expect.Same(t, "public addresses in the end", 2, len(s.Names(armsim.Group, network.PublicIP)))
		})
	}
}

// TestNoPublicAddress never asks for public addresses where no machine has one.
func TestNoPublicAddress(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	s.run(a, m)
	s.live(a, time.Hour)
	if n := s.ByClass()["GET public ip list"]; n > 0 {
		t.Errorf("%d lists", n)
	}
}
