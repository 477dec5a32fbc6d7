package places

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/cache"
	clocktesting "k8s.io/utils/clock/testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

func open(t *testing.T, v *vcenter.VCenter) *session.Session {
	t.Helper()
	s := expect.Got(session.Open(v.Credentials()))(t)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// good is a spec of which the vCenter has everything.
func good() infrav1.VSphereVM {
	return infrav1.VSphereVM{
		Datacenter: vcenter.Datacenter, Image: infrav1.VSphereImage{Template: vcenter.Template},
		Folder: vcenter.Folder, ResourcePool: vcenter.ResourcePool,
	}
}

func TestPlaces(t *testing.T) {
	const notFound = infrav1.PlacementNotFoundReason
	v := vcenter.New(t, func(m *simulator.Model) { m.Host = 1 })
	places := In(open(t, v))
	ctx := t.Context()
	// Two folders of one name, and a deeper one.
	for _, path := range []string{"a", "a/same", "b", "b/same", "b/deep"} {
		parent, name := "/DC0/vm", path
		if i := strings.LastIndex(path, "/"); i > 0 {
			parent, name = parent+"/"+path[:i], path[i+1:]
		}
		f := expect.Got(find.NewFinder(v.Owner(t).Client).Folder(ctx, parent))(t)
		expect.Got(f.CreateFolder(ctx, name))(t)
	}
	for name, c := range map[string]struct {
		change func(*infrav1.VSphereVM)
		reason string // "" is fine
		says   string
	}{
		"all of it": {func(*infrav1.VSphereVM) {}, "", ""},
		"paths": {func(s *infrav1.VSphereVM) {
			s.Datacenter, s.Image.Template, s.Folder = "/DC0", "/DC0/vm/"+vcenter.Template, "/DC0/vm/b/deep"
		}, "", ""},
		"relative path":     {func(s *infrav1.VSphereVM) { s.Folder, s.ResourcePool = "vm/b/deep", "DC0_C0/Resources" }, "", ""},
		"a wildcard":        {func(s *infrav1.VSphereVM) { s.Image.Template = "windows-2022*" }, "", ""},
		"a name deep below": {func(s *infrav1.VSphereVM) { s.Folder = "deep" }, "", ""},
		"the datacenter's":  {func(s *infrav1.VSphereVM) { s.Folder = "" }, "", ""},
		"datastore":         {func(s *infrav1.VSphereVM) { s.Datastore = "LocalDS_0" }, "", ""},
		"network":           {func(s *infrav1.VSphereVM) { s.NetworkInterfaces = networks("VM Network") }, "", ""},
		"distributed port group": {
			func(s *infrav1.VSphereVM) { s.NetworkInterfaces = networks("VM Network", "/DC0/network/DC0_DVPG0") }, "", "",
		},
		"no datacenter": {
			func(s *infrav1.VSphereVM) { s.Datacenter = "DC9" }, notFound,
			`spec.vsphere.datacenter "DC9" is not in the vCenter`,
		},
		"no template": {
			func(s *infrav1.VSphereVM) { s.Image.Template = "windows" }, infrav1.TemplateNotFoundReason,
			`spec.vsphere.image.template "windows" is not in datacenter /DC0`,
		},
		"a path from the folder of VMs": {
			func(s *infrav1.VSphereVM) { s.Folder = "b/deep" }, notFound, "a path from the datacenter such as vm/team-a/nodes",
		},
		"a wildcard for several": {func(s *infrav1.VSphereVM) { s.Folder = "*" }, notFound, "matches "},
		"no folder":              {func(s *infrav1.VSphereVM) { s.Folder = "c" }, notFound, `spec.vsphere.folder "c"`},
		"two folders":            {func(s *infrav1.VSphereVM) { s.Folder = "same" }, notFound, "matches 2 objects"},
		"a template as folder":   {func(s *infrav1.VSphereVM) { s.Folder = vcenter.Template }, notFound, "spec.vsphere.folder"},
		"no pool":                {func(s *infrav1.VSphereVM) { s.ResourcePool = "x" }, notFound, "spec.vsphere.resourcePool"},
		"which pool":             {func(s *infrav1.VSphereVM) { s.ResourcePool = "" }, notFound, "2 clusters and hosts"},
		"no datastore":           {func(s *infrav1.VSphereVM) { s.Datastore = "x" }, notFound, "spec.vsphere.datastore"},
		"no network": {
			func(s *infrav1.VSphereVM) { s.NetworkInterfaces = networks("VM Network", "x") }, notFound,
			`spec.vsphere.networkInterfaces[1].network "x"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := good()
			c.change(&spec)
			_, err := places.Find(t.Context(), spec)
			if c.reason == "" {
				expect.OK(t, err)
				return
			}
			cloudtest.WantError(t, err, cloud.Invalid, c.reason)
			expect.Says(t, "Find", err, c.says)
			// A machine that could never be made can always be deleted: its folder is found, or said not to be there.
			if _, err := places.FindFolder(t.Context(), spec); err != nil {
				cloudtest.WantError(t, err, cloud.Invalid, infrav1.PlacementNotFoundReason)
			}
		})
	}
}

func TestOnlyPool(t *testing.T) {
	v := vcenter.New(t)
	spec := good()
	want := expect.Got(In(open(t, v)).Find(t.Context(), spec))(t)
	spec.ResourcePool = ""
	got := expect.Got(In(open(t, v)).Find(t.Context(), spec))(t)
	expect.Same(t, "pool", want.Pool, got.Pool)
}

func networks(names ...string) (all []infrav1.VSphereNetworkInterface) {
	for _, name := range names {
		all = append(all, infrav1.VSphereNetworkInterface{Network: name})
	}
	return all
}

// clockOf gives places that were not asked yet a clock that the test moves on.
func clockOf(p *Places) *clocktesting.FakeClock {
	now := clocktesting.NewFakeClock(time.Now())
	for _, answers := range []**cache.Expiring{&p.placements.answers, &p.homes.answers, &p.datacenters.answers} {
		*answers = cache.NewExpiringWithClock(now)
	}
	return now
}

// TestPlacesAreRemembered: the machines of a pool ask once.
func TestPlacesAreRemembered(t *testing.T) {
	v := vcenter.New(t)
	places := In(open(t, v))
	now := clockOf(places)
	find := func() int {
		v.Count()
		expect.Got(places.Find(t.Context(), good()))(t)
		calls := v.Count()
		t.Logf("calls to find the places of a spec: %v", calls)
		return len(calls)
	}
	if first, again := find(), find(); first == 0 || again != 0 {
		t.Errorf("%d methods called and then %d, want some and none", first, again)
	}
	now.Step(keepPlaces)
	if find() == 0 {
		t.Error("the places are never looked up again")
	}
	places.Forget(good())
	if find() == 0 {
		t.Error("places that were forgotten are not looked up again")
	}
}

// TestHardware: what a clone has to change of its template is read with the places.
func TestHardware(t *testing.T) {
	v := vcenter.New(t)
	places, ref := In(open(t, v)), v.Owner(t).Template().Reference()
	find := func() Placement {
		places.Forget(good())
		return expect.Got(places.Find(t.Context(), good()))(t)
	}
	if at := find(); at.VAppConfig != nil || len(at.Adapters) != 1 {
		t.Errorf("placement %+v, want an adapter and no vApp", at)
	}
	v.Owner(t).Update(ref, types.PropertyChange{Name: "config.vAppConfig", Val: &types.VmConfigInfo{Eula: []string{"yes"}}})
	v.Owner(t).Update(ref, types.PropertyChange{Name: "config.hardware.numCoresPerSocket", Val: int32(4)})
	if at := find(); at.VAppConfig == nil || !*at.VAppConfig || at.CoresPerSocket != 4 {
		t.Errorf("placement %+v, want the vApp and 4 cores", at)
	}
}
