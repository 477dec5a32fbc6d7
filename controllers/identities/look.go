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

	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
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
	askers
	object client.Object      // nil is none
	err    error              // why object is not known
	state  string             // machines are woken when it changes
	good   map[cloud.Key]good // of an identity, by its uses
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
		r = &reading{Turn: reads.Turn{Due: k.Now()}, err: phase.ErrAwaited, good: map[cloud.Key]good{}}
		k.readings[o] = r
		k.Stir()
	}
	isNew := !r.asks(machine)
	if r.add(machine, k.Now()); isNew {
		k.leaveOthers(o, machine)
	}
	return r.object, r.err
}

// Start reads until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	k.Askers = k.askersOf
	k.Run(ctx, k.next, k.look)
	return nil
}

// next is the object that is read now, or how long there is nothing to do.
func (k *Keeper) next() (object, time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Next(k.wanted)
}

// wanted yields the objects that are read. It forgets those that no machine has asked for lately.
func (k *Keeper) wanted(yield func(object, *reads.Turn) bool) {
	for o, r := range k.readings {
		isOld := func(_ types.NamespacedName, asked time.Time) bool { return k.Now().Sub(asked) > keep }
		for _, namespace := range r.dropIf(isOld) {
			k.noteRoom(namespace)
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
