package azure

import (
	"net/http"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

// TestUntagged has a cloud whose api-version has no tags for what is made with a VM: its request is accepted without them, and
// what the cascade leaves is told and stays, because a name proves nothing. A stranger's adapter is not even told.
func TestUntagged(t *testing.T) {
	for _, version := range []string{"2023-09-01", "2024-07-01", "2024-11-01"} {
		t.Run(version, func(t *testing.T) {
			s := newStage(t)
			a, m := s.watched(), s.machine("m")
			a.calls.Principal.Cloud.ComputeAPIVersion = version
			m.Spec.Azure.NetworkInterfaces[0].PublicIP = infrav1.AzureEnabled
			s.strangersAdapter("strangers")
			s.Forget()
			s.run(a, m)
			for _, call := range s.Calls() {
				if call.Method == http.MethodPut && (call.Status >= http.StatusMultipleChoices || call.Class != "vm") {
					t.Errorf("PUT %s: %d", call.Class, call.Status)
				}
			}
			s.Change(func(in *armsim.Inside) { in.Network.Leave = true })
			told := strings.Join(s.gone(a, m).Orphans, ", ")
			left := s.Names(armsim.Group, network.NIC)
			expect.Same(t, "adapters", []any{2, "strangers"}, []any{len(left), left[1]})
			public := s.Names(armsim.Group, network.PublicIP)
			expect.Same(t, "public addresses", 1, len(public))
			expect.Same(t, "told; the address is still the adapter's", "network interface "+left[0], told)
		})
	}
}
