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

// seek searches the subscription for the machine's VM in other groups: a VM that was moved keeps its name, its tags and Azure's
// own ID of it. An identity that may not list the subscription is shown the groups that it may read.
func (a *account) seek(ctx context.Context, m cloud.Machine) error {
	began := a.now()
	all, answer := a.calls.listTagged(ctx, m)
	if answer.verdict != nil {
		return answer.err()
	}
	elsewhere, looked := "", 0
	for _, one := range all {
		id, ok := arm.Parse(one.ID)
		if !ok || !mayBeMoved(m, id) || looked == maxMoved {
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

// mayBeMoved says that a resource may be the machine's VM in another group. A list by a tag does not show tags (Microsoft Learn,
// "Use tags to organize your Azure resources": results that are filtered by a tag come without tags).
func mayBeMoved(m cloud.Machine, id arm.ID) bool {
	return id.Is("Microsoft.Compute/virtualMachines") && strings.EqualFold(id.Name(), m.Name) &&
		id.Parent().Key() != homeOf(m).Parent().Key()
}

// isSame says whether a VM elsewhere is the machine's, by Azure's own ID of it. If that is not known, the marks say whether it
// may be.
func (a *account) isSame(ctx context.Context, m cloud.Machine, id arm.ID) (bool, error) {
	found, answer := a.calls.getVM(ctx, id)
	switch {
	case answer.effect() == fault.Gone:
		return false, nil
	case answer.verdict != nil:
		return false, answer.err()
	}
	known, has := knownOf(m, a.ledger.recall(m)).VMID, ""
	if found.Properties != nil {
		has = arm.UUID(found.Properties.VMID)
	}
	if known == "" || has == "" {
		return arm.Belongs(m, arm.ReadMark(found.Tags)), nil
	}
	return has == known, nil
}
