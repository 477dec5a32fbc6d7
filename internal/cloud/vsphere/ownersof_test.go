package vsphere

import (
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// TestOwnersOf: the machines whose record names a VM are those that the ledger says it of, at each moment.
func TestOwnersOf(t *testing.T) {
	t.Parallel()
	var l ledger
	m, other := machines.VSphere("m"), machines.VSphere("other")
	is := func(m cloud.Machine, ref string) { l.note(m, func(w *work) { w.Object = seen.RefOf(ref) }) }
	owners := func(ref string) int { return len(l.ownersOf(seen.RefOf(ref))) }
	expect.Same(t, "of a VM that no machine has", 0, owners("vm-1"))
	is(m, "vm-1")
	expect.Same(t, "of a machine's VM", []cloud.Key{m.Key}, l.ownersOf(seen.RefOf("vm-1")))
	is(m, "vm-2")
	expect.Same(t, "when it has another", []int{0, 1}, []int{owners("vm-1"), owners("vm-2")})
	is(other, "vm-2")
	expect.Same(t, "when two have one", 2, owners("vm-2"))
	l.strike(m, "", time.Now())
	expect.Same(t, "when one is gone", []cloud.Key{other.Key}, l.ownersOf(seen.RefOf("vm-2")))
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
		l.note(m, func(w *work) { w.Object = seen.RefOf(fmt.Sprint("vm-", n)) })
	}
	for b.Loop() {
		l.ownersOf(seen.RefOf("vm-4711"))
	}
}
