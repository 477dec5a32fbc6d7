package vsphere

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// leaveTimeout is how long to wait for the vCenter when a watch ends.
const leaveTimeout = 5 * time.Second

// watcher is a property collector in the vCenter. It ends with the session.
type watcher struct {
	client    *vim25.Client
	collector types.ManagedObjectReference
	views     []types.ManagedObjectReference // of VMs
	tasks     *taskView
	refused   bool            // the account may not see the whole vCenter, or not the last folder
	more      <-chan struct{} // closed when there are more folders to watch; nil for a watcher of the whole vCenter
}

// newWatcher makes a collector for all VMs that the account may see, and for tasks that are added later. If that fails half way,
// it removes what it has made: the session may go on for weeks.
func (a *account) newWatcher(ctx context.Context) (w *watcher, err error) {
	defer func() {
		if err != nil && w != nil {
			a.leave(ctx, w)
		}
	}()
	w, err = session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (*watcher, error) {
		a.freeLeft(ctx, c)
		w := &watcher{client: c}
		made, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{This: c.ServiceContent.PropertyCollector})
		if err != nil {
			return nil, err
		}
		w.collector = made.Returnval
		tasks, err := methods.CreateListView(ctx, c, &types.CreateListView{This: *c.ServiceContent.ViewManager})
		if err != nil {
			return w, err
		}
		w.tasks = &taskView{client: c, ref: tasks.Returnval, more: make(chan struct{}, 1)}
		if err := w.filter(ctx, w.tasks.ref, "Task", taskPaths); err != nil {
			return w, err
		}
		return w, w.addView(ctx, c.ServiceContent.RootFolder)
	})
	if w != nil && w.refused {
		err = a.addFolders(ctx, w, err)
	}
	return w, err
}

// addView adds the VMs beneath an object.
func (w *watcher) addView(ctx context.Context, at types.ManagedObjectReference) error {
	made, err := methods.CreateContainerView(ctx, w.client, &types.CreateContainerView{
		This: *w.client.ServiceContent.ViewManager, Container: at, Type: []string{"VirtualMachine"}, Recursive: true,
	})
	if err != nil {
		w.refused = session.Is[types.BaseNoPermission](err) && !session.Is[*types.NotAuthenticated](err)
		return err
	}
	w.views = append(w.views, made.Returnval)
	return w.filter(ctx, made.Returnval, "VirtualMachine", paths)
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

// leave removes a watcher when its watch ends, so that they do not pile up in a vCenter that we lose now and then. One that does
// not answer is left alone until it does.
func (a *account) leave(ctx context.Context, w *watcher) {
	w.client.CloseIdleConnections() // when one connection broke, the others may be broken too
	if a.session.Broken() {
		a.left = append(a.left, w)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	w.free(ctx)
}

// freeLeft removes the watchers that were left. Those of another session have ended with it.
func (a *account) freeLeft(ctx context.Context, c *vim25.Client) {
	for _, w := range a.left {
		if w.client == c {
			w.free(ctx)
		}
	}
	a.left = nil
}

// free is best effort: the collector and its views end with the session at the latest.
func (w *watcher) free(ctx context.Context) {
	_, _ = methods.DestroyPropertyCollector(ctx, w.client, &types.DestroyPropertyCollector{This: w.collector})
	for _, view := range w.views {
		_, _ = methods.DestroyView(ctx, w.client, &types.DestroyView{This: view})
	}
	if w.tasks != nil {
		_, _ = methods.DestroyView(ctx, w.client, &types.DestroyView{This: w.tasks.ref})
	}
}
