package inventory

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// TestTakenOffTheList: a VM that is not ours any more is taken off the list with the next one that is added to it.
func TestTakenOffTheList(t *testing.T) {
	unmarked := map[string]any{seen.ExtraConfig(seen.MarkOwner): nil, seen.ExtraConfig(seen.MarkProviderID): nil}
	t.Parallel()
	i, m, other := fresh(), machines.VSphere("m"), machines.VSphere("other")
	const modify = "modify"
	enters(i, "vm", m, "r")
	add, remove := i.Unlisted()
	expect.Same(t, "to add and remove", []int{1, 0}, []int{len(add), len(remove)})
	i.Update(appeared("vm", modify, unmarked))
	add, remove = i.Unlisted()
	expect.Same(t, "to add and remove, without a VM that is new", []int{0, 0}, []int{len(add), len(remove)})
	i.Update(appeared("vm", modify, oursAs(m)))
	expect.Same(t, "when it has its marks again", "r", seenOf(i, m).VM.Report)
	i.Update(appeared("vm", modify, unmarked))
	enters(i, "new", other, "s")
	add, remove = i.Unlisted()
	expect.Same(t, "to add and remove, with a VM that is new", []int{1, 1}, []int{len(add), len(remove)})
	i.UpdateGuest(appeared("vm", "leave", nil))
	expect.Same(t, "VMs of others", 1, len(i.otherVMs))
	i.NotListed(add, true)
	add, _ = i.Unlisted()
	expect.Same(t, "to add again, when the request failed", 1, len(add))
}
