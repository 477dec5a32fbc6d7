package vsphere

import (
	"errors"
	"slices"
	"sync"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// maxFolders limits the folders that are watched for an account that may not see the whole vCenter. Specs name folders, and a
// tenant may write any number of specs. VMs in other folders are looked up by calls.
const maxFolders = 64

// errMoreFolders is the reason why the watch of folders starts again.
var errMoreFolders = errors.New("a machine has named another folder")

// folders holds the folders that specs have named.
type folders struct {
	mu    sync.Mutex
	named []infrav1.VSphereVM
	added chan struct{} // closed when the next one is added
}

// note adds the folder of a spec.
func (f *folders) note(spec *infrav1.VSphereVM) {
	if spec == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	isIt := func(n infrav1.VSphereVM) bool { return n.Datacenter == spec.Datacenter && n.Folder == spec.Folder }
	if len(f.named) >= maxFolders || slices.ContainsFunc(f.named, isIt) {
		return
	}
	f.named = append(f.named, infrav1.VSphereVM{Datacenter: spec.Datacenter, Folder: spec.Folder})
	if f.added != nil {
		close(f.added)
		f.added = nil
	}
}

// list returns the folders, and a channel that is closed when the next one is added.
func (f *folders) list() (specs []infrav1.VSphereVM, added <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.added == nil {
		f.added = make(chan struct{})
	}
	return slices.Clone(f.named), f.added
}
