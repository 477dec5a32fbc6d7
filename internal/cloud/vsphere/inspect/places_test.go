package inspect

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestPlaces: a place of the spec depends on what it is looked up in, and is told with its reference.
func TestPlaces(t *testing.T) {
	needs := map[string]string{}
	spec := infrav1.VSphereVM{Datastore: "d", NetworkInterfaces: make([]infrav1.VSphereNetworkInterface, 1)}
	for _, site := range places.Sites(spec) {
		needs[site.Field] = site.Needs
	}
	expect.Same(t, "what places need", map[string]string{
		places.Datacenter: "", places.Folder: places.Datacenter, places.ResourcePool: places.Datacenter,
		places.Datastore: places.Datacenter, places.Template: places.Datacenter, "networkInterfaces[0].network": places.ResourcePool,
	}, needs)
	r, ref := &inspection{}, types.ManagedObjectReference{Type: "Folder", Value: "group-v3"}
	for _, c := range []struct {
		site places.Site
		want Result
		says string
	}{
		{places.Site{Ref: ref}, OK, "the default, Folder:group-v3"},
		{places.Site{Name: "vms", Ref: ref}, OK, `"vms" is Folder:group-v3`},
		{places.Site{Name: "vms", Err: errors.New("gone")}, Failed, "gone"},
	} {
		got, says := r.place(c.site)
		expect.Same(t, "result", c.want, got)
		expect.Same(t, "sentence", c.says, says)
	}
	r.sites = []places.Site{{Field: places.Folder, Ref: ref}}
	expect.Same(t, "a place", ref, r.site(places.Folder).Ref)
	expect.Same(t, "a place that the spec leaves out", places.Site{}, r.site(places.Datastore))
}

// TestPlacesUnseen: without a login each place of the spec is listed, and skipped.
func TestPlacesUnseen(t *testing.T) {
	r := &inspection{results: map[string]Result{checkLogin: Failed}}
	r.places(t.Context())
	expect.Same(t, "places", len(places.Sites(r.Spec)), len(r.findings))
	for _, f := range r.findings {
		expect.Same(t, f.Check, Skipped, f.Result)
	}
}
