package adapters

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestMacOfAddress(t *testing.T) {
	for _, c := range []struct {
		adapter   int
		addresses string
		want      string
	}{
		{0, "10.0.0.5", "00:50:56:00:00:05"},
		{0, "10.255.255.255", "00:50:56:03:ff:ff"},
		{1, "10.0.0.5", "00:50:56:04:00:05"},
		{9, "10.255.255.255", "00:50:56:27:ff:ff"},
		{0, "192.168.7.9", "00:50:56:00:07:09"},
		{0, "fd00::5", "00:50:56:00:00:05"},
		{0, "fd00::1:2345:6789", "00:50:56:01:67:89"},
		{0, "fd00::ffff,10.0.0.5", "00:50:56:00:00:05"}, // the same whichever pool is named first
		{0, "10.0.0.5,10.0.0.6", "00:50:56:00:00:05"},
	} {
		var addresses []infrav1.NetworkAddress
		for address := range strings.SplitSeq(c.addresses, ",") {
			addresses = append(addresses, infrav1.NetworkAddress{Address: address + "/24"})
		}
		if got := macOfAddress(c.adapter, addresses); got != c.want {
			t.Errorf("adapter %d with %s: %s, want %s", c.adapter, c.addresses, got, c.want)
		}
	}
}

// No two adapters of ten, and no two addresses of a network, have the same MAC, which is of VMware's range.
func TestMacsAreUnique(t *testing.T) {
	seen := map[string]string{}
	for adapter := range 10 {
		for address := netip.MustParseAddr("10.20.0.0"); address != netip.MustParseAddr("10.20.16.0"); address = address.Next() {
			mac := macOfAddress(adapter, []infrav1.NetworkAddress{{Address: address.String() + "/24"}})
			now := fmt.Sprint(adapter, " ", address)
			if before, taken := seen[mac]; taken || mac < "00:50:56:00:00:00" || mac >= "00:50:56:28:00:00" {
				t.Fatalf("%s of %s is that of %q too, or of another range", mac, now, before)
			}
			seen[mac] = now
		}
	}
}

// byDHCP is a machine with adapters of these names.
func byDHCP(providerID string, names ...string) *infrav1.WindowsMachine {
	m := &infrav1.WindowsMachine{Spec: infrav1.WindowsMachineSpec{ProviderID: providerID, VSphere: &infrav1.VSphereVM{}}}
	for _, name := range names {
		m.Spec.VSphere.NetworkInterfaces = append(m.Spec.VSphere.NetworkInterfaces,
			infrav1.VSphereNetworkInterface{Name: name, Network: "VM Network"})
	}
	return m
}

// TestMacOf: what follows here is in VMs that run, so it must never change.
func TestMacOf(t *testing.T) {
	const id = "vsphere://11111111-2222-3333-4444-555555555555"
	address := []infrav1.NetworkAddress{{Address: "10.0.0.5/24"}}
	for name, c := range map[string]struct {
		windows   *infrav1.WindowsMachine
		before    string // the MACs of the adapters before it
		addresses []infrav1.NetworkAddress
		want      string
	}{
		"the only one":              {byDHCP(id, "node"), "", nil, ""},
		"the only one, with a pool": {byDHCP(id, "node"), "", address, "00:50:56:00:00:05"},
		"the second, with a pool":   {byDHCP(id, "node", "storage"), "a", address, "00:50:56:04:00:05"},
		"the first of two":          {byDHCP(id, "node", "storage"), "", nil, "00:50:56:33:db:0e"},
		"in another order":          {byDHCP(id, "storage", "node"), "a", nil, "00:50:56:33:db:0e"},
		"the second of two":         {byDHCP(id, "node", "storage"), "a", nil, "00:50:56:3d:01:df"},
		"of another VM":             {byDHCP(id+"6", "node", "storage"), "", nil, "00:50:56:35:4a:19"},
		"taken":                     {byDHCP(id, "node", "storage"), "00:50:56:3d:01:df", nil, "00:50:56:3d:01:e0"},
	} {
		var before []infrav1.MachineNetworkInterface
		for mac := range strings.FieldsSeq(c.before) {
			before = append(before, infrav1.MachineNetworkInterface{MACAddress: mac})
		}
		if got := macOf(c.windows, before, c.addresses); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestIdentityMACs: they are in VMware's range, and never those of an address.
func TestIdentityMACs(t *testing.T) {
	seen := map[string]bool{}
	for i := range 2000 {
		mac := macOfIdentity(fmt.Sprint("vsphere://", i), "node", nil)
		if mac < "00:50:56:28:00:00" || mac > "00:50:56:3f:ff:ff" || len(mac) != 17 {
			t.Errorf("%s is of another range", mac)
		}
		seen[mac[:len("00:50:56:28")]] = true
	}
	if len(seen) != 24 {
		t.Errorf("the MACs begin in %d of 24 ways", len(seen))
	}
}

// TestOf: each pool is asked for one address, in the order of the spec, and the MACs follow from what was given.
func TestOf(t *testing.T) {
	const id = "vsphere://11111111-2222-3333-4444-555555555555"
	windows := byDHCP(id, "node", "storage")
	windows.Spec.VSphere.NetworkInterfaces[1].AddressesFromPools = []infrav1.IPPoolReference{{Name: "four"}, {Name: "six"}}
	given := map[string]infrav1.NetworkAddress{
		"four": {Address: "10.0.0.5/24", Gateway: "10.0.0.1"}, "six": {Address: "fd00::5/64"},
	}
	give := func(pool Pool) (infrav1.NetworkAddress, error) { return given[pool.Name], nil }
	expect.Same(t, "adapters", []infrav1.MachineNetworkInterface{
		{Name: "node", MACAddress: "00:50:56:33:db:0e"},
		{Name: "storage", MACAddress: "00:50:56:04:00:05", Addresses: []infrav1.NetworkAddress{given["four"], given["six"]}},
	}, expect.Got(Of(windows, give))(t))
	empty := errors.New("the pool is empty")
	_, err := Of(windows, func(Pool) (infrav1.NetworkAddress, error) { return infrav1.NetworkAddress{}, empty })
	expect.Same(t, "error", true, errors.Is(err, empty))
}
