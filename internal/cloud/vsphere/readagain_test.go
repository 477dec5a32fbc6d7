package vsphere

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// TestReadAgain: when there is room for what was left out, and the watch is not young, all is read again, and then nothing is
// missing.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	running(t, v.account(), m)
	a := v.account()
	later := stoppedClock(a)
	keys := watched(t, a)
	expect.Same(t, "key of the list", m.Key, <-keys)
	a.inventory.Update(types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: vmOf(4711)}) // of one that was left out
	v.Count()
	v.SetExtra(m.Name, seen.ReportKey, "r")
	expect.Same(t, "key of a change", m.Key, <-keys)
	expect.Same(t, "lists while the watch is young", 0, v.Count()["CreatePropertyCollector"])
	later(readAgain)
	v.SetExtra(m.Name, seen.ReportKey, "s")
	wait.Until(t, "another machine to be lacked", func() (any, bool) {
		return nil, a.inventory.Lacks(v.machine("other"))
	})
	expect.Same(t, "lists", 1, v.Count()["CreatePropertyCollector"])
	expect.Same(t, "the VM", cloud.Running, expect.Got(a.Observe(t.Context(), m))(t).State)
}
