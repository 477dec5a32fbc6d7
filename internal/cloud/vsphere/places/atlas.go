package places

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/find"
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
	"datacenter":        {"", []string{"Datacenter"}, infrav1.PlacementNotFoundReason},
	"image.template":    {"vm", []string{"VirtualMachine"}, infrav1.TemplateNotFoundReason},
	"folder":            {"vm", []string{"Folder"}, infrav1.PlacementNotFoundReason},
	"resourcePool":      {"host", []string{"ResourcePool", "VirtualApp"}, infrav1.PlacementNotFoundReason},
	"datastore":         {"datastore", []string{"Datastore"}, infrav1.PlacementNotFoundReason},
	"networkInterfaces": {"network", networkKinds, infrav1.PlacementNotFoundReason},
}

// Bounds of what is shown: the vCenter tells a path, and there may be many objects of one name.
const (
	maxPath  = 256
	maxShown = 3
)

// datacenter is one that was found, and its inventory path.
type datacenter struct {
	ref  types.ManagedObjectReference
	path string
}

func findDatacenter(ctx context.Context, c *vim25.Client, name string) (datacenter, error) {
	root, path := atlas{c, datacenter{ref: c.ServiceContent.RootFolder}}, "/"+strings.Trim(name, "/")
	ref, err := root.byPath(ctx, "datacenter", path)
	switch {
	case err != nil:
		return datacenter{}, err
	case ref != nil:
		return datacenter{*ref, path}, nil
	case strings.Contains(name, "/"):
		return datacenter{}, root.missing("datacenter", name)
	}
	found, err := root.search(ctx, "datacenter", name)
	if err != nil {
		return datacenter{}, err
	}
	path, err = find.InventoryPath(ctx, c, found)
	return datacenter{found, path}, err
}

// atlas finds the places of one datacenter.
type atlas struct {
	client *vim25.Client
	datacenter
}

// locate finds all places that a spec names, but the folder.
func (a atlas) locate(ctx context.Context, spec infrav1.VSphereVM, at *Placement) (err error) {
	if at.Template, err = a.find(ctx, "image.template", spec.Image.Template); err != nil {
		return err
	}
	if at.Pool, err = a.pool(ctx, spec.ResourcePool); err != nil {
		return err
	}
	if spec.Datastore != "" {
		store, err := a.find(ctx, "datastore", spec.Datastore)
		if err != nil {
			return err
		}
		at.Datastore = &store
	}
	if len(spec.NetworkInterfaces) > 0 {
		if at.Networks, err = a.networks(ctx, at.Pool, spec.NetworkInterfaces); err != nil {
			return err
		}
	}
	return a.hardware(ctx, at)
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

// hardware reads what a VM gets from the template and may have to be changed.
func (a atlas) hardware(ctx context.Context, at *Placement) error {
	from := session.Source{Object: at.Template}
	found, err := session.Read(ctx, a.client, from, "VirtualMachine", "config.hardware", "config.vAppConfig")
	if err != nil {
		return err
	}
	has, ok := found[at.Template]["config.hardware"].(types.VirtualHardware)
	if !ok {
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
			"the vCenter cannot read the template's hardware: bring the template's host and datastore back")
	}
	for _, device := range has.Device {
		if adapter, ok := device.(Adapter); ok {
			at.Adapters = append(at.Adapters, adapter)
		}
	}
	if found[at.Template]["config.vAppConfig"] != nil {
		at.VAppConfig = new(true)
	}
	if auto := has.AutoCoresPerSocket; has.NumCoresPerSocket != nil && (auto == nil || !*auto) {
		at.CoresPerSocket = *has.NumCoresPerSocket
	}
	return nil
}

// find looks for what a field names: by path and then, if it is a name without a path, everywhere in the datacenter. Names
// are not patterns.
func (a atlas) find(ctx context.Context, field, name string) (types.ManagedObjectReference, error) {
	ref, err := a.byPath(ctx, field, name)
	switch {
	case err != nil:
		return types.ManagedObjectReference{}, err
	case ref != nil:
		return *ref, nil
	case strings.Contains(name, "/"):
		return types.ManagedObjectReference{}, a.missing(field, name)
	}
	return a.search(ctx, field, name)
}

// byPath returns what a path leads to if it is of a kind that the field can name.
func (a atlas) byPath(ctx context.Context, field, path string) (*types.ManagedObjectReference, error) {
	can := nameable[kindOf(field)]
	if !strings.HasPrefix(path, "/") {
		path = strings.TrimPrefix(a.path+"/"+can.folder+"/"+path, "//")
	}
	found, err := methods.FindByInventoryPath(ctx, a.client, &types.FindByInventoryPath{
		This: *a.client.ServiceContent.SearchIndex, InventoryPath: path,
	})
	if err != nil || found.Returnval == nil || !slices.Contains(can.kinds, found.Returnval.Type) {
		return nil, err
	}
	return found.Returnval, nil
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
	paths, err := a.paths(ctx, found)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return types.ManagedObjectReference{}, ambiguous(field, name, "objects", paths)
}

// paths are the inventory paths of some objects. Only the first few are looked up, because each costs a call.
func (a atlas) paths(ctx context.Context, refs []types.ManagedObjectReference) ([]string, error) {
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int { return cmp.Compare(a.Value, b.Value) })
	paths := make([]string, len(refs))
	for i := range min(len(refs), maxShown) {
		path, err := find.InventoryPath(ctx, a.client, refs[i])
		if err != nil {
			return nil, err
		}
		paths[i] = path
	}
	return paths, nil
}

// ambiguous says what to write instead of a name that several objects have.
func ambiguous(field, name, kind string, instead []string) error {
	shown := make([]string, 0, maxShown)
	for _, one := range instead[:min(len(instead), maxShown)] {
		shown = append(shown, cloud.Clean(one, maxPath))
	}
	return cloud.Errorf(cloud.Invalid, nameable[kindOf(field)].reason,
		"spec.vsphere.%s %q matches %d %s: write which one, such as %s", field, name, len(instead), kind, strings.Join(shown, " or "))
}

func (a atlas) missing(field, name string) error {
	where, spelling := "the vCenter", ""
	if a.path != "" {
		where = "datacenter " + cloud.Clean(a.path, maxPath)
	}
	if strings.ContainsAny(name, "%/") {
		spelling = "; a / within a name is written %2f and a % is written %25, as the vCenter stores them"
	}
	return cloud.Errorf(cloud.Invalid, nameable[kindOf(field)].reason,
		"spec.vsphere.%s %q is not in %s, or the vCenter account may not see it: use the name or inventory path of one that is there%s",
		field, name, where, spelling)
}

// kindOf returns the field without the number of the adapter.
func kindOf(field string) string {
	kind, _, _ := strings.Cut(field, "[")
	return kind
}

// all reads a property of all objects of some kinds in the datacenter. base is the type that all these kinds extend.
func (a atlas) all(ctx context.Context, kinds []string, base, property string) (found session.Objects, err error) {
	err = a.viewing(ctx, kinds, func(from session.Source) (err error) {
		found, err = session.Read(ctx, a.client, from, base, property)
		return err
	})
	return found, err
}

// viewing lets read see all objects of some kinds in the datacenter.
func (a atlas) viewing(ctx context.Context, kinds []string, read func(session.Source) error) error {
	v, err := view.NewManager(a.client).CreateContainerView(ctx, a.ref, kinds, true)
	if err != nil {
		return err
	}
	err = read(session.Source{Object: v.Reference(), Via: "view"})
	_ = v.Destroy(ctx) // it goes with the session at the latest
	return err
}
