package vsphere

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// A machine without its part of the spec names no folder.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	var f folders
	f.note(nil)
	all, _ := f.list()
	expect.Same(t, "folders", 0, len(all))
}

// The watch of folders begins again for another reason than its own end.
func TestUntilMore(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	ctx, end := (&watcher{folderAdded: more}).untilMore(t.Context())
	defer end()
	close(more)
	<-ctx.Done()
	expect.Same(t, "why it ends", true, errors.Is(context.Cause(ctx), errMoreFolders))
}

// unheard is a vCenter that answers each call with an error.
type unheard struct{ err error }

// RoundTrip implements soap.RoundTripper.
func (u unheard) RoundTrip(context.Context, soap.HasFault, soap.HasFault) error { return u.err }

// The watch follows folders where the account may not see the whole vCenter, and for no other reason.
func TestMayNotSeeAll(t *testing.T) {
	t.Parallel()
	refusal := func(fault types.AnyType) error {
		body := &soap.Fault{}
		body.Detail.Fault = fault
		return soap.WrapSoapFault(body)
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no right":   {refusal(types.NoPermission{}), true},
		"no session": {refusal(types.NotAuthenticated{}), false},
		"no answer":  {io.ErrUnexpectedEOF, false},
	} {
		var manager types.ManagedObjectReference
		w := &watcher{client: &vim25.Client{RoundTripper: unheard{c.err}, ServiceContent: types.ServiceContent{ViewManager: &manager}}}
		expect.Same(t, name+": an error", true, w.addView(t.Context(), manager) != nil)
		expect.Same(t, name+": may not see all", c.want, w.refused)
	}
}

// Without a folder the watch waits for one, or for its end, and says why it has none.
func TestFirstFolder(t *testing.T) {
	t.Parallel()
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
		return a.folders.added, a.folders.added != nil
	})
	a.folders.note(&infrav1.VSphereVM{Datacenter: vcenter.Datacenter, Folder: vcenter.Folder})
	expect.OK(t, <-added)
	expect.Same(t, "views", 1, len(w.views))

	b := lateConnect(t, with(v.Credentials(), "username", vcenter.Limited))
	b.folders.note(&infrav1.VSphereVM{Datacenter: vcenter.Datacenter, Folder: "no-such-folder"})
	expect.Same(t, "no folder that is there", true, errors.Is(b.addFolders(t.Context(), &watcher{}, why), why))
}
