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

// dropIf drops the machines of which that is true, and returns the namespaces of which none is left.
func (a *askers) dropIf(isOver func(machine types.NamespacedName, asked time.Time) bool) (left []string) {
	for machine, asked := range a.asked {
		if !isOver(machine, asked) {
			continue
		}
		if a.drop(machine); a.namespaces[machine.Namespace] == nil {
			left = append(left, machine.Namespace)
		}
	}
	return left
}

// askIdentity is ask for the identity of a machine, if the machine's namespace has room for it.
func (k *Keeper) askIdentity(use Use) (client.Object, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, namespace := object{Kind: identity, NamespacedName: use.Identity}, use.Machine.Namespace
	if r := k.readings[o]; r == nil || r.namespaces[namespace] == nil {
		if err := k.room(use); err != nil {
			return nil, err
		}
	}
	return k.note(o, use.Machine)
}

// room returns an error unless the machines of a namespace may use one more identity, in place of the one that was not asked for
// the longest time if it is a turn. A machine that finds no room is woken when there is some.
func (k *Keeper) room(use Use) error {
	namespace := use.Machine.Namespace
	count, oldest, idle := k.used(namespace)
	room := k.Limits.Room(namespace, tenants.Demand{Kind: tenants.Identities, Count: count, ForVM: use.Holds, Idle: idle})
	if room == tenants.FreeRoom {
		count++
	}
	k.Notices.Counted(namespace, tenants.Identities, count, k.Now())
	switch room {
	case tenants.NoRoom:
		k.waiting.Add(use.Machine)
		return tooMany(namespace, k.Limits.Bound(namespace, tenants.Identities, use.Holds))
	case tenants.RoomByTurn:
		oldest.dropIf(func(machine types.NamespacedName, _ time.Time) bool { return machine.Namespace == namespace })
	case tenants.FreeRoom:
	}
	return nil
}

func tooMany(namespace string, bound int) error {
	return phase.Cloud(cloud.Errorf(cloud.Exhausted, infrav1.TooManyAccountsReason,
		"the machines of namespace %s already use %d identities of the kind %s, the limit of a namespace; use fewer in identityRef of "+
			"its machines, or delete machines: one that no machine uses counts for %d minutes; the operator may allow more by the "+
			"manager's flag --tenants", namespace, bound, Kind, int(keep.Minutes())))
}

// noteRoom wakes the machines of a namespace that wait, if they may use one more identity again.
func (k *Keeper) noteRoom(namespace string) {
	if !k.waiting.Waits(namespace) {
		return
	}
	if count, _, _ := k.used(namespace); count < k.Limits.Allowed(namespace, tenants.Identities) {
		k.Wake(k.waiting.Take(namespace)...)
	}
}

// used counts the identities that the machines of a namespace use. It finds the one that was not asked for the longest time, and
// for how long it was not.
func (k *Keeper) used(namespace string) (count int, oldest *reading, idle time.Duration) {
	instant := k.Now()
	for o, r := range k.readings {
		n := r.namespaces[namespace]
		if o.Kind != identity || n == nil {
			continue
		}
		count++
		if unused := instant.Sub(n.asked); oldest == nil || unused > idle {
			oldest, idle = r, unused
		}
	}
	return count, oldest, idle
}

// leaveOthers ends the machine's use of other objects of the kind: it has one of each.
func (k *Keeper) leaveOthers(kept object, machine types.NamespacedName) {
	for o, r := range k.readings {
		if o.Kind == kept.Kind && o != kept {
			r.drop(machine)
		}
	}
	k.noteRoom(machine.Namespace)
}
