package places

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// town is a vCenter with places of each kind: one at the top of the kind's folder, one in a folder below, and two of one name.
type town struct {
	*vcenter.Owner
	session *session.Session
	places  *Places
	finder  *find.Finder
	refs    map[string]types.ManagedObjectReference // of each kind's place at the top
}

// lookup is how govmomi's Finder finds the places of a kind, which Cluster API Provider vSphere calls for its own fields
// (v1.16.1, pkg/services/govmomi/vcenter/clone.go: FolderOrDefault, ResourcePoolOrDefault, Datastore, Network;
// template/template.go: VirtualMachine).
type lookup struct {
	field string
	set   func(*infrav1.VSphereVM, string)
	find  func(context.Context, *find.Finder, string) (object.Reference, error)
	// base is the kind's folder in the datacenter, top a place in it, in a container below it, deep a place in that, and pattern
	// matches deep alone.
	base, top, in, deep, pattern string
	more                         []string // forms of this kind alone
}

var lookups = []lookup{
	{
		field: Folder, set: func(s *infrav1.VSphereVM, name string) { s.Folder = name },
		find: func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
			return f.Folder(ctx, name)
		},
		base: "vm", top: "top", in: "team-a", deep: "nodes", pattern: "nod*",
		more: []string{"host", "host/racks", "*/team-a", "v?/team-a/nodes", "datastore/fast", "network"},
	},
	{
		field: ResourcePool, set: func(s *infrav1.VSphereVM, name string) { s.ResourcePool = name },
		find: func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
			return f.ResourcePool(ctx, name)
		},
		base: "host", top: "DC0_C0/Resources", in: "racks/DC0_C1/Resources", deep: "DC0_C1_RP1", pattern: "DC0_C1_R*",
		more: []string{
			"Resources", "*/Resources", "DC0_C*/Resources", "*/*/Resources", "DC0_C0", "DC0_C0/", "./DC0_C0", "/DC0/host/DC0_C0",
			"racks/DC0_C1", "/DC0/host/racks", "/DC0/host/*", "DC0_C0/Resources/DC0_C0_APP0", "DC0_C0_APP0", "*RP1",
		},
	},
	{
		field: Datastore, set: func(s *infrav1.VSphereVM, name string) { s.Datastore = name },
		find: func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
			return f.Datastore(ctx, name)
		},
		base: "datastore", top: "LocalDS_0", in: "fast", deep: "nvme", pattern: "nv*",
		more: []string{"DC0_POD0", "DC0_POD0/podded", "podded", "LocalDS_*", "/DC0/datastore/DC0_POD0/podded"},
	},
	{
		field: Template, set: func(s *infrav1.VSphereVM, name string) { s.Image.Template = name },
		find: func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
			return f.VirtualMachine(ctx, name)
		},
		base: "vm", top: "windows-2019", in: "team-a", deep: "windows-2025", pattern: "windows-202[5-9]",
		more: []string{"windows-*", "windows", vcenter.Folder + "/*-v1.36.3", "*/windows-2025", "DC0_C0_APP0/*"},
	},
	{
		field: networkField(0), set: func(s *infrav1.VSphereVM, name string) { s.NetworkInterfaces = networks(name) },
		find: func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
			return f.Network(ctx, name)
		},
		base: "network", top: "VM Network", in: "zone", deep: "DC0_DVPG1", pattern: "*_DVPG1",
		more: []string{
			"DVS0/DC0_DVPG0", "DVS*/DC0_DVPG0", "DVS0/DC0_*", "DVS0/no", "DVS1/DC0_DVPG1", "zone/DVS1/DC0_DVPG1",
			"DVS1", "/DC0/network/zone/DVS1/DC0_DVPG1", "no/DC0_DVPG0",
			"/DC0/network/DVS0/DC0_DVPG0",
			"/DC0/host/DC0_C0/DC0_DVPG0", "DC0_DVPG?", "DC0_NSX*", "DC0_NSX0", segmentID,
		},
	},
}

// segmentID is NSX's own name of the port group at the top.
const segmentID = "/infra/segments/vnet_ce50e69b-1784-4a14-9206-ffd7f1f146f7"

