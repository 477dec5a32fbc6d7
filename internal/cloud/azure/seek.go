package azure

import (
	"context"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
)

// maxMoved is how many VMs of a machine's name and marks in other groups are looked at.
const maxMoved = 5

// seek searches the subscription for the machine's VM in other groups: a VM that was moved keeps its name, its tags and Azure's own
// ID of it. Those that may not list the subscription are shown the groups that they may read.
func (a *account) seek(ctx context.Context, m cloud.Machine) error {
	began := a.now()
	all, answer := a.calls.listTagged(ctx, m)
	if answer.verdict != nil {
		return answer.err()
	}
	elsewhere, looked := "", 0
	for _, one := range all {
		id, ok := arm.Parse(one.ID)
		if !ok || !a.mayBeMoved(m, id, one) || looked == maxMoved {
			continue
		}
		looked++
		same, err := a.isSame(ctx, m, id)
		if err != nil {
			return err
		}
		if same {
			elsewhere = id.Group
		}
	}
	a.ledger.note(m, began, func(w *work) { w.sought, w.elsewhere = began, elsewhere })
	return nil
}

// mayBeMoved says that a resource looks like the machine's VM in another group.
func (a *account) mayBeMoved(m cloud.Machine, id arm.ID, one resource) bool {
	return id.Is("Microsoft.Compute/virtualMachines") && strings.EqualFold(id.Name(), m.Name) &&
		id.Parent().Key() != homeOf(m).Parent().Key() && arm.Belongs(m, arm.ReadMark(one.Tags))
}

// isSame says whether a VM elsewhere is the machine's, by Azure's own ID of it. If that is not known, it may be.
func (a *account) isSame(ctx context.Context, m cloud.Machine, id arm.ID) (bool, error) {
	known := knownOf(m, a.ledger.recall(m)).VMID
	if known == "" {
		return true, nil
	}
	found, answer := a.calls.getVM(ctx, id)
	switch {
	case answer.effect() == fault.Gone:
		return false, nil
	case answer.verdict != nil:
		return false, answer.err()
	case found.Properties == nil || arm.UUID(found.Properties.VMID) == "":
		return true, nil
	}
	return arm.UUID(found.Properties.VMID) == known, nil
}
