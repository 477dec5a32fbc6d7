package vsphere

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// leaveTimeout is how long to wait for the vCenter when a watch ends.
const leaveTimeout = 5 * time.Second

// watcher is a property collector in the vCenter. It ends with the session.
type watcher struct {
	client    *vim25.Client
	collector types.ManagedObjectReference
	views     []types.ManagedObjectReference // of VMs
	lists     []types.ManagedObjectReference // of tasks and of our VMs
	tasks     *taskView
	guests    *guestView

	version     string          // of the last answer
	truncated   bool            // more follows on it, and what follows cannot be asked for twice
	read        int             // how many changes the answers had
	refused     bool            // the account may not see the whole vCenter, or not the last folder
	folderAdded <-chan struct{} // closed when there are more folders to watch; nil for a watcher of the whole vCenter
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
		if err := w.addLists(ctx); err != nil {
			return w, err
		}
		return w, w.addView(ctx, c.ServiceContent.RootFolder)
	})
	if w != nil && w.refused {
		err = a.addFolders(ctx, w, err)
	}
	return w, err
}

// addFolders adds the VMs in the folders that specs have named, once there is one. If the account may see none of them, it
// returns the cause with which it was called.
func (a *account) addFolders(ctx context.Context, w *watcher, cause error) error {
	specs, added := a.folders.list()
	for len(specs) == 0 {
		if !arrives(ctx, added) {
			return cause
		}
		specs, added = a.folders.list()
	}
	w.folderAdded = added
	for _, spec := range specs {
		folder, err := a.places.FindFolder(ctx, spec)
		if err == nil {
			err = w.addView(ctx, folder)
		}
		if a.session.Broken() {
			return err
		}
	}
	if len(w.views) == 0 {
		return cause
	}
	return nil
}

// untilMore returns a context that ends when a machine names another folder than those that are watched.
func (w *watcher) untilMore(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	if w.folderAdded != nil {
		go func() {
			select {
			case <-w.folderAdded:
				end(errMoreFolders)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { end(nil) }
}

// addLists adds the lists of tasks and of our VMs, which are empty yet.
func (w *watcher) addLists(ctx context.Context) error {
	tasks, _, err := w.addList(ctx, "Task", next.TaskPaths)
	if err != nil {
		return err
	}
	w.tasks = &taskView{client: w.client, ref: tasks, added: make(chan struct{}, 1)}
	guests, filter, err := w.addList(ctx, "VirtualMachine", seen.GuestPaths)
	w.guests = &guestView{w.client, guests, filter}
	return err
}

func (w *watcher) addList(ctx context.Context, kind string, want []string) (ref, filter types.ManagedObjectReference, err error) {
	made, err := methods.CreateListView(ctx, w.client, &types.CreateListView{This: *w.client.ServiceContent.ViewManager})
	if err != nil {
		return ref, filter, err
	}
	w.lists = append(w.lists, made.Returnval)
	filter, err = w.filter(ctx, made.Returnval, kind, want)
	return made.Returnval, filter, err
}

// addView adds the VMs beneath an object.
func (w *watcher) addView(ctx context.Context, container types.ManagedObjectReference) error {
	made, err := methods.CreateContainerView(ctx, w.client, &types.CreateContainerView{
		This: *w.client.ServiceContent.ViewManager, Container: container, Type: []string{"VirtualMachine"}, Recursive: true,
	})
	if err != nil {
		w.refused = session.Hidden(err)
		return err
	}
	w.views = append(w.views, made.Returnval)
	_, err = w.filter(ctx, made.Returnval, "VirtualMachine", seen.Paths)
	return err
}

func (w *watcher) filter(
	ctx context.Context, view types.ManagedObjectReference, kind string, want []string,
) (made types.ManagedObjectReference, err error) {
	answer, err := methods.CreateFilter(ctx, w.client, &types.CreateFilter{This: w.collector, Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj:       view,
			Skip:      new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: view.Type, Path: "view"}},
		}},
		PropSet: []types.PropertySpec{{Type: kind, PathSet: want}},
	}})
	if err != nil {
		return made, err
	}
	return answer.Returnval, nil
}

