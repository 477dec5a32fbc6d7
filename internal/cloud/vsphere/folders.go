package vsphere

import (
	"context"
	"errors"
	"sync"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// maxFolders is how many folders an account that may not see the whole vCenter is watched in. Specs name folders, and a tenant
// may write any number of specs. The VMs in other folders are asked for.
const maxFolders = 64

// errMoreFolders is why the watch of folders begins again.
var errMoreFolders = errors.New("a machine has named another folder")

// folders are those that specs have named.
type folders struct {
	mu    sync.Mutex
	named map[[2]string]infrav1.VSphereVM
	more  chan struct{} // closed with the next one
}

// note notes the folder of a spec.
func (f *folders) note(spec *infrav1.VSphereVM) {
	if spec == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	at := [2]string{spec.Datacenter, spec.Folder}
	if _, known := f.named[at]; known || len(f.named) >= maxFolders {
		return
	}
	if f.named == nil {
		f.named = map[[2]string]infrav1.VSphereVM{}
	}
	f.named[at] = infrav1.VSphereVM{Datacenter: spec.Datacenter, Folder: spec.Folder}
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// all returns the folders, and what is closed with the next one.
func (f *folders) all() (all []infrav1.VSphereVM, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, spec := range f.named {
		all = append(all, spec)
	}
	if f.more == nil {
		f.more = make(chan struct{})
	}
	return all, f.more
}

// addFolders adds the VMs in the folders that specs have named, once there is one. It returns why it was called if the account
// may see none of them.
func (a *account) addFolders(ctx context.Context, w *watcher, why error) error {
	all, more := a.folders.all()
	for len(all) == 0 {
		select {
		case <-ctx.Done():
			return why
		case <-more:
			all, more = a.folders.all()
		}
	}
	w.more = more
	for _, spec := range all {
		at, err := a.places.FindFolder(ctx, spec)
		if err == nil {
			err = w.addView(ctx, at)
		}
		if a.session.Broken() {
			return err
		}
	}
	if len(w.views) == 0 {
		return why
	}
	return nil
}

// untilMore returns a context that ends when a machine names another folder than those that are watched.
func (w *watcher) untilMore(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	if w.more != nil {
		go func() {
			select {
			case <-w.more:
				end(errMoreFolders)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { end(nil) }
}
