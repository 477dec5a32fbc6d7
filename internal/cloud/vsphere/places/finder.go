package places

import (
	"context"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// listed are the places of a field's kind on a path.
func listed(ctx context.Context, f *find.Finder, field, path string) ([]types.ManagedObjectReference, error) {
	switch kindOf(field) {
	case Datacenter:
		return references(f.DatacenterList(ctx, path))
	case Template:
		return references(f.VirtualMachineList(ctx, path))
	case Folder:
		return references(f.FolderList(ctx, path))
	case ResourcePool:
		return references(f.ResourcePoolList(ctx, path))
	case Datastore:
		return references(f.DatastoreList(ctx, path))
	}
	return references(f.NetworkList(ctx, path))
}

func references[T object.Reference](found []T, err error) (refs []types.ManagedObjectReference, _ error) {
	for _, entity := range found {
		refs = append(refs, entity.Reference())
	}
	return refs, err
}

// list are the places on a path, as govmomi's Finder sees it. It lists each folder on the way, and each that a wildcard matches.
func (a atlas) list(ctx context.Context, field, path string) ([]types.ManagedObjectReference, error) {
	client, calls := *a.client, &listing{via: a.client.RoundTripper}
	client.RoundTripper = calls
	finder := find.NewFinder(&client, false)
	if a.path != "" {
		datacenter := object.NewDatacenter(&client, a.ref)
		datacenter.InventoryPath = a.path
		finder.SetDatacenter(datacenter)
	}
	found, err := listed(ctx, finder, field, path)
	switch {
	case calls.made > mostListings:
		return nil, cloud.Errorf(cloud.Invalid, nameable[kindOf(field)].reason,
			"spec.vsphere.%s %q matches more than %d folders: write %s", field, path, mostListings, nameable[kindOf(field)].forms)
	case calls.failed != nil:
		return nil, calls.failed
	case err != nil: // the Finder's own: not found, a wildcard on what has nothing in it, a wrong pattern
		return nil, nil //nolint:nilerr // because it finds nothing then, and the caller has a message of its own
	}
	return found, nil
}

// mostListings bounds what a path costs the vCenter.
const mostListings = 64

// listing counts the calls of a Finder, and keeps why one failed: the Finder's errors do not show whether a call did.
type listing struct {
	via    soap.RoundTripper
	made   int
	failed error
}

// RoundTrip makes a call.
func (l *listing) RoundTrip(ctx context.Context, request, response soap.HasFault) error {
	if l.made++; l.made > mostListings {
		return context.Canceled
	}
	err := l.via.RoundTrip(ctx, request, response)
	if err != nil && !unseen(err) {
		l.failed = err
	}
	return err
}

// unseen reports whether an object does not exist, or not for the account; or the vCenter is older than a property of NSX.
func unseen(err error) bool {
	return session.Hidden(err) || session.Is[*types.ManagedObjectNotFound](err) || session.Is[*types.InvalidProperty](err)
}
