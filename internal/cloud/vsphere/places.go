package vsphere

import (
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
)

// place is something that a spec names.
type place struct {
	field  string
	value  string
	folder string   // of the datacenter, that a name or relative path is looked for in
	kinds  []string // that it can be; the first one is for people
	reason string
}

func (p place) what() string {
	if strings.HasPrefix(p.field, "networks") {
		return "network"
	}
	return strings.ToLower(p.field)
}

// atlas finds the places of one datacenter.
type atlas struct {
	client     *vim25.Client
	datacenter types.ManagedObjectReference
	path       string
}

// locate finds all that a spec names.
func locate(ctx context.Context, c *vim25.Client, spec infrav1.VSphereVM) (placement, error) {
	a, err := open(ctx, c, spec.Datacenter)
	if err != nil {
		return placement{}, err
	}
	var at placement
	at.template, err = a.place(ctx, place{"template", spec.Template, "vm", []string{"VirtualMachine"}, infrav1.TemplateNotFoundReason})
	if err != nil {
		return placement{}, err
	}
	if at.folder, err = a.folder(ctx, spec.Folder); err != nil {
		return placement{}, err
	}
	if at.pool, err = a.pool(ctx, spec.ResourcePool); err != nil {
		return placement{}, err
	}
	if spec.Datastore != "" {
		store, err := a.place(ctx, place{"datastore", spec.Datastore, "datastore", []string{"Datastore"}, infrav1.PlacementNotFoundReason})
		if err != nil {
			return placement{}, err
		}
		at.datastore = &store
	}
	if len(spec.Networks) > 0 {
		at.adapters, at.networks, err = a.adapters(ctx, at.template, spec.Networks)
	}
	return at, err
}

// locateFolder finds where the VM of a spec is, whatever else of the spec is gone.
func locateFolder(ctx context.Context, c *vim25.Client, spec infrav1.VSphereVM) (types.ManagedObjectReference, error) {
	a, err := open(ctx, c, spec.Datacenter)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return a.folder(ctx, spec.Folder)
}

func open(ctx context.Context, c *vim25.Client, name string) (atlas, error) {
	root := atlas{client: c, datacenter: c.ServiceContent.RootFolder}
	ref, err := root.place(ctx, place{"datacenter", name, "", []string{"Datacenter"}, infrav1.PlacementNotFoundReason})
	if err != nil {
		return atlas{}, err
	}
	path, err := find.InventoryPath(ctx, c, ref)
	return atlas{client: c, datacenter: ref, path: path}, err
}

func (a atlas) folder(ctx context.Context, name string) (types.ManagedObjectReference, error) {
	if name == "" {
		name = a.path + "/vm"
	}
	return a.place(ctx, place{"folder", name, "vm", []string{"Folder"}, infrav1.PlacementNotFoundReason})
}

// pool is the one of that name or else, if there is just one cluster or host, its root pool.
func (a atlas) pool(ctx context.Context, name string) (types.ManagedObjectReference, error) {
	if name != "" {
		return a.place(ctx, place{"resourcePool", name, "host", []string{"ResourcePool", "VirtualApp"}, infrav1.PlacementNotFoundReason})
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
			"datacenter %q has %d clusters and hosts that the vCenter account may see: say in spec.vsphere.resourcePool which pool to use, "+
				"such as /dc/host/cluster/Resources", a.path, len(pools))
	}
	return pools[0], nil
}

// adapters are those of the template, and what the spec's networks are to an adapter.
func (a atlas) adapters(
	ctx context.Context, template types.ManagedObjectReference, wanted []infrav1.VSphereNetwork,
) ([]types.BaseVirtualDevice, []types.BaseVirtualDeviceBackingInfo, error) {
	var networks []types.BaseVirtualDeviceBackingInfo
	for i, one := range wanted {
		backing, err := a.network(ctx, i, one.Name)
		if err != nil {
			return nil, nil, err
		}
		networks = append(networks, backing)
	}
	devices, err := object.NewVirtualMachine(a.client, template).Device(ctx)
	if err != nil {
		return nil, nil, err
	}
	return devices.SelectByType((*types.VirtualEthernetCard)(nil)), networks, nil
}

// network is what an adapter must have to be on the spec's network number i.
func (a atlas) network(ctx context.Context, i int, name string) (types.BaseVirtualDeviceBackingInfo, error) {
	field := fmt.Sprintf("networks[%d].name", i)
	ref, err := a.place(ctx, place{
		field, name, "network",
		[]string{"Network", "DistributedVirtualPortgroup", "OpaqueNetwork"},
		infrav1.PlacementNotFoundReason,
	})
	if err != nil {
		return nil, err
	}
	network, ok := object.NewReference(a.client, ref).(object.NetworkReference)
	if !ok {
		return nil, cloud.Errorf(cloud.Invalid, infrav1.PlacementNotFoundReason, "spec.vsphere.%s %q is no network", field, name)
	}
	return network.EthernetCardBackingInfo(ctx)
}

// place looks for a place by path and then, if it is a name alone, everywhere in the datacenter. Names are compared as
// they are: they are no patterns.
func (a atlas) place(ctx context.Context, p place) (types.ManagedObjectReference, error) {
	path := p.value
	if !strings.HasPrefix(path, "/") {
		path = strings.TrimPrefix(a.path+"/"+p.folder+"/"+path, "//")
	}
	found, err := methods.FindByInventoryPath(ctx, a.client, &types.FindByInventoryPath{
		This: *a.client.ServiceContent.SearchIndex, InventoryPath: path,
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	if ref := found.Returnval; ref != nil && slices.Contains(p.kinds, ref.Type) {
		return *ref, nil
	}
	if !strings.Contains(p.value, "/") {
		return a.search(ctx, p)
	}
	return types.ManagedObjectReference{}, a.missing(p)
}

func (a atlas) search(ctx context.Context, p place) (types.ManagedObjectReference, error) {
	all, err := a.all(ctx, p.kinds, "ManagedEntity", "name")
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	var found []types.ManagedObjectReference
	for ref, properties := range all {
		if properties["name"] == p.value {
			found = append(found, ref)
		}
	}
	switch len(found) {
	case 0:
		return types.ManagedObjectReference{}, a.missing(p)
	case 1:
		return found[0], nil
	}
	return types.ManagedObjectReference{}, cloud.Errorf(cloud.Invalid, p.reason,
		"spec.vsphere.%s %q could be any of %d: write the inventory path of the one you mean", p.field, p.value, len(found))
}

func (a atlas) missing(p place) error {
	where := "the vCenter"
	if a.path != "" {
		where = "datacenter " + a.path
	}
	return cloud.Errorf(cloud.Invalid, p.reason,
		"spec.vsphere.%s %q is not in %s, or the vCenter account may not see it: write the name or inventory path of a %s that is there",
		p.field, p.value, where, p.what())
}

// all reads a property of everything of some kinds in the datacenter; base is a kind that all of them are.
func (a atlas) all(ctx context.Context, kinds []string, base, property string) (map[types.ManagedObjectReference]properties, error) {
	v, err := view.NewManager(a.client).CreateContainerView(ctx, a.datacenter, kinds, true)
	if err != nil {
		return nil, err
	}
	found, err := read(ctx, a.client, source{v.Reference(), "view"}, base, property)
	_ = v.Destroy(ctx) // it goes with the session at the latest
	return found, err
}
