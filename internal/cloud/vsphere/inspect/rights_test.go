package inspect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestRightsApply: each privilege is asked for by what a spec sets and a template has, and by nothing else.
func TestRightsApply(t *testing.T) {
	for _, c := range []struct {
		when               string
		networks, adapters int
		change             func(*inspection)
		want               bool
	}{
		{"", 0, 0, nil, true},
		{"a time that no one knows", 0, 0, nil, true},
		{privileges.WithNetworks, 0, 1, nil, false},
		{privileges.WithNetworks, 1, 0, nil, true},
		{privileges.WithNetworks, 0, 1, func(r *inspection) { r.edits = true }, true},
		{privileges.WithCPUs, 0, 0, nil, false},
		{privileges.WithCPUs, 0, 0, func(r *inspection) { r.Spec.CPUs = 1 }, true},
		{privileges.WithCPUs, 0, 0, func(r *inspection) { r.Spec.CoresPerSocket = 1 }, true},
		{privileges.WithMemory, 0, 0, nil, false},
		{privileges.WithMemory, 0, 0, func(r *inspection) { r.Spec.MemoryMiB = 1 }, true},
		{privileges.WithEdits, 1, 0, nil, false},
		{privileges.WithEdits, 0, 1, nil, false},
		{privileges.WithEdits, 1, 1, nil, true},
		{privileges.WithEdits, 0, 1, func(r *inspection) { r.edits = true }, true},
		{privileges.WithAdditions, 0, 1, nil, false},
		{privileges.WithAdditions, 1, 1, nil, false},
		{privileges.WithAdditions, 1, 2, nil, true},
		{privileges.WithAdditions, 2, 1, nil, true},
		{privileges.WithVApp, 0, 0, nil, false},
		{privileges.WithVApp, 0, 0, func(r *inspection) { r.placement.VAppConfig = new(true) }, true},
	} {
		r := &inspection{placement: places.Placement{Adapters: make([]places.Adapter, c.adapters)}}
		r.Spec.NetworkInterfaces = make([]infrav1.VSphereNetworkInterface, c.networks)
		if c.change != nil {
			c.change(r)
		}
		if got := r.applies(c.when); got != c.want {
			t.Errorf("%q with %d networks and %d adapters applies: %t", c.when, c.networks, c.adapters, got)
		}
	}
}

// TestRightsOnSource: a VM that is no template takes another privilege to be cloned.
func TestRightsOnSource(t *testing.T) {
	r := &inspection{}
	expect.Same(t, "a template", []string{deployTemplate}, r.needed(privileges.Template))
	r.facts.isVM = true
	expect.Same(t, "a VM", []string{privileges.CloneVM}, r.needed(privileges.Template))
	r.facts.devices.encrypted = true
	expect.Same(t, "an encrypted VM", []string{privileges.CloneEncrypted, privileges.CloneVM}, r.needed(privileges.Template))
	if slices.Contains(r.needed(privileges.Folder), privileges.CloneEncrypted) {
		t.Error("the folder of the VMs takes what only the template does")
	}
	folder := r.needed(privileges.Folder)
	expect.Same(t, "each once, in order", slices.Compact(slices.Sorted(slices.Values(folder))), folder)
	if slices.Contains(folder, privileges.CloneVM) {
		t.Error("a VM takes the privilege to clone it on its folder, too")
	}
}

// TestRightsSay: what is lacking is told with the object as the spec names it, and with what a role on a folder needs.
func TestRightsSay(t *testing.T) {
	named := types.ManagedObjectReference{Type: "ResourcePool", Value: "resgroup-8"}
	other := types.ManagedObjectReference{Type: "Folder", Value: "group-v3"}
	r := &inspection{sites: []places.Site{
		{Field: places.Folder, Ref: other}, {Field: places.ResourcePool, Name: "pool\n", Ref: named},
	}}
	lacks := "the account lacks Resource.AssignVMToPool on "
	there := ": add this to the account's role there"
	for _, c := range []struct {
		t    target
		has  granted
		want Result
		says string
	}{
		{
			target{kind: privileges.Pool, refs: []types.ManagedObjectReference{named}},
			nil, Failed,
			lacks + `"pool " (ResourcePool:resgroup-8)` + there,
		},
		{target{kind: privileges.Pool, refs: []types.ManagedObjectReference{other}}, nil, Failed, lacks + "Folder:group-v3" + there},
		{
			target{kind: privileges.Pool, refs: []types.ManagedObjectReference{named, other}},
			granted{named: {"Resource.AssignVMToPool"}},
			Failed, lacks + "Folder:group-v3" + there,
		},
		{
			target{kind: privileges.Pool, refs: []types.ManagedObjectReference{named}},
			granted{named: {"Resource.AssignVMToPool"}},
			OK, "Resource.AssignVMToPool",
		},
	} {
		got, says := r.compare(c.t, c.has)
		expect.Same(t, "result", c.want, got)
		expect.Same(t, "sentence", c.says, says)
	}
	r.home = types.ManagedObjectReference{Type: "ClusterComputeResource", Value: "domain-c2"}
	const because = "ClusterComputeResource:domain-c2%s, because a root pool has the permissions of its cluster or host"
	for name, says := range map[string]string{
		"c/Resources": `"c" (` + fmt.Sprintf(because, ")"), "": fmt.Sprintf(because, ""), "Resources": fmt.Sprintf(because, ""),
	} {
		r.sites[1].Name = name
		_, got := r.compare(target{kind: privileges.Pool, refs: []types.ManagedObjectReference{named}}, nil)
		expect.Same(t, "a root pool", lacks+says+there, got)
	}
	expect.Same(t, "on a folder", ", and let the role propagate to children, which are the VMs", propagating(privileges.Folder))
	expect.Same(t, "elsewhere", "", propagating(privileges.Pool))
}

// TestRightsTargets: the template's datastore counts only for a spec that names none.
func TestRightsTargets(t *testing.T) {
	store := types.ManagedObjectReference{Type: "Datastore", Value: "datastore-1"}
	r := &inspection{facts: facts{datastores: []types.ManagedObjectReference{store}}}
	r.sites = places.Sites(r.Spec)
	all := r.targets()
	expect.Same(t, "targets", 4, len(all))
	expect.Same(t, "the last", store, all[3].refs[0])
	expect.Same(t, "what it depends on", checkTemplate, all[3].dependency)
	expect.Same(t, "a pool that was not found", 0, len(all[1].refs))
	r.Spec.Datastore = "ssd"
	r.sites = places.Sites(r.Spec)
	expect.Same(t, "targets with a datastore", 4, len(r.targets()))
	has, err := r.held(t.Context(), r.targets())
	expect.OK(t, err)
	expect.Same(t, "privileges on nothing", 0, len(has))
}
