package identities

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// every and pace are those of credentials.
	every = 10 * time.Second
	pace  = 200 * time.Millisecond
	// patience is how long the API server may take to answer.
	patience = 10 * time.Second
	// keep is longer than the time in which every machine is looked at anyway.
	keep = 30 * time.Minute
)

// reading is what was read of an object.
type reading struct {
	object client.Object // nil is none
	err    error         // why there is nothing to say
	state  string        // another one is told to the machines
	due    time.Time
	asked  map[types.NamespacedName]time.Time
	good   map[cloud.Key]Rights // of an identity: those of each use that were good last
}

// standing remembers rights that are good, and gives them to a machine that is being deleted where they are gone.
func (k *Keeper) standing(use Use, rights Rights, err error) (Rights, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.known[object{identity, use.Identity}]
	good, had := r.good[use.Holder()]
	gone, _ := errors.AsType[notFoundError](err)
	switch {
	case err == nil:
		r.good[use.Holder()] = rights
	case gone.error == nil:
		delete(r.good, use.Holder())
	case had && use.Deleting:
		return good, nil
	}
	return rights, err
}

// ask returns what was read of an object; nil is one that does not exist.
func (k *Keeper) ask(o object, machine types.NamespacedName) (client.Object, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[object]*reading{}
	}
	r := k.known[o]
	if r == nil {
		r = &reading{
			err: phase.ErrAwaited, due: k.Now(), asked: map[types.NamespacedName]time.Time{}, good: map[cloud.Key]Rights{},
		}
		k.known[o] = r
		k.stir()
	}
	r.asked[machine] = k.Now()
	return r.object, r.err
}

// stir has the next object chosen anew. It must be called with the lock.
func (k *Keeper) stir() {
	select {
	case k.begin <- struct{}{}:
	default: // that is about to be done, or nothing runs yet
	}
}

// Feed has the machines woken by a queue.
func (k *Keeper) Feed(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = queue
	return nil
}

// Start reads one object after the other, each when it is its turn.
func (k *Keeper) Start(ctx context.Context) error {
	begin := make(chan struct{}, 1)
	k.mu.Lock()
	k.begin = begin
	k.mu.Unlock()
	for ctx.Err() == nil {
		o, wait := k.next()
		if wait == 0 {
			k.look(ctx, o)
			rest(ctx, cmp.Or(k.Pace, pace), nil)
		} else {
			rest(ctx, wait, begin)
		}
	}
	return nil
}

func rest(ctx context.Context, wait time.Duration, begin <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	case <-begin:
	}
}

// next is the object whose turn it is, or how long to wait for one. What nobody has asked for is forgotten.
func (k *Keeper) next() (first object, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.Now()
	wait = cmp.Or(k.Every, every)
	for o, r := range k.known {
		for machine, asked := range r.asked {
			if now.Sub(asked) > keep {
				delete(r.asked, machine)
			}
		}
		if len(r.asked) == 0 {
			delete(k.known, o)
			continue
		}
		if rest := max(r.due.Sub(now), 0); rest < wait {
			first, wait = o, rest
		}
	}
	return first, wait
}

// look reads an object, and wakes the machines if it is another than before.
func (k *Keeper) look(ctx context.Context, o object) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	got, err := o.read(ctx, k.Live)
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.known[o]
	r.due = k.Now().Add(cmp.Or(k.Every, every))
	state := "none"
	switch {
	case apierrors.IsForbidden(err) && r.object == nil:
		state = "forbidden"
		err = missing("the manager may not read %s %s; give its account that right, or use an identity that it may read",
			o.kind, strings.TrimPrefix(o.String(), "/"))
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
	for machine := range r.asked {
		if k.queue != nil {
			k.queue.Add(ctrl.Request{NamespacedName: machine})
		}
	}
}
