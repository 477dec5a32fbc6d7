package vsphere

import (
	"context"
	"errors"
	"testing"

	"github.com/vmware/govmomi/vim25"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// A machine without its part of the spec names no folder.
func TestNoFolder(t *testing.T) {
	var f folders
	f.note(nil)
	all, _ := f.all()
	expect.Same(t, "folders", 0, len(all))
}

// The watch of folders begins again for another reason than its own end.
func TestUntilMore(t *testing.T) {
	more := make(chan struct{})
	ctx, end := (&watcher{more: more}).untilMore(t.Context())
	defer end()
	close(more)
	<-ctx.Done()
	expect.Same(t, "why it ends", true, errors.Is(context.Cause(ctx), errMoreFolders))
}

// Without a folder the watch waits for one, or for its end, and says why it has none.
func TestFirstFolder(t *testing.T) {
	v := newStage(t)
	a := lateConnect(t, with(v.Credentials(), "username", vcenter.Limited))
	why := errors.New("the root may not be seen")
	over, end := context.WithCancel(t.Context())
	end()
	expect.Same(t, "the end", true, errors.Is(a.addFolders(over, &watcher{}, why), why))

	a = lateConnect(t, with(v.Credentials(), "username", vcenter.Limited))
	w := expect.Got(session.Do(t.Context(), a.session, func(_ context.Context, c *vim25.Client) (*watcher, error) {
		return &watcher{client: c, collector: c.ServiceContent.PropertyCollector}, nil
	}))(t)
	added := make(chan error, 1)
	go func() { added <- a.addFolders(t.Context(), w, why) }()
	wait.Until(t, "the wait for a folder", func() (any, bool) {
		a.folders.mu.Lock()
		defer a.folders.mu.Unlock()
		return a.folders.more, a.folders.more != nil
	})
	a.folders.note(&infrav1.VSphereVM{Datacenter: vcenter.Datacenter, Folder: vcenter.Folder})
	expect.OK(t, <-added)
	expect.Same(t, "views", 1, len(w.views))

	b := lateConnect(t, with(v.Credentials(), "username", vcenter.Limited))
	b.folders.note(&infrav1.VSphereVM{Datacenter: vcenter.Datacenter, Folder: "no-such-folder"})
	expect.Same(t, "no folder that is there", true, errors.Is(b.addFolders(t.Context(), &watcher{}, why), why))
}
