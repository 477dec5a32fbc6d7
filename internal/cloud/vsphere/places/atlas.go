package places

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
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

// Bounds of what is shown: paths come from the vCenter, and there may be many objects of one name.
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
	if ref, err := root.byPath(ctx, Datacenter, path); ref != noRef || err != nil {
		return datacenter{ref, path}, err
	}
	found, err := root.find(ctx, Datacenter, name)
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
func (a atlas) locate(ctx context.Context, spec infrav1.VSphereVM, placement *Placement) (err error) {
	if placement.Template, err = a.find(ctx, Template, spec.Image.Template); err != nil {
		return err
	}
	if placement.Pool, err = a.pool(ctx, spec.ResourcePool); err != nil {
		return err
	}
	if spec.Datastore != "" {
		store, err := a.find(ctx, Datastore, spec.Datastore)
		if err != nil {
			return err
		}
		placement.Datastore = &store
	}
	if len(spec.NetworkInterfaces) > 0 {
		if placement.Networks, err = a.networks(ctx, placement.Pool, spec.NetworkInterfaces); err != nil {
			return err
		}
	}
	return a.hardware(ctx, placement)
}

// home is the folder of a spec's VM. A machine of a former release may have its VM in one that its spec names in a form that
// misleads other programs: no new VM is made there, and refused is the reason.
type home struct {
	ref     types.ManagedObjectReference
	refused error
}

// folder finds the folder of a spec's VM.
func (a atlas) folder(ctx context.Context, spec infrav1.VSphereVM) (home, error) {
	ref, err := a.find(ctx, Folder, cmp.Or(spec.Folder, a.path+"/vm"))
	if err == nil || !isMissing(err) || strings.HasPrefix(spec.Folder, "/") {
		return home{ref: ref}, err
	}
	former, unread := a.lookup(ctx, Folder, a.path+"/vm/"+spec.Folder)
	if former == noRef {
		return home{}, cmp.Or(unread, err)
	}
	return home{former, err}, nil
}

// isMissing reports whether a place was not found.
func isMissing(err error) bool {
	wrong, ok := errors.AsType[*cloud.Error](err)
	return ok && wrong.Kind == cloud.Invalid
}

// pool finds the pool of that name. Without a name it is the root pool of the only cluster or host.
func (a atlas) pool(ctx context.Context, name string) (types.ManagedObjectReference, error) {
	if name != "" {
		return a.find(ctx, ResourcePool, name)
	}
	return a.rootPool(ctx)
}

func (a atlas) rootPool(ctx context.Context) (types.ManagedObjectReference, error) {
	objects, err := a.readProperty(ctx, []string{"ComputeResource"}, "ComputeResource", "resourcePool", nil)
	if err != nil {
		return noRef, err
	}
	var pools []types.ManagedObjectReference
	for _, p := range objects {
		if pool, ok := p["resourcePool"].(types.ManagedObjectReference); ok {
			pools = append(pools, pool)
		}
	}
	if len(pools) != 1 {
		return noRef, cloud.Errorf(cloud.Invalid, infrav1.PlacementNotFoundReason,
			"the vCenter account sees %d clusters and hosts in datacenter %q: choose the pool in spec.vsphere.resourcePool, "+
				"such as /dc/host/cluster/Resources", len(pools), cloud.Clean(a.path, maxPath))
	}
	return pools[0], nil
}

// hardware reads what a VM gets from the template and may have to be changed.
func (a atlas) hardware(ctx context.Context, placement *Placement) error {
	source := session.Source{Object: placement.Template}
	found, err := session.Read(ctx, a.client, source, "VirtualMachine", "config.hardware", "config.vAppConfig")
	if err != nil {
		return err
	}
	hardware, ok := found[placement.Template]["config.hardware"].(types.VirtualHardware)
	if !ok {
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
			"the vCenter cannot read the template's hardware: bring the template's host and datastore back")
	}
	for _, device := range hardware.Device {
		if adapter, ok := device.(Adapter); ok {
			placement.Adapters = append(placement.Adapters, adapter)
		}
	}
	if found[placement.Template]["config.vAppConfig"] != nil {
		placement.VAppConfig = new(true)
	}
	if auto := hardware.AutoCoresPerSocket; hardware.NumCoresPerSocket != nil && (auto == nil || !*auto) {
		placement.CoresPerSocket = *hardware.NumCoresPerSocket
	}
	return nil
}

// noRef is the reference to no object.
var noRef types.ManagedObjectReference

// find looks for what a field names. It finds what govmomi's Finder does, at less cost, and nothing else: other programs find
// their places with it, and a name must lead all to the same. Of several places with one name, one at the top is the one that
// is meant.
func (a atlas) find(ctx context.Context, field, name string) (types.ManagedObjectReference, error) {
	if !isPattern(name) {
		if ref, err := a.byPath(ctx, field, name); ref != noRef || err != nil {
			return ref, err
		}
	}
	return a.onlyMatch(ctx, field, name)
}

