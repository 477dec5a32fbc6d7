package vsphere

import (
	"slices"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// TestHostAddedAgain: with Read-only on the datacenter, a VM that comes back in another folder under a new reference is the
// machine's, by its id. On deletion, the sentence names the privilege that is missing on it, until a person moves it back or
// gives the role there. It is among those of which one without a Machine is reported.
func TestHostAddedAgain(t *testing.T) {
	t.Parallel()
	for _, life := range []string{"running", "after a restart"} {
		for record, kept := range map[string]bool{"record kept": true, "record lost": false} {
			t.Run(life+", "+record, func(t *testing.T) {
				t.Parallel()
				p := newProof(t, life)
				vm := expect.Got(p.a.Observe(t.Context(), p.m))(t)
				if kept {
					p.m.Record = *vm.Record
				}
				end := p.discover()
				if life == "after a restart" {
					p.start()
				}
				now := p.VM(p.m.Name).Reference()
				wait.Until(t, "the VM to be found", func() (any, bool) {
					vm = expect.Got(p.a.Observe(t.Context(), p.m))(t)
					return vm, vm.State == cloud.Running && vm.Record.VSphere.Reference == now.Value
				})
				wait.Until(t, "its mark to be known", func() (any, bool) {
					marked, known := p.a.Marked()
					return marked, known && slices.ContainsFunc(marked, func(one cloud.Marked) bool { return one.Key == p.m.Key })
				})
				err := expect.ErrorOf(p.a.Delete(t.Context(), p.m))
				cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
				expect.Says(t, "Delete", err, "the privilege VirtualMachine.Interact.PowerOff on VirtualMachine "+now.Value)
				expect.Same(t, "it is let go", false, p.goes(8))
				if life == "running" { // as docs/vcenter.md advises
					p.Move(now, p.windows)
				} else {
					end(p)
				}
				expect.Same(t, "it is gone", true, p.goes(20))
				expect.Same(t, "the VM is there", false, p.there())
			})
		}
	}
}
