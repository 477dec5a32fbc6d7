package vsphere

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
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

	// leaveTimeout is how long to wait for the vCenter when the watch ends.
	leaveTimeout = 5 * time.Second
)

// Watch keeps the inventory and the state of our tasks up to date, and sends the keys of the machines that changed.
func (a *account) Watch(ctx context.Context, changed chan<- cloud.Key) error {
	if !a.watching.CompareAndSwap(false, true) {
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the account is already being watched")
	}
	defer a.watching.Store(false)
	var keys outbox
	sent := keys.deliver(ctx, changed)
	err := a.watchPages(ctx, &keys)
	keys.close()
	<-sent
	if ctx.Err() != nil {
		return nil
	}
	return err
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

func (a *account) watch(ctx context.Context, keys *outbox, page int32) error {
	keys.add(a.inventory.begin()...)
	defer a.inventory.lose()
	defer a.clones.Followed(nil)
	defer a.ledger.doubt()
	w, err := a.newWatcher(ctx)
	if err != nil {
		return err
	}
	defer a.view.Store(nil)
	a.view.Store(w.tasks)
	a.follow()
	defer w.free(ctx)
	following, stop := context.WithCancel(ctx)
	var kept sync.WaitGroup
	kept.Go(func() { w.tasks.keep(following, a) })
	defer kept.Wait()
	defer stop()

	pace := flowcontrol.NewTokenBucketRateLimiter(answersPerSecond, manyAnswers)
	for synced, version := false, ""; pace.Wait(ctx) == nil; {
		set, err := w.changes(ctx, version, page)
		if err != nil {
			return session.Classify(err)
		}
		if set == nil {
			continue // nothing has changed in maxWait
		}
		version = set.Version
		keys.add(a.apply(set)...)
		if !synced && (set.Truncated == nil || !*set.Truncated) {
			synced = true
			keys.add(a.inventory.complete()...)
			keys.add(a.ledger.machines()...)
		}
	}
	return nil
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
				keys = append(keys, a.inventory.update(o)...)
			}
		}
	}
	return keys
}

// watcher is a property collector in the vCenter. It ends with the session.
type watcher struct {
	client    *vim25.Client
	collector types.ManagedObjectReference
	vms       types.ManagedObjectReference // the view of all VMs
	tasks     *taskView
}

// newWatcher makes a collector for all VMs that the account may see, in all datacenters, and for tasks that are added later.
func (a *account) newWatcher(ctx context.Context) (*watcher, error) {
	return session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (*watcher, error) {
		w := &watcher{client: c}
		made, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{This: c.ServiceContent.PropertyCollector})
		if err != nil {
			return nil, err
		}
		w.collector = made.Returnval
		vms, err := methods.CreateContainerView(ctx, c, &types.CreateContainerView{
			This: *c.ServiceContent.ViewManager, Container: c.ServiceContent.RootFolder, Type: []string{"VirtualMachine"}, Recursive: true,
		})
		if err != nil {
			return nil, err
		}
		w.vms = vms.Returnval
		tasks, err := methods.CreateListView(ctx, c, &types.CreateListView{This: *c.ServiceContent.ViewManager})
		if err != nil {
			return nil, err
		}
		w.tasks = &taskView{client: c, ref: tasks.Returnval, more: make(chan struct{}, 1)}
		if err := w.filter(ctx, w.vms, "VirtualMachine", paths); err != nil {
			return nil, err
		}
		return w, w.filter(ctx, w.tasks.ref, "Task", taskPaths)
	})
}

func (w *watcher) filter(ctx context.Context, view types.ManagedObjectReference, kind string, want []string) error {
	_, err := methods.CreateFilter(ctx, w.client, &types.CreateFilter{This: w.collector, Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj:       view,
			Skip:      new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: view.Type, Path: "view"}},
		}},
		PropSet: []types.PropertySpec{{Type: kind, PathSet: want}},
	}})
	return err
}

// changes waits for what has changed since a version; without a version it returns everything. It fails when the vCenter
// does not even answer that nothing has changed.
func (w *watcher) changes(ctx context.Context, version string, page int32) (*types.UpdateSet, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait+session.CallTimeout)
	defer cancel()
	answer, err := methods.WaitForUpdatesEx(ctx, w.client, &types.WaitForUpdatesEx{
		This: w.collector, Version: version,
		Options: &types.WaitOptions{MaxWaitSeconds: new(int32(maxWait.Seconds())), MaxObjectUpdates: page},
	})
	if err != nil {
		return nil, err
	}
	return answer.Returnval, nil
}

// free removes the collector and its views when the watch ends, so that they do not pile up in a vCenter that we lose now and
// then. This is best effort: they end with the session at the latest.
func (w *watcher) free(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	w.client.CloseIdleConnections() // when one connection broke, the others may be broken too
	_, _ = methods.DestroyPropertyCollector(ctx, w.client, &types.DestroyPropertyCollector{This: w.collector})
	_, _ = methods.DestroyView(ctx, w.client, &types.DestroyView{This: w.vms})
	_, _ = methods.DestroyView(ctx, w.client, &types.DestroyView{This: w.tasks.ref})
}
