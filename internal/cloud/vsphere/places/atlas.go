package places

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// nameable says what each field of a spec can name: the folder of the datacenter in which names and relative paths begin, the
// kinds that it can be of, and the reason if it is not found.
var nameable = map[string]struct {
	folder string
	kinds  []string
	reason string
}{
	"datacenter":     {"", []string{"Datacenter"}, infrav1.PlacementNotFoundReason},
	"image.template": {"vm", []string{"VirtualMachine"}, infrav1.TemplateNotFoundReason},
	"folder":         {"vm", []string{"Folder"}, infrav1.PlacementNotFoundReason},
	"resourcePool":   {"host", []string{"ResourcePool", "VirtualApp"}, infrav1.PlacementNotFoundReason},
	"datastore":      {"datastore", []string{"Datastore"}, infrav1.PlacementNotFoundReason},
	"networkInterfaces": {
		"network", []string{"Network", "DistributedVirtualPortgroup", "OpaqueNetwork"}, infrav1.PlacementNotFoundReason,
	},
}

// maxPath is how much of a path is shown: the vCenter tells it.
const maxPath = 256

// atlas finds the places of one datacenter.
type atlas struct {
	client     *vim25.Client
	datacenter types.ManagedObjectReference
	path       string
}

func atlasOf(ctx context.Context, c *vim25.Client, datacenter string) (atlas, error) {
	root := atlas{client: c, datacenter: c.ServiceContent.RootFolder}
	ref, err := root.find(ctx, "datacenter", datacenter)
	if err != nil {
		return atlas{}, err
	}
	path, err := find.InventoryPath(ctx, c, ref)
	return atlas{client: c, datacenter: ref, path: path}, err
}

// locate finds all places that a spec names.
func locate(ctx context.Context, c *vim25.Client, spec infrav1.VSphereVM) (at Placement, err error) {
	a, err := atlasOf(ctx, c, spec.Datacenter)
	if err != nil {
		return at, err
	}
	if at.Template, err = a.find(ctx, "image.template", spec.Image.Template); err != nil {
		return at, err
	}
	if at.Folder, err = a.folder(ctx, spec); err != nil {
		return at, err
	}
	if at.Pool, err = a.pool(ctx, spec.ResourcePool); err != nil {
		return at, err
	}
	if spec.Datastore != "" {
		store, err := a.find(ctx, "datastore", spec.Datastore)
		if err != nil {
			return at, err
		}
		at.Datastore = &store
	}
	if len(spec.NetworkInterfaces) > 0 {
		err = a.adapters(ctx, &at, spec.NetworkInterfaces)
	}
	return at, err
}

func (a atlas) folder(ctx context.Context, spec infrav1.VSphereVM) (types.ManagedObjectReference, error) {
	return a.find(ctx, "folder", cmp.Or(spec.Folder, a.path+"/vm"))
}

// pool finds the pool of that name. Without a name it is the root pool of the only cluster or host.
func (a atlas) pool(ctx context.Context, name string) (types.ManagedObjectReference, error) {
	if name != "" {
		return a.find(ctx, "resourcePool", name)
	}
	all, err := a.all(ctx, []string{"ComputeResource"}, "ComputeResource", "resourcePool")
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	var pools []types.ManagedObjectReference
	for _, p := range all {
		if pool, ok := p["resourcePool"].(types.ManagedObjectReference); ok {
			pools = append(pools, pool)
		}
	}
	if len(pools) != 1 {
		return types.ManagedObjectReference{}, cloud.Errorf(cloud.Invalid, infrav1.PlacementNotFoundReason,
			"the vCenter account sees %d clusters and hosts in datacenter %q: choose the pool in spec.vsphere.resourcePool, "+
				"such as /dc/host/cluster/Resources", len(pools), cloud.Clean(a.path, maxPath))
	}
	return pools[0], nil
}

// adapters finds what the VM's adapters connect to, and the adapters of the template.
func (a atlas) adapters(ctx context.Context, at *Placement, interfaces []infrav1.VSphereNetworkInterface) error {
	for i, one := range interfaces {
		field := fmt.Sprintf("networkInterfaces[%d].network", i)
		ref, err := a.find(ctx, field, one.Network)
		if err != nil {
			return err
		}
		network, ok := object.NewReference(a.client, ref).(object.NetworkReference)
		if !ok {
			return a.missing(field, one.Network)
		}
		backing, err := network.EthernetCardBackingInfo(ctx)
		if err != nil {
			return err
		}
		at.Networks = append(at.Networks, backing)
	}
	devices, err := object.NewVirtualMachine(a.client, at.Template).Device(ctx)
	for _, device := range devices {
		if adapter, ok := device.(Adapter); ok {
			at.Adapters = append(at.Adapters, adapter)
		}
	}
	return err
}

// find looks for what a field names: by path and then, if it is a name without a path, everywhere in the datacenter. Names
// are not patterns.
func (a atlas) find(ctx context.Context, field, name string) (types.ManagedObjectReference, error) {
	can, path := nameable[kindOf(field)], name
	if !strings.HasPrefix(path, "/") {
		path = strings.TrimPrefix(a.path+"/"+can.folder+"/"+path, "//")
	}
	found, err := methods.FindByInventoryPath(ctx, a.client, &types.FindByInventoryPath{
		This: *a.client.ServiceContent.SearchIndex, InventoryPath: path,
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	if ref := found.Returnval; ref != nil && slices.Contains(can.kinds, ref.Type) {
		return *ref, nil
	}
	if strings.Contains(name, "/") {
		return types.ManagedObjectReference{}, a.missing(field, name)
	}
	return a.search(ctx, field, name)
}

func (a atlas) search(ctx context.Context, field, name string) (types.ManagedObjectReference, error) {
	can := nameable[kindOf(field)]
	all, err := a.all(ctx, can.kinds, "ManagedEntity", "name")
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	var found []types.ManagedObjectReference
	for ref, properties := range all {
		if properties["name"] == name {
			found = append(found, ref)
		}
	}
	switch len(found) {
	case 0:
		return types.ManagedObjectReference{}, a.missing(field, name)
	case 1:
		return found[0], nil
	}
	return types.ManagedObjectReference{}, cloud.Errorf(cloud.Invalid, can.reason,
		"spec.vsphere.%s %q matches %d objects: use the inventory path of one of them", field, name, len(found))
}

func (a atlas) missing(field, name string) error {
	where := "the vCenter"
	if a.path != "" {
		where = "datacenter " + cloud.Clean(a.path, maxPath)
	}
	return cloud.Errorf(cloud.Invalid, nameable[kindOf(field)].reason,
		"spec.vsphere.%s %q is not in %s, or the vCenter account may not see it: use the name or inventory path of one that is there",
		field, name, where)
}

// kindOf returns the field without the number of the adapter.
func kindOf(field string) string {
	kind, _, _ := strings.Cut(field, "[")
	return kind
}

// all reads a property of all objects of some kinds in the datacenter. base is the type that all these kinds extend.
func (a atlas) all(ctx context.Context, kinds []string, base, property string) (session.Objects, error) {
	v, err := view.NewManager(a.client).CreateContainerView(ctx, a.datacenter, kinds, true)
	if err != nil {
		return nil, err
	}
	found, err := session.Read(ctx, a.client, session.Source{Object: v.Reference(), Via: "view"}, base, property)
	_ = v.Destroy(ctx) // it goes with the session at the latest
	return found, err
}
