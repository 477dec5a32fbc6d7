package azure

import (
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestCustomRoleForSeparateAdapters: adapters that are made before their VM need one action more. Without it the sentence names
// that action and the adapter, and no VM comes.
func TestCustomRoleForSeparateAdapters(t *testing.T) {
	const join = "Microsoft.Network/networkInterfaces/join/action"
	for mode, prepare := range map[string]func(*account, *cloud.Machine){
		"an address of its own": func(_ *account, m *cloud.Machine) {
			m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
		},
		"a cloud that refuses inline adapters": func(a *account, _ *cloud.Machine) { a.refusesInline.Store(true) },
	} {
		for _, granted := range []bool{true, false} {
			t.Run(mode, func(t *testing.T) {
				s := newStage(t)
				actions := roleOf(t)
				if granted {
					actions = append(actions, join)
				}
				s.grant(actions)
				a, m := s.watched(), s.machine("m")
				m.Spec.Azure.Image = infrav1.AzureImage{Marketplace: marketplace} // needs no right to read it
				prepare(a, &m)
				told := map[string]bool{}
				for range 10 * 60 / 5 {
					if _, err := a.Ensure(t.Context(), m); err != nil {
						told[err.Error()] = true
					}
					s.live(a, 5*time.Second)
				}
				names := false
				for text := range told {
					text = strings.ToLower(text)
					names = names || strings.Contains(text, "azure refuses the action "+strings.ToLower(join)+" on /subscriptions/") &&
						strings.Contains(text, "/networkinterfaces/"+m.Name)
				}
				expect.Same(t, "a sentence names the action", !granted, names)
				expect.Same(t, "there is a VM", granted, s.ByClass()["PUT vm"] == 1 && len(adaptersOf(s, m.Name)) == 1)
				if t.Failed() {
					t.Errorf("it was told %v", told)
				}
			})
		}
	}
}

func adaptersOf(s *stage, name string) (all []string) {
	s.Change(func(in *armsim.Inside) { all = adapters(in, name) })
	return all
}
