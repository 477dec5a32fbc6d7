package inventory

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// TestMarkedIsReadable: marks without an id are not shown, whatever they say, nor are those that a copy has.
func TestMarkedIsReadable(t *testing.T) {
	t.Parallel()
	i, m := fresh(), machines.VSphere("m")
	copied := oursAs(m)
	copied["config.instanceUuid"] = "11111111-1111-1111-1111-111111111111"
	i.Update(appeared("copy", types.ObjectUpdateKindEnter, copied))
	i.Update(appeared("vm", types.ObjectUpdateKindEnter, map[string]any{
		"name": "vm", seen.ExtraConfig(seen.MarkOwner): extra("default/m"), seen.ExtraConfig(seen.MarkProviderID): extra(seen.Scheme),
	}))
	all, known := i.Marked()
	expect.Same(t, "VMs", 0, len(all))
	expect.Same(t, "all are known", true, known)
}

// TestOthersAreNotOurs: a VM without a mark is no machine's.
func TestOthersAreNotOurs(t *testing.T) {
	t.Parallel()
	i := fresh()
	i.Update(appeared("vm-1", types.ObjectUpdateKindEnter, map[string]any{"name": "x"}))
	expect.Same(t, "machines' VMs", 0, len(i.byProviderID))
}

// TestLacks: a VM with the name, the id or the mark of a machine could be the machine's.
func TestLacks(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	for what, c := range map[string]struct {
		vm   seen.VM
		want bool
	}{
		"nothing of it":           {seen.VM{Name: "x", ID: "y", ProviderID: "z"}, true},
		"nothing of it, no mark":  {seen.VM{Name: "x", ID: "y"}, true},
		"its name":                {seen.VM{Name: m.Name}, false},
		"its id":                  {seen.VM{ID: seen.IDOf(m)}, false},
		"its mark":                {seen.VM{ProviderID: m.ProviderID}, false},
		"its name, marked anew":   {seen.VM{Name: m.Name, Owner: "default/other", ProviderID: "z"}, false},
		"its id, the marks taken": {seen.VM{ID: seen.IDOf(m), Owner: "default/other", ProviderID: "z"}, false},
	} {
		var i Inventory
		i.Begin()
		c.vm.Ref = seen.RefOf("vm-1")
		i.keep(&c.vm)
		i.Complete(false)
		expect.Same(t, what, c.want, i.Lacks(m))
	}
}

// TestLacksNothing: an inventory that is not up to date, or does not have all VMs, proves nothing.
func TestLacksNothing(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	for what, c := range map[string]struct {
		change func(*Inventory)
		want   bool
	}{
		"up to date":   {func(*Inventory) {}, true},
		"some folders": {func(i *Inventory) { i.Complete(true) }, false},
		"behind":       {(*Inventory).Lose, false},
	} {
		var i Inventory
		i.Begin()
		i.Complete(false)
		c.change(&i)
		expect.Same(t, what+": lacks", c.want, i.Lacks(m))
	}
}