// changes waits for what has changed since the last answer; the first has everything. It is nil when nothing has changed for some
// time, and fails when the vCenter does not even answer that.
func (w *watcher) changes(ctx context.Context, page int32, wait time.Duration) (*types.UpdateSet, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+session.CallTimeout)
	defer cancel()
	answer, err := methods.WaitForUpdatesEx(ctx, w.client, &types.WaitForUpdatesEx{
		This: w.collector, Version: w.version,
		Options: &types.WaitOptions{MaxWaitSeconds: new(int32(wait.Seconds())), MaxObjectUpdates: page},
	})
	if err != nil {
		return nil, err
	}
	set := answer.Returnval
	if set == nil {
		w.truncated = false
		return nil, nil
	}
	w.version, w.truncated = set.Version, set.Truncated != nil && *set.Truncated
	for _, f := range set.FilterSet {
		w.read += len(f.ObjectSet)
	}
	return set, nil
}

// leave removes a watcher when its watch ends, so that watchers do not pile up in a vCenter that we lose now and then. If the
// vCenter does not answer, the watcher stays until it does.
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
	for _, view := range slices.Concat(w.views, w.lists) {
		_, _ = methods.DestroyView(ctx, w.client, &types.DestroyView{This: view})
	}
}

// pages holds how many changes to request at once. A page that is too large is requested again in parts, and the next ones are
// full again. What follows a truncated answer is sent only once, so the list of all VMs is then read from its beginning, with
// full pages up to the one that was too large.
type pages struct {
	spans []span
}

// span is a part of the list in which full pages are too large.
type span struct {
	start, end int
	limit      int32
}

const (
	// maxPage is how many changes we want in one answer; a vCenter gives no more than 100 at once anyway.
	maxPage = 100

	// maxSpans is in how many parts of the list pages may be too large, before all that follows on the first is read in smaller
	// ones.
	maxSpans = 8
)

// sizeAt is the size of the page that begins after so many VMs. The page does not reach into a part that is to be read in
// smaller ones.
func (p *pages) sizeAt(read int) int32 {
	page := int32(maxPage)
	for _, s := range p.spans {
		switch {
		case s.start <= read && read < s.end:
			page = min(page, s.limit)
		case read < s.start:
			page = int32(min(int(page), s.start-read)) //nolint:gosec // because it is at most page
		}
	}
	return page
}

// tooLarge notes that the page of the list after so many VMs was too large. It reports whether a smaller one can be requested. A
// size that was small enough elsewhere is tried first, because each try reads the list anew.
func (p *pages) tooLarge(read int) bool {
	page := p.sizeAt(read)
	if page <= 1 {
		return false
	}
	smaller := max(page/4, 1)
	for n, s := range p.spans {
		if s.start <= read && read < s.end {
			p.spans[n].limit = smaller
			return true
		}
	}
	first := read
	for _, s := range p.spans {
		smaller, first = min(smaller, s.limit), min(first, s.start)
	}
	if len(p.spans) == maxSpans {
		p.spans = []span{{first, math.MaxInt, smaller}}
		return true
	}
	p.spans = append(p.spans, span{read, read + int(page), smaller})
	return true
}

// pace slows down a vCenter that answers without pause. What has changed gathers meanwhile. The pages of a list are slowed down
// only when it is longer than a vCenter's can be, which has 45,000 VMs at most.
type pace map[bool]flowcontrol.RateLimiter // by whether more follows on the answer before

const (
	manyAnswers      = 500
	answersPerSecond = 10
	manyPages        = 2000
	pagesPerSecond   = 100
)

func newPace() pace {
	return pace{
		false: flowcontrol.NewTokenBucketRateLimiter(answersPerSecond, manyAnswers),
		true:  flowcontrol.NewTokenBucketRateLimiter(pagesPerSecond, manyPages),
	}
}
