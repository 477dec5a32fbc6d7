package vsphere

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inventory"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// maxWait is how long the vCenter waits before it answers that nothing has changed. It is well below the half hour after which
// an idle session ends.
const maxWait = 3 * time.Minute

// readAgain is how long a watch lasts before all is read again because there is room for what was left out. A guest must not make
// the list of all VMs be read without pause, by reports that grow and shrink.
const readAgain = 10 * time.Minute

// errRoomAgain is why the watch begins again.
var errRoomAgain = errors.New("there is room for what was left out")

// Watch keeps the inventory and the state of our tasks up to date, and sends the keys of the machines that changed.
func (a *account) Watch(ctx context.Context, changed func(...cloud.Key)) error {
	if !a.watching.CompareAndSwap(false, true) {
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the account is already being watched")
	}
	defer a.watching.Store(false)
	err := a.keepWatching(session.Unlimited(ctx), changed)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// keepWatching watches until an error occurs that time alone does not mend. It waits for a vCenter that does not answer. Each
// machine is woken when that begins, so that it reports the outage, and again by the first list of VMs after it.
func (a *account) keepWatching(ctx context.Context, changed func(...cloud.Key)) error {
	for {
		err := a.watchPages(ctx, changed)
		woken := a.waiting.finish(false)
		broken := a.session.Broken()
		if broken || errors.Is(err, cloud.ErrOtherServer) {
			woken = slices.Concat(woken, a.inventory.Machines(), a.ledger.machines())
		}
		changed(woken...)
		switch {
		case ctx.Err() != nil:
			return err
		case broken:
			a.session.Await(ctx)
		case !errors.Is(err, errMoreFolders) && !errors.Is(err, errRoomAgain):
			return err
		}
	}
}

// watchPages watches, and starts again with a smaller page where one of the list was too large, down to one VM.
func (a *account) watchPages(ctx context.Context, changed func(...cloud.Key)) (err error) {
	defer session.Recover(&err)
	for paging := (&pages{}); ; {
		var read int
		if read, err = a.watch(ctx, changed, paging); !errors.Is(err, session.ErrTooLarge) || !paging.tooLarge(read) {
			return err
		}
	}
}

// watch wakes no machine until it has seen all VMs, because each would have to look for its own by a call. It returns the number
// of changes that it has read.
func (a *account) watch(ctx context.Context, changed func(...cloud.Key), paging *pages) (read int, err error) {
	keys := a.inventory.Begin()
	a.waiting.begin(a.now(), changed)
	defer a.inventory.Lose()
	defer a.clones.Followed(nil)
	defer a.ledger.doubt()
	w, err := a.newWatcher(ctx)
	if err != nil {
		return 0, err
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

	pace := newPace()
	if err := a.readAll(ctx, w, paging, pace); err != nil {
		return w.read, a.cut(ctx, err)
	}
	changed(slices.Concat(keys, a.inventory.Complete(w.folderAdded != nil), a.ledger.machines(), a.waiting.finish(true))...)
	kept.Go(func() { w.guests.keep(following, a) })
	return w.read, a.cut(ctx, a.readChanges(ctx, w, changed, pace))
}

// readAll reads all VMs, and then what the guests of ours report.
func (a *account) readAll(ctx context.Context, w *watcher, paging *pages, pace pace) error {
	var err error
	for err == nil && (w.truncated || w.version == "") {
		err = a.readPage(ctx, w, paging, pace, maxWait)
	}
	if err == nil {
		err = w.guests.list(ctx, &a.inventory)
	}
	end := time.Now().Add(inventory.GuestsTime)
	for err == nil && (w.truncated || a.inventory.AwaitsGuests() && time.Now().Before(end)) {
		err = a.readPage(ctx, w, paging, pace, inventory.GuestsTime)
	}
	return err
}

func (a *account) readPage(ctx context.Context, w *watcher, paging *pages, pace pace, wait time.Duration) error {
	if err := pace[w.truncated].Wait(ctx); err != nil {
		return err
	}
	set, err := w.changes(ctx, paging.sizeAt(w.read), wait)
	if set != nil {
		a.apply(w, set)
	}
	return err
}

// readChanges sends the keys of the machines that changes concern. An answer that is too large is asked for again in parts, which
// a vCenter allows for a version that was not truncated: a client may not have received the answer.
func (a *account) readChanges(ctx context.Context, w *watcher, changed func(...cloud.Key), pace pace) error {
	page, begun := int32(maxPage), a.now()
	for {
		if err := pace[w.truncated].Wait(ctx); err != nil {
			return err
		}
		set, err := w.changes(ctx, page, maxWait)
		switch {
		case errors.Is(err, session.ErrTooLarge) && !w.truncated && page > 1:
			page = max(page/4, 1)
			continue
		case err != nil:
			return err
		case set != nil:
			changed(a.apply(w, set)...)
		}
		if !w.truncated {
			page = min(4*page, maxPage)
		}
		if a.now().Sub(begun) >= readAgain && a.inventory.HasRoomAgain() {
			return errRoomAgain
		}
	}
}

// cut returns the reason why a wait has failed. If there was no response, it checks whether the vCenter answers at all.
func (a *account) cut(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errRoomAgain) {
		return err
	}
	if !session.Answered(err) && !a.session.Broken() {
		a.session.Check(ctx)
	}
	return session.Classify(err)
}

// apply applies changes of tasks to the ledger and changes of VMs to the inventory.
func (a *account) apply(w *watcher, set *types.UpdateSet) []cloud.Key {
	var keys []cloud.Key
	for _, f := range set.FilterSet {
		for _, o := range f.ObjectSet {
			switch o.Obj.Type {
			case "Task":
				keys = append(append(keys, a.ledger.update(o)...), a.clones.Update(o)...)
			case "VirtualMachine":
				keys = append(keys, a.applyVM(o, f.Filter == w.guests.filter)...)
			}
		}
	}
	return keys
}

func (a *account) applyVM(o types.ObjectUpdate, guest bool) []cloud.Key {
	byRecord := a.ledger.ownersOf(o.Obj)
	if guest {
		return a.inventory.UpdateGuest(o, byRecord...)
	}
	changed := a.inventory.Update(o, byRecord...)
	if o.Kind == types.ObjectUpdateKindLeave && a.ledger.destroys(o.Obj) {
		return nil
	}
	return changed
}