// forms are those that are tried for each kind.
func (l lookup) forms(t town) (all []string) {
	ref := t.refs[l.field]
	for _, form := range []string{
		"TOP", "DEEP", "same", "nowhere", "BASE", "IN", "PATTERN", "*", "s*", "DE[",
		"IN/DEEP", "./IN/DEEP", "IN/DEEP/", "IN/./DEEP", "IN/../IN/DEEP", "IN/PATTERN", "IN/*", "IN/...", "*/DEEP",
		"IN/nowhere", "IN/DE[",
		"BASE/TOP", "./TOP", "TOP/", "BASE/IN/DEEP", "./BASE/IN/DEEP", "BASE/IN/PATTERN", "BASE/*/DEEP",
		"/DC0/BASE/TOP", "/DC0/BASE/IN/DEEP", "/DC0//BASE/IN/DEEP", "/*/BASE/IN/DEEP", "/DC0/*/IN/DEEP", "/DC0/BASE/IN/PATTERN",
		"/DC0/BASE", "/DC0/BASE/nowhere", "/DC1/BASE/TOP", "DC0/BASE/IN/DEEP", "/BASE/IN/DEEP", "/DC0/BASE/*", "/DC0", "/",
		"..", "../BASE/TOP",
		ref.Value, ref.String(), "Datacenter:" + t.refs["datacenter"].Value, "HostSystem:host-0", "vm-x",
	} {
		all = append(all, strings.NewReplacer("BASE", l.base, "TOP", l.top, "IN", l.in, "DEEP", l.deep, "PATTERN", l.pattern,
			"DE[", l.deep[:2]+"[").Replace(form))
	}
	return append(all, l.more...)
}

func newTown(t *testing.T) town {
	t.Helper()
	v := vcenter.New(t, func(m *simulator.Model) {
		m.App, m.Pod, m.Datastore, m.PortgroupNSX, m.OpaqueNetwork = 1, 1, 3, 1, 1
	})
	s := open(t, v)
	w := town{Owner: v.Owner(t), session: s, places: In(s), refs: map[string]types.ManagedObjectReference{}}
	w.finder = find.NewFinder(w.Client, false)
	dc := expect.Got(w.finder.Datacenter(t.Context(), vcenter.Datacenter))(t)
	w.finder.SetDatacenter(dc)
	w.refs[Datacenter] = dc.Reference()
	w.buildFolders(t)
	w.buildPools(t)
	w.buildStores(t)
	w.buildSwitch(t)
	w.Update(w.Network(distributed, "DC0_NSXPG0"), types.PropertyChange{Name: "config.segmentId", Val: segmentID})
	for _, l := range lookups {
		w.refs[l.field] = expect.Got(l.find(t.Context(), w.finder, "/DC0/"+l.base+"/"+l.top))(t).Reference()
	}
	return w
}

func (w town) folder(t *testing.T, parent, name string) types.ManagedObjectReference {
	t.Helper()
	return expect.Got(expect.Got(w.finder.Folder(t.Context(), parent))(t).CreateFolder(t.Context(), name))(t).Reference()
}

// buildFolders makes folders for VMs, with templates.
func (w town) buildFolders(t *testing.T) {
	t.Helper()
	w.folder(t, "/DC0/vm", "top")
	w.folder(t, "/DC0/vm", "team-a")
	w.folder(t, "/DC0/vm", "team-b")
	w.folder(t, "/DC0/vm/team-a", "nodes")
	w.folder(t, "/DC0/vm/team-a", "same")
	w.folder(t, "/DC0/vm/team-b", "same")
	names := []string{"windows-2019", "windows-2025", "same", "also"}
	w.Copy("DC0_C0_APP0_VM0", len(names), func(n int, vm *mo.VirtualMachine) { vm.Name = names[n] })
	for name, into := range map[string]string{"windows-2025": "team-a", "same": "team-a", "also": "team-b"} {
		w.Move(w.VM(name).Reference(), expect.Got(w.finder.Folder(t.Context(), "vm/"+into))(t).Reference())
	}
	w.Call(w.VM("also").Reference(), "same")
}

// buildPools makes a cluster in a folder, and pools.
func (w town) buildPools(t *testing.T) {
	t.Helper()
	racks := object.NewFolder(w.Client, w.folder(t, "/DC0/host", "racks"))
	expect.Got(racks.CreateCluster(t.Context(), "DC0_C1", types.ClusterConfigSpecEx{}))(t)
	for cluster, names := range map[string][]string{"DC0_C0": {"same"}, "racks/DC0_C1": {"same", "DC0_C1_RP1"}} {
		root := expect.Got(w.finder.ResourcePool(t.Context(), cluster+"/Resources"))(t)
		for _, name := range names {
			expect.Got(root.Create(t.Context(), name, types.DefaultResourceConfigSpec()))(t)
		}
	}
}

// buildSwitch makes a distributed switch in a folder, and a port group there.
func (w town) buildSwitch(t *testing.T) {
	t.Helper()
	zone := object.NewFolder(w.Client, w.folder(t, "/DC0/network", "zone"))
	made := expect.Got(zone.CreateDVS(t.Context(), types.DVSCreateSpec{ConfigSpec: &types.DVSConfigSpec{Name: "DVS1"}}))(t)
	found := expect.Got(made.WaitForResult(t.Context()))(t).Result.(types.ManagedObjectReference)
	added := expect.Got(object.NewDistributedVirtualSwitch(w.Client, found).AddPortgroup(t.Context(),
		[]types.DVPortgroupConfigSpec{{Name: "DC0_DVPG1", NumPorts: 1}}))(t)
	expect.OK(t, added.Wait(t.Context()))
}

