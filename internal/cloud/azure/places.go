package azure

import (
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// begin begins with what counts of the machine at this account's server, if its namespace may have its group and its location. A
// machine that may have a VM, or is deleted, is not refused: of its location nothing is remembered then, and for its group there
// is room for as many again, for which it waits.
func (a *account) begin(m cloud.Machine, vm arm.ID, want next.Goal) (*pursuit, error) {
	m = a.atServer(m)
	user := lists.User{
		Namespace: m.Key.Namespace, Holds: a.mayHold(m, want), Limits: a.limits, Notices: a.notices, Instant: a.now(),
		Busy: func(scope string) bool { return len(a.ledger.keys(scope)) > 0 },
	}
	scope, ok := a.lists.Enter(vm.Parent(), user)
	switch {
	case !ok && user.Holds:
		return nil, cloud.LaterIn(lists.PassedFor, "waiting until machines in other resource groups are gone")
	case !ok:
		return nil, a.tooMany(user.Namespace, tenants.Groups, "resource groups")
	}
	p := &pursuit{account: a, m: m, vm: vm, scope: scope}
	if p.cache, ok = a.sizes.enter(p.region(), user); !ok && !user.Holds {
		return nil, a.tooMany(user.Namespace, tenants.Locations, "locations")
	}
	return p, nil
}

// mayHold reports whether a machine may have a VM, or is deleted.
func (a *account) mayHold(m cloud.Machine, want next.Goal) bool {
	w := a.ledger.recall(m)
	asked := w.Put.Answer == next.Accepted || w.Put.Answer == next.Lost || w.existed
	return want == next.Gone || m.Asked != cloud.NeverAsked || asked || m.Record.Azure.VMID != ""
}

func (a *account) tooMany(namespace string, kind tenants.Kind, things string) *cloud.Error {
	return cloud.Errorf(cloud.Exhausted, infrav1.TooManyPlacesReason,
		"the machines of namespace %s already use %d %s of one cloud account, the limit of a namespace: use one of these for this "+
			"machine, or delete all machines of another; the operator may allow more by the manager's flag --tenants",
		namespace, a.limits.Allowed(namespace, kind), things)
}
