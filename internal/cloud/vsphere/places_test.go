package vsphere

import (
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/simulator"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
)

func TestPlaces(t *testing.T) {
	const notFound = infrav1.PlacementNotFoundReason
	v := newStage(t, func(m *simulator.Model) { m.Host = 1 })
	ctx := t.Context()
	// Two folders of one name, and a deeper one.
	for _, path := range []string{"a", "a/same", "b", "b/same", "b/deep"} {
		parent, name := "/DC0/vm", path
		if i := strings.LastIndex(path, "/"); i > 0 {
			parent, name = parent+"/"+path[:i], path[i+1:]
		}
		f, err := find.NewFinder(v.Client).Folder(ctx, parent)
		v.Must(err)
		_, err = f.CreateFolder(ctx, name)
		v.Must(err)
	}
	for name, c := range map[string]struct {
		change func(*infrav1.VSphereVM)
		reason string // "" is fine
		says   string
	}{
		"all of it": {func(*infrav1.VSphereVM) {}, "", ""},
		"paths": {func(s *infrav1.VSphereVM) {
			s.Datacenter, s.Template, s.Folder = "/DC0", "/DC0/vm/"+vcenter.Template, "/DC0/vm/b/deep"
		}, "", ""},
		"relative path":     {func(s *infrav1.VSphereVM) { s.Folder, s.ResourcePool = "b/deep", "DC0_C0/Resources" }, "", ""},
		"a name deep below": {func(s *infrav1.VSphereVM) { s.Folder = "deep" }, "", ""},
		"the datacenter's":  {func(s *infrav1.VSphereVM) { s.Folder = "" }, "", ""},
		"datastore":         {func(s *infrav1.VSphereVM) { s.Datastore = "LocalDS_0" }, "", ""},
		"network":           {func(s *infrav1.VSphereVM) { s.Networks = networks("VM Network") }, "", ""},
		"distributed port group": {
			func(s *infrav1.VSphereVM) { s.Networks = networks("VM Network", "/DC0/network/DC0_DVPG0") }, "", "",
		},
		"no datacenter": {
			func(s *infrav1.VSphereVM) { s.Datacenter = "DC9" }, notFound,
			`spec.vsphere.datacenter "DC9" is not in the vCenter`,
		},
		"no template": {
			func(s *infrav1.VSphereVM) { s.Template = "windows" }, infrav1.TemplateNotFoundReason,
			`spec.vsphere.template "windows" is not in datacenter /DC0`,
		},
		"a pattern is no name": {func(s *infrav1.VSphereVM) { s.Template = "windows*" }, infrav1.TemplateNotFoundReason, `"windows*"`},
		"no folder":            {func(s *infrav1.VSphereVM) { s.Folder = "c" }, notFound, `spec.vsphere.folder "c"`},
		"two folders":          {func(s *infrav1.VSphereVM) { s.Folder = "same" }, notFound, "matches 2 objects"},
		"a template as folder": {func(s *infrav1.VSphereVM) { s.Folder = vcenter.Template }, notFound, "spec.vsphere.folder"},
		"no pool":              {func(s *infrav1.VSphereVM) { s.ResourcePool = "x" }, notFound, "spec.vsphere.resourcePool"},
		"which pool":           {func(s *infrav1.VSphereVM) { s.ResourcePool = "" }, notFound, "2 clusters and hosts"},
		"no datastore":         {func(s *infrav1.VSphereVM) { s.Datastore = "x" }, notFound, "spec.vsphere.datastore"},
		"no network": {
			func(s *infrav1.VSphereVM) { s.Networks = networks("VM Network", "x") }, notFound,
			`spec.vsphere.networks[1].name "x"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := v.spec()
			c.change(spec.VSphere)
			a := v.account()
			_, err := a.placements.of(t.Context(), &a.connection, *spec.VSphere)
			if c.reason == "" {
				v.Must(err)
				return
			}
			wantError(t, err, cloud.Invalid, c.reason)
			if err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("message %q does not say %q", err, c.says)
			}
			// A machine that could never be made can always be deleted.
			deleted(t, a, machineOf(t, "m", spec))
		})
	}
}

func TestOnlyPool(t *testing.T) {
	v := newStage(t)
	spec := v.spec()
	spec.VSphere.ResourcePool = ""
	running(t, v.account(), machineOf(t, "m", spec))
}

func networks(names ...string) (all []infrav1.VSphereNetwork) {
	for _, name := range names {
		all = append(all, infrav1.VSphereNetwork{Name: name})
	}
	return all
}

// TestPlacesAreRemembered: the machines of a pool ask once.
func TestPlacesAreRemembered(t *testing.T) {
	v := newStage(t)
	a := v.account()
	v.Count()
	of := func() {
		spec := v.spec().VSphere
		_, err := a.placements.of(t.Context(), &a.connection, *spec)
		v.Must(err)
	}
	of()
	first := v.Count()
	of()
	if again := v.Count(); sum(again) != 0 || sum(first) == 0 {
		t.Errorf("calls %v and then %v, want some and none", first, again)
	}
	t.Logf("calls to find the places of a spec: %v", first)
	now := a.now()
	a.placements.now = func() time.Time { return now.Add(keepPlaces) }
	of()
	if again := v.Count(); sum(again) == 0 {
		t.Error("the places are never looked up again")
	}
}
