package identities

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

const (
	// keep is longer than the time in which every machine is looked at anyway.
	keep = 30 * time.Minute
	// outlasts is how long rights stand that are gone: as long as a deletion takes that begins with a drain. An owner who takes them
	// away by deleting the identity does not have to wait for the end of this process.
	outlasts = time.Hour
)

// reading is what was read of an object.
type reading struct {
	reads.Turn
	asked  map[types.NamespacedName]time.Time // by machines, the last times
	object client.Object                      // nil is none
	err    error                              // why object is not known
	state  string                             // machines are woken when it changes
	good   map[cloud.Key]good                 // of an identity, by its uses
}

// good are the last good rights, and when they end if they are gone.
type good struct {
	Rights

	end time.Time
}

// standing remembers rights that are good, and gives them to a machine that is being deleted for a while after they are gone.
func (k *Keeper) standing(use Use, rights Rights, err error) (Rights, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, holder := k.readings[object{Kind: identity, NamespacedName: use.Identity}], use.Holder()
	if r == nil { // the machine's namespace has no room for it
		return rights, err
	}
	former, ok := r.good[holder]
	gone, _ := errors.AsType[notFoundError](err)
	if ok && former.end.IsZero() {
		former.end = k.Now().Add(outlasts)
	}
	switch {
	case err == nil:
		r.good[holder] = good{Rights: rights}
	case gone.error == nil || !ok || !k.Now().Before(former.end):
		delete(r.good, holder)
	default:
		r.good[holder] = former
		if use.Deleting {
			return former.Rights, nil
		}
	}
	return rights, err
}

// ask returns what was read of an object; nil is one that does not exist.
func (k *Keeper) ask(o object, machine types.NamespacedName) (client.Object, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.note(o, machine)
}

// note is ask for a caller with the lock.
func (k *Keeper) note(o object, machine types.NamespacedName) (client.Object, error) {
	if k.readings == nil {
		k.readings = map[object]*reading{}
	}
	r := k.readings[o]
	if r == nil {
		r = &reading{
			Turn: reads.Turn{Due: k.Now()}, asked: map[types.NamespacedName]time.Time{}, err: phase.ErrAwaited,
			good: map[cloud.Key]good{},
		}
		k.readings[o] = r
		k.Stir()
	}
	isNew := r.asked[machine].IsZero()
	if r.asked[machine] = k.Now(); isNew {
		k.leaveOthers(o, machine)
	}
	return r.object, r.err
}

// Start reads until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	k.Askers = k.askersOf
	k.Run(ctx, &k.mu, k.wanted, k.look)
	return nil
}

// wanted yields the objects that are read. It forgets those that no machine has asked for lately.
func (k *Keeper) wanted(yield func(object, *reads.Turn) bool) {
	for o, r := range k.readings {
		for machine, asked := range r.asked {
			if k.Now().Sub(asked) > keep {
				delete(r.asked, machine)
				k.noteRoom(machine.Namespace)
			}
		}
		if len(r.asked) == 0 && !k.IsReading(o) {
			delete(k.readings, o)
		} else if !yield(o, &r.Turn) {
			return
		}
	}
}

// askersOf are the namespaces of the machines that ask for an object.
func (k *Keeper) askersOf(o object) []string {
	var namespaces []string
	for machine := range k.readings[o].asked {
		if !slices.Contains(namespaces, machine.Namespace) {
			namespaces = append(namespaces, machine.Namespace)
		}
	}
	return namespaces
}

// look reads an object, and wakes the machines if it is another than before.
func (k *Keeper) look(ctx context.Context, o object) {
	got, err := read(ctx, k.Live, o)
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.readings[o]
	state := "none"
	switch {
	case apierrors.IsForbidden(err) && r.object == nil:
		state = "forbidden"
		err = missing("the manager may not read %s %s; give its account that right, or use an identity that it may read",
			o.Kind, strings.TrimPrefix(o.String(), "/"))
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "An identity cannot be read")
		return
	case got != nil:
		state = string(got.GetUID()) + got.GetResourceVersion()
	}
	r.object, r.err = got, err
	if r.state == state {
		return
	}
	r.state = state
	k.Wake(slices.Collect(maps.Keys(r.asked))...)
}

// askIdentity is ask for the identity of a machine, if the machine's namespace has room for it.
func (k *Keeper) askIdentity(use Use) (client.Object, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, namespace := object{Kind: identity, NamespacedName: use.Identity}, use.Machine.Namespace
	if r := k.readings[o]; r == nil || r.asked[use.Machine].IsZero() && r.askedBy(namespace).IsZero() {
		if err := k.room(use); err != nil {
			return nil, err
		}
	}
	return k.note(o, use.Machine)
}

// room returns an error unless the machines of a namespace may use one more identity, in place of the one that was not asked for
// the longest time if it is a turn. A machine that finds no room is woken when there is some.
func (k *Keeper) room(use Use) (err error) {
	namespace := use.Machine.Namespace
	count, oldest, idle := k.used(namespace)
	bound := k.Limits.Bound(namespace, tenants.Identities, use.Holds)
	switch {
	case count < bound:
		count++
	case use.Holds && idle >= tenants.Turn:
		maps.DeleteFunc(oldest.asked, func(machine types.NamespacedName, _ time.Time) bool { return machine.Namespace == namespace })
	default:
		k.waiting.Add(use.Machine)
		err = tooMany(namespace, bound)
	}
	k.Notices.Counted(namespace, tenants.Identities, count, k.Now())
	return err
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
		asked := r.askedBy(namespace)
		if o.Kind != identity || asked.IsZero() {
			continue
		}
		count++
		if unused := instant.Sub(asked); oldest == nil || unused > idle {
			oldest, idle = r, unused
		}
	}
	return count, oldest, idle
}

// leaveOthers ends the machine's use of other objects of the kind: it has one of each.
func (k *Keeper) leaveOthers(kept object, machine types.NamespacedName) {
	for o, r := range k.readings {
		if o.Kind == kept.Kind && o != kept {
			delete(r.asked, machine)
		}
	}
	k.noteRoom(machine.Namespace)
}

// askedBy is when a machine of a namespace last asked for the object; zero if none did.
func (r *reading) askedBy(namespace string) (latest time.Time) {
	for machine, asked := range r.asked {
		if machine.Namespace == namespace && asked.After(latest) {
			latest = asked
		}
	}
	return latest
}
