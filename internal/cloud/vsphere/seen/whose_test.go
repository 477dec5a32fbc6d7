package seen

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// TestWhose has each combination of how a VM was found, its id, its marks, and what proves the machine's marks.
func TestWhose(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	const other = "of another"
	type vm = VM
	for name, c := range map[string]struct {
		vm                              vm
		byReference, byItsID, byItsName cloud.Whose
		proved                          bool
	}{
		"its id and marks, proved": {
			vm{ID: IDOf(m), Owner: "default/m", ProviderID: m.ProviderID},
			cloud.Ours, cloud.Ours, cloud.Ours, true,
		},
		"its id and marks": {
			vm{ID: IDOf(m), Owner: "default/m", ProviderID: m.ProviderID},
			cloud.Ours, cloud.Unproved, cloud.Unproved, false,
		},
		"its id": {vm{ID: IDOf(m)}, cloud.Ours, cloud.Unproved, cloud.Unproved, true},
		"its id, and another's marks": {
			vm{ID: IDOf(m), Owner: other, ProviderID: other},
			cloud.Ours, cloud.Unproved, cloud.Unproved, true,
		},
		"its marks": {
			vm{ID: other, Owner: "default/m", ProviderID: m.ProviderID},
			cloud.Unproved, cloud.Unproved, cloud.Unproved, true,
		},
		"one mark": {vm{ID: other, Owner: "default/m"}, cloud.Unproved, cloud.Unproved, cloud.Unproved, true},
		"one mark, and another's": {
			vm{ID: other, Owner: "default/m", ProviderID: other},
			cloud.Foreign, cloud.Foreign, cloud.Foreign, true,
		},
		"another's":       {vm{ID: other, Owner: other, ProviderID: other}, cloud.Foreign, cloud.Foreign, cloud.Foreign, true},
		"nothing":         {vm{ID: other}, cloud.Unproved, cloud.Foreign, cloud.Foreign, true},
		"cannot be read":  {vm{Owner: "default/m", ProviderID: m.ProviderID}, cloud.Unseen, cloud.Unseen, cloud.Unseen, true},
		"has only a name": {vm{Name: m.Name}, cloud.Unseen, cloud.Unseen, cloud.Unseen, true},
	} {
		m.Own = c.proved
		expect.Same(t, name, []cloud.Whose{c.byReference, c.byItsID, c.byItsName},
			[]cloud.Whose{c.vm.Whose(m, ByReference), c.vm.Whose(m, ByID), c.vm.Whose(m, ByName)})
	}
}
