package vsphere

import (
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestOwnersOf: the machines whose record names a VM are those that the ledger says it of, at each moment.
func TestOwnersOf(t *testing.T) {
	t.Parallel()
	var l ledger
	m, other := machineOf(t, "m", infrav1.WindowsMachineSpec{}), machineOf(t, "other", infrav1.WindowsMachineSpec{})
	is := func(m cloud.Machine, ref string) { l.note(m, func(w *work) { w.Object = vmRef(ref) }) }
	owners := func(ref string) int { return len(l.ownersOf(vmRef(ref))) }
	expect.Same(t, "of a VM that no machine has", 0, owners("vm-1"))
	is(m, "vm-1")
	expect.Same(t, "of a machine's VM", []cloud.Key{m.Key}, l.ownersOf(vmRef("vm-1")))
	is(m, "vm-2")
	expect.Same(t, "when it has another", []int{0, 1}, []int{owners("vm-1"), owners("vm-2")})
	is(other, "vm-2")
	expect.Same(t, "when two have one", 2, owners("vm-2"))
	l.strike(m, "", time.Now())
	expect.Same(t, "when one is gone", []cloud.Key{other.Key}, l.ownersOf(vmRef("vm-2")))
	l.note(other, func(w *work) { w.Object = types.ManagedObjectReference{} })
	l.strike(other, "", time.Now())
	expect.Same(t, "when both are", 0, len(l.owners))
}

// BenchmarkOwnersOf: it is asked for each change of each VM.
func BenchmarkOwnersOf(b *testing.B) {
	var l ledger
	for n := range 5000 {
		var m cloud.Machine
		m.ProviderID = fmt.Sprint(seen.Scheme, n)
		l.note(m, func(w *work) { w.Object = vmRef(fmt.Sprint("vm-", n)) })
	}
	for b.Loop() {
		l.ownersOf(vmRef("vm-4711"))
	}
}
