package vsphere

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestWhose has each combination of how a VM was found, its id, its marks, and what proves the machine's marks.
func TestWhose(t *testing.T) {
	t.Parallel()
	m := plainMachine(t)
	const other = "of another"
	type vm = sighting
	for name, c := range map[string]struct {
		vm                              vm
		byReference, byItsID, byItsName cloud.Whose
		proved                          bool
	}{
		"its id and marks, proved": {
			vm{id: idOf(m), owner: "default/m", providerID: m.ProviderID},
			cloud.Ours, cloud.Ours, cloud.Ours, true,
		},
		"its id and marks": {
			vm{id: idOf(m), owner: "default/m", providerID: m.ProviderID},
			cloud.Ours, cloud.Unproved, cloud.Unproved, false,
		},
		"its id": {vm{id: idOf(m)}, cloud.Ours, cloud.Unproved, cloud.Unproved, true},
		"its id, and another's marks": {
			vm{id: idOf(m), owner: other, providerID: other},
			cloud.Ours, cloud.Unproved, cloud.Unproved, true,
		},
		"its marks": {
			vm{id: other, owner: "default/m", providerID: m.ProviderID},
			cloud.Unproved, cloud.Unproved, cloud.Unproved, true,
		},
		"one mark": {vm{id: other, owner: "default/m"}, cloud.Unproved, cloud.Unproved, cloud.Unproved, true},
		"one mark, and another's": {
			vm{id: other, owner: "default/m", providerID: other},
			cloud.Foreign, cloud.Foreign, cloud.Foreign, true,
		},
		"another's":       {vm{id: other, owner: other, providerID: other}, cloud.Foreign, cloud.Foreign, cloud.Foreign, true},
		"nothing":         {vm{id: other}, cloud.Unproved, cloud.Foreign, cloud.Foreign, true},
		"cannot be read":  {vm{owner: "default/m", providerID: m.ProviderID}, cloud.Unseen, cloud.Unseen, cloud.Unseen, true},
		"has only a name": {vm{name: m.Name}, cloud.Unseen, cloud.Unseen, cloud.Unseen, true},
	} {
		m.Own = c.proved
		expect.Same(t, name, []cloud.Whose{c.byReference, c.byItsID, c.byItsName},
			[]cloud.Whose{c.vm.whose(m, byReference), c.vm.whose(m, byItsID), c.vm.whose(m, byItsName)})
	}
}