// buildStores puts a datastore into a folder, and one into a datastore cluster.
func (w town) buildStores(t *testing.T) {
	t.Helper()
	for name, into := range map[string]types.ManagedObjectReference{
		"LocalDS_1": w.folder(t, "/DC0/datastore", "fast"),
		"LocalDS_2": expect.Got(w.finder.DatastoreCluster(t.Context(), "DC0_POD0"))(t).Reference(),
	} {
		store := expect.Got(w.finder.Datastore(t.Context(), name))(t).Reference()
		w.Move(store, into)
		w.Call(store, map[string]string{"LocalDS_1": "nvme", "LocalDS_2": "podded"}[name])
	}
}

// ours is what the place of a field means to us, and whether a VM would be made there.
func (w town) ours(t *testing.T, l lookup, name string) (types.ManagedObjectReference, error) {
	t.Helper()
	spec := good()
	l.set(&spec, name)
	_, sites := w.places.Survey(t.Context(), spec)
	at := slices.IndexFunc(sites, func(s Site) bool { return s.Field == l.field })
	if _, err := w.places.Find(t.Context(), spec); (err == nil) != (sites[at].Err == nil) {
		t.Errorf("%s %q: a VM is made with %v, and a check finds %v", l.field, name, err, sites[at].Err)
	}
	if err := Refuse(spec); err != nil && sites[at].Err == nil {
		t.Errorf("%s %q: refused without a vCenter, which has it: %v", l.field, name, err)
	}
	return sites[at].Ref, sites[at].Err
}

// otherwise are the names that the Finder finds and we do not, each with the reason.
var otherwise = map[string]string{
	"networkInterfaces[0].network DVS1": "a switch is no network: an adapter would get a port in no port group",
}

// TestNamesOfCAPV: the flavors hand one value to Cluster API Provider vSphere, which finds it with govmomi's Finder, and to us.
// It leads both to the same place, or neither.
func TestNamesOfCAPV(t *testing.T) {
	w := newTown(t)
	var table strings.Builder
	for _, l := range lookups {
		tried, found := 0, 0
		for _, name := range l.forms(w) {
			var theirs types.ManagedObjectReference
			one, refused := l.find(t.Context(), w.finder, name)
			if refused == nil {
				theirs = one.Reference()
			}
			ref, err := w.ours(t, l, name)
			if reason := otherwise[l.field+" "+name]; ref != theirs && (reason == "" || err == nil) {
				t.Errorf("%s %q: the Finder finds %v (%v), and we %v (%v)", l.field, name, theirs, refused, ref, err)
			}
			if tried++; refused == nil {
				found++
			}
			fmt.Fprintf(&table, "%-28s %-66q %-40v %v\n", l.field, name, theirs, ref)
		}
		fmt.Fprintf(&table, "%-28s %d forms, of which the Finder takes %d\n", l.field, tried, found)
		if tried < 30 || found < 10 {
			t.Errorf("%s: %d forms are tried, and the Finder takes %d", l.field, tried, found)
		}
	}
	t.Log("\n" + table.String())
}

// TestNamesSayTheForms: who wrote a name that leads nowhere reads what to write.
func TestNamesSayTheForms(t *testing.T) {
	w := newTown(t)
	for _, l := range lookups {
		for _, name := range []string{"nowhere", "../x", l.in + "/nowhere", "x["} {
			_, err := w.ours(t, l, name)
			expect.Says(t, l.field, err, "write "+nameable[kindOf(l.field)].forms)
		}
	}
}

// TestFolderOfAFormerRelease: a path from the folder vm was taken once. The VM of such a machine is found, and no new one is
// made.
func TestFolderOfAFormerRelease(t *testing.T) {
	w := newTown(t)
	spec := good()
	for name, want := range map[string]string{"team-a/nodes": "vm/team-a/nodes", "top/": "vm/top"} {
		spec.Folder = name
		found := expect.Got(w.places.FindFolder(t.Context(), spec))(t)
		expect.Same(t, name, expect.Got(w.finder.Folder(t.Context(), want))(t).Reference(), found)
		expect.Says(t, name, expect.ErrorOf(w.places.Find(t.Context(), spec)), "a path from the datacenter such as vm/team-a/nodes")
		expect.Says(t, name, Refuse(spec), "a path from the datacenter such as vm/team-a/nodes")
	}
}

// TestWildcardsAreBounded: what a wildcard may cost the vCenter.
func TestWildcardsAreBounded(t *testing.T) {
	w := newTown(t)
	for n := range mostListings + 1 {
		w.folder(t, "/DC0/datastore/fast", fmt.Sprint("f", n))
	}
	spec := good()
	spec.Datastore = "fast/f*/nvme"
	w.Count()
	_, err := w.places.Find(t.Context(), spec)
	expect.Says(t, "Find", err, "matches more than 64 folders: write a name, a path from")
	if made := w.Count()["RetrievePropertiesEx"]; made < mostListings || made > mostListings+4 {
		t.Errorf("%d listings, want at most %d", made, mostListings)
	}
}
