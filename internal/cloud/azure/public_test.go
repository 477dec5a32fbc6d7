package azure

import (
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/network"
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