// onlyMatch finds the one object that a name can mean if it leads to none directly.
func (a atlas) onlyMatch(ctx context.Context, field, name string) (types.ManagedObjectReference, error) {
	found, err := a.matching(ctx, field, name)
	switch {
	case err != nil:
		return noRef, err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return noRef, a.missing(field, name)
	}
	paths, err := a.paths(ctx, found)
	if err != nil {
		return noRef, err
	}
	return noRef, ambiguous(field, name, "objects", paths)
}

func (a atlas) matching(ctx context.Context, field, name string) ([]types.ManagedObjectReference, error) {
	if strings.Contains(name, "/") {
		return a.list(ctx, field, name)
	}
	if ref, err := a.byReference(ctx, field, name); ref != noRef || err != nil {
		return []types.ManagedObjectReference{ref}, err
	}
	return a.search(ctx, field, name)
}

// byPath returns what a name or path without wildcards leads to if it is of a kind that the field can name.
func (a atlas) byPath(ctx context.Context, field, name string) (types.ManagedObjectReference, error) {
	rule := nameable[kindOf(field)]
	folder := rule.folder
	if strings.Contains(name, "/") {
		folder = rule.paths
	}
	switch clean := path.Clean(name); {
	case strings.HasPrefix(clean, "."): // the Finder goes up nowhere, and to such names its own way
		return noRef, nil
	case strings.HasPrefix(clean, "/"):
		return a.lookup(ctx, field, clean)
	default:
		return a.lookup(ctx, field, path.Join("/", a.path, folder, clean))
	}
}

// lookup returns what an inventory path leads to if it is of a kind that the field can name.
func (a atlas) lookup(ctx context.Context, field, path string) (types.ManagedObjectReference, error) {
	found, err := methods.FindByInventoryPath(ctx, a.client, &types.FindByInventoryPath{
		This: *a.client.ServiceContent.SearchIndex, InventoryPath: strings.TrimPrefix(path, "/"),
	})
	if err != nil || found.Returnval == nil || !slices.Contains(nameable[kindOf(field)].kinds, found.Returnval.Type) {
		return noRef, err
	}
	return *found.Returnval, nil
}

// byReference returns the object that a name is the reference of, such as group-v12 or Folder:group-v12.
func (a atlas) byReference(ctx context.Context, field, name string) (types.ManagedObjectReference, error) {
	ref := object.ReferenceFromString(name)
	if ref == nil || !slices.Contains(nameable[kindOf(field)].kinds, ref.Type) {
		return noRef, nil
	}
	found, err := session.Read(ctx, a.client, session.Source{Object: *ref, Visible: true}, ref.Type, "name")
	if session.Is[*types.ManagedObjectNotFound](err) || err == nil && found[*ref] == nil {
		return noRef, nil
	}
	return *ref, err
}

// search looks for a name, in which wildcards may stand, everywhere in the datacenter.
func (a atlas) search(ctx context.Context, field, name string) (found []types.ManagedObjectReference, err error) {
	rule := nameable[kindOf(field)]
	matches := func(ref types.ManagedObjectReference, properties map[string]any) bool {
		actual, _ := properties["name"].(string)
		match, _ := path.Match(name, actual)
		return match && slices.Contains(rule.kinds, ref.Type)
	}
	objects, err := a.readProperty(ctx, rule.kinds, "ManagedEntity", "name", matches)
	return slices.Collect(maps.Keys(objects)), err
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

// ambiguous names what to write instead of a name that several objects have.
func ambiguous(field, name, kind string, choices []string) error {
	shown := make([]string, 0, maxShown)
	for _, choice := range choices[:min(len(choices), maxShown)] {
		shown = append(shown, cloud.Clean(choice, maxPath))
	}
	return cloud.Errorf(cloud.Invalid, nameable[kindOf(field)].reason,
		"spec.vsphere.%s %q matches %d %s: write which one, such as %s", field, name, len(choices), kind, strings.Join(shown, " or "))
}

func (a atlas) missing(field, name string) error {
	place, spelling := "the vCenter", ""
	if a.path != "" {
		place = "datacenter " + cloud.Clean(a.path, maxPath)
	}
	if strings.ContainsAny(name, "%/") {
		spelling += "; a / within a name is written %2f and a % is written %25, as the vCenter stores them"
	}
	if strings.ContainsAny(name, "[?") {
		spelling += `; a \ before a wildcard makes it a letter`
	}
	return cloud.Errorf(cloud.Invalid, nameable[kindOf(field)].reason,
		"spec.vsphere.%s %q is not in %s, or the vCenter account may not see it: write %s%s",
		field, name, place, nameable[kindOf(field)].forms, spelling)
}

// readProperty reads a property of the wanted objects of some kinds in the datacenter. base is the type that all these kinds
// extend.
func (a atlas) readProperty(
	ctx context.Context, kinds []string, base, property string, wanted func(types.ManagedObjectReference, map[string]any) bool,
) (found session.Objects, err error) {
	err = a.viewing(ctx, kinds, func(source session.Source) (err error) {
		source.Keep = wanted
		found, err = session.Read(ctx, a.client, source, base, property)
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
