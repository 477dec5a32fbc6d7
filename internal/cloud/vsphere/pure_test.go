package vsphere

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

func TestDescribe(t *testing.T) {
	m := cloud.Machine{Identity: cloud.Identity{Name: "pool-abc"}}
	names := []clusterv1.MachineAddress{
		{Type: clusterv1.MachineHostName, Address: "pool-abc"}, {Type: clusterv1.MachineInternalDNS, Address: "pool-abc"},
	}
	ip := func(all ...string) []clusterv1.MachineAddress {
		want := append([]clusterv1.MachineAddress{}, names...)
		for _, a := range all {
			want = append(want, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: a})
		}
		return want
	}
	for name, c := range map[string]struct {
		s    sighting
		ran  bool
		want cloud.VM
	}{
		"made": {
			sighting{power: "poweredOff"},
			false,
			cloud.VM{State: cloud.Creating, Detail: "made, but not yet switched on", Addresses: names},
		},
		"runs": {sighting{power: "poweredOn", report: "r"}, false, cloud.VM{State: cloud.Running, Addresses: names, Report: "r"}},
		"cut off": {
			sighting{power: "poweredOn", connection: "disconnected"},
			true,
			cloud.VM{
				State: cloud.Running, Addresses: names,
				Detail: "the vCenter cannot reach the VM (disconnected): bring its host or datastore back",
			},
		},
		"connected": {sighting{power: "poweredOn", connection: "connected"}, true, cloud.VM{State: cloud.Running, Addresses: names}},
		"off":       {sighting{power: "poweredOff"}, true, cloud.VM{State: cloud.Stopped, Detail: "switched off", Addresses: names}},
		"suspended": {
			sighting{power: "suspended"},
			true,
			cloud.VM{State: cloud.Stopped, Detail: "suspended in the vCenter", Addresses: names},
		},
		"addresses once, the main one first, none of the link": {
			sighting{power: "poweredOn", address: "10.0.0.2", nics: []string{
				"fe80::1", "10.0.0.1", "10.0.0.2", "127.0.0.1",
				"169.254.3.4", "2001:db8::1", "nonsense", "0.0.0.0", "2001:db8::2%any text", "::ffff:10.0.0.2",
			}}, true, cloud.VM{State: cloud.Running, Addresses: ip("10.0.0.2", "10.0.0.1", "2001:db8::1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.s.owner, c.s.providerID = m.Key.String(), m.ProviderID
			got := describe(m, &c.s, c.ran)
			got.AfterJoin = "" // TestUnaddressed
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnaddressed: VMware Tools that report nothing but addresses of the link report none.
func TestUnaddressed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    sighting
		says bool
	}{
		"hidden":             {sighting{}, true},
		"an address":         {sighting{nics: []string{"10.0.0.1"}}, false},
		"the main one alone": {sighting{address: "10.0.0.1"}, false},
		"without DHCP":       {sighting{nics: []string{"169.254.3.4", "fe80::1"}}, true},
	} {
		c.s.power = types.VirtualMachinePowerStatePoweredOn
		told := describe(cloud.Machine{}, &c.s, true)
		if says := strings.HasPrefix(told.AfterJoin, "VMware Tools report no address of the VM"); says != c.says {
			t.Errorf("%s: %q", name, told.AfterJoin)
		}
	}
}

func TestBelongsTo(t *testing.T) {
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	ours := sighting{name: m.Name, id: idOf(m), owner: "default/m", providerID: m.ProviderID}
	for name, c := range map[string]struct {
		change func(*sighting)
		want   bool
	}{
		"ours":                              {func(*sighting) {}, true},
		"renamed by somebody":               {func(s *sighting) { s.name = "old" }, true},
		"vCenter gave it another id":        {func(s *sighting) { s.id = "another" }, false},
		"a clone of ours, marks and all":    {func(s *sighting) { s.name, s.id = "copy", "another" }, false},
		"no marks":                          {func(s *sighting) { s.owner, s.providerID = "", "" }, false},
		"of an older machine of that name":  {func(s *sighting) { s.providerID = "vsphere://older" }, false},
		"of a machine in another namespace": {func(s *sighting) { s.owner = "other/m" }, false},
		"vCenter knows nothing but a name":  {func(s *sighting) { *s = sighting{name: m.Name} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := ours
			c.change(&s)
			if got := s.belongsTo(m); got != c.want {
				t.Errorf("belongsTo = %v, want %v", got, c.want)
			}
		})
	}
}

func TestInventory(t *testing.T) {
	t.Parallel()
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	type property = types.PropertyChange
	change := func(kind types.ObjectUpdateKind, ref types.ManagedObjectReference, changes ...property) types.ObjectUpdate {
		return types.ObjectUpdate{Kind: kind, Obj: ref, ChangeSet: changes}
	}
	is := func(name string, value any) types.PropertyChange { return types.PropertyChange{Name: name, Val: value} }
	marks := []types.PropertyChange{
		is(extraConfig(markOwner), types.OptionValue{Value: "default/m"}),
		is(extraConfig(markProviderID), types.OptionValue{Value: m.ProviderID}),
	}
	var i inventory
	i.begin()
	if keys := i.update(change(types.ObjectUpdateKindEnter, ref, is("name", m.Name))); len(keys) != 0 {
		t.Errorf("a VM without marks concerns %v", keys)
	}
	keys := i.update(change(types.ObjectUpdateKindModify, ref, append(marks, is("config.instanceUuid", idOf(m)))...))
	if diff := cmp.Diff([]cloud.Key{m.Key}, keys); diff != "" {
		t.Errorf("marks that come later (-want +got):\n%s", diff)
	}
	i.updateGuest(change(types.ObjectUpdateKindEnter, ref))
	if i.seen(m).vm != nil {
		t.Error("an inventory that is not complete knows the VM")
	}
	if diff := cmp.Diff([]cloud.Key{m.Key}, i.complete()); diff != "" {
		t.Errorf("keys of all (-want +got):\n%s", diff)
	}
	copied := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-2"}
	i.update(change(types.ObjectUpdateKindEnter, copied,
		append(marks, is("name", "copy"), is("config.instanceUuid", "11111111-1111-1111-1111-111111111111"))...))
	if s := i.seen(m).vm; s == nil || s.ref != ref {
		t.Errorf("find = %+v, want the VM and not its clone", s)
	}
	i.update(change(types.ObjectUpdateKindEnter, ref, is("runtime.powerState", types.VirtualMachinePowerStatePoweredOn)))
	if s := i.seen(m).vm; s == nil || s.name != m.Name || s.off() {
		t.Errorf("find = %+v after it entered once more, want all that was known and the change", s)
	}
	i.lose()
	if i.seen(m).vm != nil {
		t.Error("an inventory that gets no changes answers")
	}
	i.complete()
	if keys := i.update(change(types.ObjectUpdateKindLeave, ref)); len(keys) != 1 || i.seen(m).vm != nil {
		t.Errorf("a VM that left concerns %v and is %+v", keys, i.seen(m).vm)
	}
	if keys := i.begin(); len(keys) != 1 {
		t.Errorf("keys known before = %v", keys)
	}
}
