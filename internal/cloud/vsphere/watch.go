package vsphere

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/util/flowcontrol"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

const (
	// maxWait is how long the vCenter waits before it answers that nothing has changed. It is well below the half hour
	// after which an idle session ends.
	maxWait = 3 * time.Minute

	// maxPage is how many changes we want in one answer; a vCenter gives no more than 100 at once anyway. When such an answer is
	// larger than any that we read, the watch begins again with smaller pages.
	maxPage = 100

	// A vCenter answers as often as something changes; one that does so without pause is slowed down after the first answers,
	// which may be the pages of a large inventory.
	manyAnswers      = 500
	answersPerSecond = 10
)

// Watch keeps the inventory and the state of our tasks up to date, and sends the keys of the machines that changed.
func (a *account) Watch(ctx context.Context, changed chan<- cloud.Key) error {
	if !a.watching.CompareAndSwap(false, true) {
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the account is already being watched")
	}
	defer a.watching.Store(false)
	var keys outbox
	sent := keys.deliver(ctx, changed)
	err := a.keepWatching(session.Beside(ctx), &keys)
	keys.close()
	<-sent
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// keepWatching watches until something is wrong that more than time must mend. A vCenter that does not answer is awaited. Each
// machine is woken when that begins, so that it tells of it, and again by the first list of VMs after that.
func (a *account) keepWatching(ctx context.Context, keys *outbox) error {
	for {
		err := a.watchPages(ctx, keys)
		woken := a.waiting.over(false)
		broken := a.session.Broken()
		if broken || errors.Is(err, cloud.ErrOtherServer) {
			woken = slices.Concat(woken, a.inventory.all(), a.ledger.machines())
		}
		keys.add(woken...)
		switch {
		case ctx.Err() != nil:
			return err
		case broken:
			a.session.Await(ctx)
		case !errors.Is(err, errMoreFolders):
			return err
		}
	}
}

// watchPages watches in smaller pages for as long as the pages are too large, down to one VM. A page that was too large cannot be
// asked for again: the vCenter gives what comes after a version only once if that version was truncated.
func (a *account) watchPages(ctx context.Context, keys *outbox) (err error) {
	defer session.Recover(&err)
	for page := int32(maxPage); ; page /= 4 {
		if err = a.watch(ctx, keys, max(page, 1)); page <= 1 || !errors.Is(err, session.ErrTooLarge) {
			return err
		}
	}
}

// watch wakes no one until it has seen all VMs, because each machine would have to ask for its own.
func (a *account) watch(ctx context.Context, keys *outbox, page int32) error {
	known := a.inventory.begin()
	a.waiting.begin(a.now(), keys)
	defer a.inventory.lose()
	defer a.clones.Followed(nil)
	defer a.ledger.doubt()
	w, err := a.newWatcher(ctx)
	if err != nil {
		return err
	}
	if w.more != nil {
		a.inventory.partly()
	}
	defer a.view.Store(nil)
	a.view.Store(w.tasks)
	a.follow()
	defer a.leave(ctx, w)
	following, stop := context.WithCancel(ctx)
	var kept sync.WaitGroup
	kept.Go(func() { w.tasks.keep(following, a) })
	defer kept.Wait()
	defer stop()
	ctx, end := w.untilMore(ctx)
	defer end()

	pace := flowcontrol.NewTokenBucketRateLimiter(answersPerSecond, manyAnswers)
	for synced, version := false, ""; pace.Wait(ctx) == nil; {
		set, err := w.changes(ctx, version, page)
		if err != nil {
			return a.cut(ctx, err)
		}
		if set == nil {
			continue // nothing has changed in maxWait
		}
		version = set.Version
		changed := a.apply(set)
		switch {
		case synced:
			keys.add(changed...)
		case set.Truncated == nil || !*set.Truncated:
			synced = true
			keys.add(slices.Concat(known, a.inventory.complete(), a.ledger.machines(), a.waiting.over(true))...) // each once
		}
	}
	return context.Cause(ctx)
}

// cut says why a wait has failed. Had it no answer, the vCenter is asked whether it answers at all.
func (a *account) cut(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !session.Answered(err) && !a.session.Broken() {
		a.session.Check(ctx)
	}
	return session.Classify(err)
}

// apply applies changes of tasks to the ledger and changes of VMs to the inventory.
func (a *account) apply(set *types.UpdateSet) []cloud.Key {
	var keys []cloud.Key
	for _, f := range set.FilterSet {
		for _, o := range f.ObjectSet {
			switch o.Obj.Type {
			case "Task":
				keys = append(append(keys, a.ledger.update(o)...), a.clones.Update(o)...)
			case "VirtualMachine":
				changed := a.inventory.update(o)
				if o.Kind != types.ObjectUpdateKindLeave || !a.ledger.destroys(o.Obj) {
					keys = append(keys, changed...)
				}
			}
		}
	}
	return keys
}
