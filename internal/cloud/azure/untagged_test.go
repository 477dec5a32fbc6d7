package azure

import (
	"net/http"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/network"
)

// TestUntagged has a cloud whose api-version has no tags for what is made with a VM: its request is accepted without them, and
// what the cascade leaves is known by its name: the deletion ends when nothing is left. A stranger's adapter stays.
func TestUntagged(t *testing.T) {
	for _, version := range []string{"2023-09-01", "2024-07-01", "2024-11-01"} {
		t.Run(version, func(t *testing.T) {
			s := newStage(t)
			a, m := s.watched(), s.machine("m")
			a.calls.who.computeVersion = version
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
			s.gone(a, m)
			expect.Same(t, "adapters", "strangers", strings.Join(s.Names(armsim.Group, network.NIC), " "))
			expect.Same(t, "public addresses", 0, len(s.Names(armsim.Group, network.PublicIP)))
		})
	}
}
