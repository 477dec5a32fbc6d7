package places

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// segments is a vCenter in which a segment and two port groups have one name.
type segments struct {
	*vcenter.Owner
	places                *Places
	segment, group, other types.ManagedObjectReference
}

const segment = "DC0_NSX0"

func newSegments(t *testing.T) segments {
	t.Helper()
	v := vcenter.New(t, vcenter.NSX)
	s := segments{Owner: v.Owner(t), places: In(open(t, v))}
	s.segment = s.Network(opaque, segment)
	s.group, s.other = s.Network(distributed, "DC0_DVPG0"), s.Network(distributed, "DC0_DVPG1")
	s.Call(s.group, segment)
	s.Call(s.other, segment)
	return s
}

func (s segments) find(t *testing.T, name string) (types.BaseVirtualDeviceBackingInfo, error) {
	t.Helper()
	spec := good()
	spec.NetworkInterfaces = networks(name)
	s.places.Forget(spec)
	at, err := s.places.Find(t.Context(), spec)
	if err != nil {
		return nil, err
	}
	return at.Networks[0], nil
}

// TestNetworksOfOneName: a node on the wrong network is the worst outcome of all, so a name means one network or none.
func TestNetworksOfOneName(t *testing.T) {
	s := newSegments(t)
	const field = "spec.vsphere.networkInterfaces[0].network "
	type refs = []types.ManagedObjectReference
	none := types.ManagedObjectReference{}
	for name, c := range map[string]struct {
		hosts refs
		write string
		want  types.ManagedObjectReference // or
		says  string
	}{
		"three at the hosts": {
			refs{s.segment, s.group, s.other},
			segment, none,
			field + `"DC0_NSX0" matches 3 networks that the hosts of the resource pool have: write which one, such as ` +
				s.group.Value + " or " + s.other.Value + " or " + s.segment.Value,
		},
		"two at the hosts": {
			refs{s.segment, s.group},
			segment, none,
			"matches 2 networks that the hosts of the resource pool have: write which one, such as " +
				"/DC0/network/DVS0/DC0_NSX0 or " + s.segment.Value,
		},
		"two at the hosts, by path": {
			refs{s.segment, s.group},
			"/DC0/network/DC0_NSX0", none,
			"matches 2 networks",
		},
		"one at the hosts":          {refs{s.group}, segment, s.group, ""},
		"the segment at the hosts":  {refs{s.segment}, segment, s.segment, ""},
		"one at the hosts, by path": {refs{s.other}, "/DC0/network/DC0_NSX0", s.other, ""},
		"switch and name":           {refs{s.segment, s.group}, "DVS0/" + segment, s.group, ""},
		"switch and name of two": {
			refs{s.group, s.other},
			"DVS0/" + segment, none,
			"write which one, such as " + s.group.Value + " or " + s.other.Value,
		},
		"another switch":               {refs{s.group}, "DVS1/" + segment, none, "is not in"},
		"reference":                    {refs{s.segment, s.group}, s.segment.Value, s.segment, ""},
		"reference with kind":          {refs{s.segment, s.group}, s.group.String(), s.group, ""},
		"reference of another host's":  {refs{s.segment}, s.other.Value, s.other, ""},
		"reference with another kind":  {refs{s.group}, "Network:" + s.group.Value, none, "is not in"},
		"several, none at the hosts":   {nil, segment, none, "matches 3 networks, of which the hosts of the resource pool have none"},
		"only one, none at the hosts":  {nil, "VM Network", s.Network(standard, "VM Network"), ""},
		"a name with what is a path":   {nil, "a/b", none, "a / within a name is written %2f"},
		"a name with a sign":           {nil, "100% nodes", none, "a % is written %25"},
		"a switch is not a network":    {nil, "DVS0", none, "is not in datacenter /DC0"},
		"a path to what is no network": {nil, "/DC0/network/DVS0", none, "is not in datacenter /DC0"},
	} {
		t.Run(name, func(t *testing.T) {
			s.HostsHave(c.hosts...)
			got, err := s.find(t, c.write)
			if c.says != "" {
				cloudtest.WantError(t, err, cloud.Invalid, infrav1.PlacementNotFoundReason)
				expect.Says(t, "Find", err, c.says)
				return
			}
			expect.OK(t, err)
			if is := s.refOf(t, got); is != c.want {
				t.Errorf("%q became %v, want %v", c.write, is, c.want)
			}
		})
	}
}

// refOf finds the network that a backing means.
func (s segments) refOf(t *testing.T, backing types.BaseVirtualDeviceBackingInfo) types.ManagedObjectReference {
	t.Helper()
	switch b := backing.(type) {
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		return s.segment
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		if b.Port.SwitchUuid == "" {
			t.Error("the switch has no uuid")
		}
		return types.ManagedObjectReference{Type: distributed, Value: b.Port.PortgroupKey}
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return s.Network(standard, b.DeviceName)
	}
	t.Fatalf("what is %T", backing)
	return types.ManagedObjectReference{}
}

// TestNameBeforeReference: a name that looks like a reference is a name.
func TestNameBeforeReference(t *testing.T) {
	s := newSegments(t)
	s.Call(s.group, s.other.Value)
	s.HostsHave(s.group, s.other)
	got := expect.Got(s.find(t, s.other.Value))(t)
	expect.Same(t, "network", s.group, s.refOf(t, got))
}

// TestCallsOfNetworks: what a placement with networks costs, once.
func TestCallsOfNetworks(t *testing.T) {
	s := newSegments(t)
	s.HostsHave(s.group, s.Network(standard, "VM Network"))
	spec := good()
	spec.NetworkInterfaces = networks(segment, "VM Network", "DVS0/"+segment)
	expect.Got(s.places.datacenter(t.Context(), spec.Datacenter))(t)
	s.Count()
	expect.Got(s.places.Find(t.Context(), spec))(t)
	calls := s.Count()
	t.Logf("calls: %v", calls)
	// Template, folder, pool and switch by path; the networks of the hosts, the switch, the template's hardware.
	expect.Same(t, "calls", map[string]int{"FindByInventoryPath": 4, "RetrievePropertiesEx": 3}, calls)
}

// TestMisspeltPlaceIsSearchedOnce: all machines of a pool try again together.
func TestMisspeltPlaceIsSearchedOnce(t *testing.T) {
	v := vcenter.New(t)
	places := In(open(t, v))
	now := clockOf(places)
	spec := good()
	spec.Image.Template = "windows-2220"
	try := func() (calls int) {
		v.Count()
		for range 100 {
			_, err := places.Find(t.Context(), spec)
			cloudtest.WantError(t, err, cloud.Invalid, infrav1.TemplateNotFoundReason)
			expect.Got(places.FindFolder(t.Context(), spec))(t)
		}
		for _, n := range v.Count() {
			calls += n
		}
		return calls
	}
	first := try()
	if again := try(); again != 0 {
		t.Errorf("a hundred machines make %d calls at once again, want 0", again)
	}
	now.Step(keepAbsent)
	second := try()
	t.Logf("calls of a hundred machines: %d at first, %d at the next try", first, second)
	if first > 9 || second > 5 {
		t.Error("want one search for all of them")
	}
	// The place is corrected in the vCenter.
	o := v.Owner(t)
	o.Call(o.Template().Reference(), spec.Image.Template)
	now.Step(keepAbsent)
	expect.Got(places.Find(t.Context(), spec))(t)
}
