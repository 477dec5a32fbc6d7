package identities

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// askers are the machines that ask for an object, with the last times.
type askers struct {
	asked      map[types.NamespacedName]time.Time
	namespaces map[string]*need
}

// need is that of a namespace.
type need struct {
	machines int
	asked    time.Time
}

func (a *askers) asks(machine types.NamespacedName) bool {
	_, found := a.asked[machine]
	return found
}

func (a *askers) add(machine types.NamespacedName, instant time.Time) {
	if a.asked == nil {
		a.asked, a.namespaces = map[types.NamespacedName]time.Time{}, map[string]*need{}
	}
	n := a.namespaces[machine.Namespace]
	if n == nil {
		n = &need{}
		a.namespaces[machine.Namespace] = n
	}
	if !a.asks(machine) {
		n.machines++
	}
	n.asked = instant
	a.asked[machine] = instant
}

func (a *askers) drop(machine types.NamespacedName) {
	if !a.asks(machine) {
		return
	}
	delete(a.asked, machine)
	n := a.namespaces[machine.Namespace]
	if n.machines--; n.machines == 0 {
		delete(a.namespaces, machine.Namespace)
	}
}

// dropIf drops the machines of which that is true.
func (a *askers) dropIf(isOver func(machine types.NamespacedName, asked time.Time) bool) {
	for machine, asked := range a.asked {
		if isOver(machine, asked) {
			a.drop(machine)
		}
	}
}

// askIdentity is ask for the identity of a machine, if its namespace has room for one more. A machine that may have a VM gets
// more than others, and beyond that the place of the one that was not asked for the longest time.
func (k *Keeper) askIdentity(use Use) (client.Object, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, namespace := object{Kind: identity, NamespacedName: use.Identity}, use.Machine.Namespace
	if r := k.readings[o]; r == nil || r.namespaces[namespace] == nil {
		if err := k.room(namespace, use.Holds); err != nil {
			return nil, err
		}
	}
	return k.note(o, use.Machine)
}

// room returns an error unless the machines of a namespace may use one more identity.
func (k *Keeper) room(namespace string, holds bool) error {
	count, oldest := k.used(namespace)
	limit := k.Limits.Allowed(namespace, tenants.Identities)
	if holds {
		limit *= tenants.ForVMs
	}
	if count < limit {
		k.Notices.Counted(namespace, tenants.Identities, count+1, k.Now())
		return nil
	}
	k.Notices.Counted(namespace, tenants.Identities, count, k.Now())
	if holds && k.Now().Sub(oldest.namespaces[namespace].asked) >= tenants.Turn {
		oldest.dropIf(func(machine types.NamespacedName, _ time.Time) bool { return machine.Namespace == namespace })
		return nil
	}
	return phase.Cloud(cloud.Errorf(cloud.Exhausted, infrav1.TooManyAccountsReason,
		"the machines of namespace %s already use %d identities of the kind %s, the limit of a namespace; use fewer in identityRef of "+
			"its machines, or delete machines: one that no machine uses counts for %d minutes; the operator may allow more by the "+
			"manager's flag --tenants", namespace, limit, Kind, int(keep.Minutes())))
}

// used counts the identities that the machines of a namespace use, and finds the one that was not asked for the longest time.
func (k *Keeper) used(namespace string) (count int, oldest *reading) {
	for o, r := range k.readings {
		n := r.namespaces[namespace]
		if o.Kind != identity || n == nil {
			continue
		}
		count++
		if oldest == nil || n.asked.Before(oldest.namespaces[namespace].asked) {
			oldest = r
		}
	}
	return count, oldest
}

// leaveOthers ends the machine's use of other objects of the kind: it has one of each.
func (k *Keeper) leaveOthers(kind string, machine types.NamespacedName) {
	for o, r := range k.readings {
		if o.Kind == kind {
			r.drop(machine)
		}
	}
}
