package azure

import (
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// newSwitched is a machine whose first VM an account made, which had no room. Another account of the same server, to which its
// identityRef was changed, made the second one. Then the first account has the machine again.
func newSwitched(t *testing.T) (p *proof, first cloud.Record) {
	t.Helper()
	p = newProof(t, false)
	p.m.Spec.Azure.FallbackVMSizes = []string{"Standard_D4as_v5"}
	p.Change(func(in *armsim.Inside) {
		in.Compute.Faults.Full = func(size, _ string) string {
			return map[string]string{"Standard_D4s_v5": "AllocationFailed"}[size]
		}
	})
	expect.Got(p.ensure())(t)
	before := p.a
	first = p.m.Record
	p.restart()
	p.runs()
	expect.Same(t, "another VM", false, first.Azure.VMID == p.m.Record.Azure.VMID)
	p.a = before
	p.live(p.a, 5*time.Minute)
	return p, first
}

// TestAnotherAccountMadeTheVM: an account that had a machine before knows an older VM than the status does, which another
// account has written since. The VM in the status is the machine's.
func TestAnotherAccountMadeTheVM(t *testing.T) {
	p, _ := newSwitched(t)
	was := p.m.Record.Azure.VMID
	told := p.refusals(10*time.Minute, func() error { return expect.ErrorOf(p.ensure()) })
	expect.Same(t, "told", []string(nil), reasons(told))
	p.runs()
	expect.Same(t, "its ID stays", was, p.m.Record.Azure.VMID)
	expect.Same(t, "it goes", []bool{true, false}, []bool{p.goes(), p.vmExists()})
}

// TestOldStatusAfterAnotherAccount: a status that is older than what the account knows does not count, whoever wrote it.
func TestOldStatusAfterAnotherAccount(t *testing.T) {
	p, first := newSwitched(t)
	p.runs()
	was := p.m.Record.Azure.VMID
	p.m.Record = first
	p.runs()
	expect.Same(t, "its ID stays", was, p.m.Record.Azure.VMID)
	expect.Same(t, "it goes", []bool{true, false}, []bool{p.goes(), p.vmExists()})
}

// TestOwnDeletionBeforeAnotherAccount: that Azure accepted a deletion of an account says nothing of the VM that another account
// made since, which somebody moves and untags.
func TestOwnDeletionBeforeAnotherAccount(t *testing.T) {
	p, _ := newSwitched(t)
	p.a.ledger.note(p.m, p.a.now(), func(w *work) { w.removed = true })
	p.ReplaceTags(p.MoveVM(armsim.VMID(p.m.Name), otherName), nil)
	told := p.refusals(30*time.Minute, p.remove)
	expect.Same(t, "told", []string{infrav1.VMMovedReason}, reasons(told))
	expect.Same(t, "it is there", true, p.vmExists())
}
