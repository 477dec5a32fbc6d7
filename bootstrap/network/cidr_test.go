package network

import (
	"net/netip"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestNthAddress(t *testing.T) {
	for _, test := range []struct {
		reason, cidr string
		n            int
		want         string // empty: there is none
	}{
		{"kubeadm's default", "10.96.0.0/12", 10, "10.96.0.10"},
		{"the first", "10.96.0.0/12", 0, "10.96.0.0"},
		{"over the end of a byte", "10.96.0.250/31", 1, "10.96.0.251"},
		{"carries", "10.96.0.248/24", 10, "10.96.0.10"},
		{"IPv6", "fd00:10:96::/112", 10, "fd00:10:96::a"},
		{"just large enough", "10.0.0.0/28", 10, "10.0.0.10"},
		{"too small", "10.0.0.0/29", 10, ""},
		{"a single address", "10.0.0.1/32", 1, ""},
		{"the end of all addresses", "255.255.255.255/32", 10, ""},
		{"the end of IPv6", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", 1, ""},
	} {
		address, ok := nthAddress(netip.MustParsePrefix(test.cidr), test.n)
		if ok != (test.want != "") || ok && address.String() != test.want {
			t.Errorf("%s: address %d of %s is %s, %t", test.reason, test.n, test.cidr, address, ok)
		}
	}
}

func TestReadCIDR(t *testing.T) {
	for _, test := range []struct{ text, refusal string }{
		{"10.0.0.0/8", ""},
		{"0.0.0.0/0", ""},
		{"10.1.2.3/32", ""},
		{"fd00::/64", ""},
		{"10.0.0.1/8", "use 10.0.0.0/8"},
		{"fd00::1/64", "use fd00::/64"},
		{"FD00::/64", "use fd00::/64"},
		{"fd00:0::/64", "use fd00::/64"},
		{"10.0.0.0", "is not a CIDR; use one such as 10.0.0.0/16"},
		{"10.0.0.0/33", "is not a CIDR"},
		{"10.0.0/8", "is not a CIDR"},
		{"::ffff:10.0.0.0/104", "is not a CIDR"},
		{"fe80::%eth0/64", "is not a CIDR"},
		{" 10.0.0.0/8", "is not a CIDR"},
		{"", "is not a CIDR"},
	} {
		_, err := readCIDR("field", test.text)
		if (err == nil) != (test.refusal == "") || err != nil && !strings.Contains(err.Error(), test.refusal) {
			t.Errorf("%q: %v, want %q", test.text, err, test.refusal)
		}
	}
}

func TestClusterRanges(t *testing.T) {
	for _, test := range []struct {
		reason           string
		cidrs            []string
		four, text       string
		dual, six, wrong bool
	}{
		{reason: "the CNI's own"},
		{reason: "IPv4", cidrs: []string{"10.0.0.0/8"}, four: "10.0.0.0/8", text: "10.0.0.0/8"},
		{reason: "IPv6", cidrs: []string{"fd00::/64"}, text: "fd00::/64", six: true},
		{reason: "dual", cidrs: []string{"10.0.0.0/8", "fd00::/64"}, four: "10.0.0.0/8", text: "10.0.0.0/8,fd00::/64", dual: true},
		{
			reason: "IPv6 first", cidrs: []string{"fd00::/64", "10.0.0.0/8"}, four: "10.0.0.0/8", text: "fd00::/64,10.0.0.0/8",
			dual: true,
		},
		{reason: "twice IPv4", cidrs: []string{"10.0.0.0/8", "11.0.0.0/8"}, wrong: true},
		{reason: "twice IPv6", cidrs: []string{"fd00::/64", "fd01::/64"}, wrong: true},
		{reason: "three", cidrs: []string{"10.0.0.0/8", "fd00::/64", "11.0.0.0/8"}, wrong: true},
		{reason: "none", cidrs: []string{"pods"}, wrong: true},
	} {
		r, err := clusterRanges("field", clusterv1.NetworkRanges{CIDRBlocks: test.cidrs})
		if (err != nil) != test.wrong {
			t.Errorf("%s: %v", test.reason, err)
		}
		good := r.String() == test.text && r.four().String() == test.four && r.dual() == test.dual && r.onlySix() == test.six
		if err == nil && !good {
			t.Errorf("%s: %s, IPv4 %s, dual %t, IPv6 only %t", test.reason, r, r.four(), r.dual(), r.onlySix())
		}
	}
}

// TestRefuseOnlySix: a node without a network of ours is refused for ranges of IPv6 alone. What is no range is no matter of its.
func TestRefuseOnlySix(t *testing.T) {
	for _, test := range []struct{ blocks, refused string }{
		{"10.0.0.0/8 fd00::/64", ""},
		{"fd00::/64", "fd00::/64 is IPv6 only"},
		{"pods fd00::/64", "fd00::/64 is IPv6 only"},
		{"pods", ""},
	} {
		cluster := clusterv1.ClusterNetwork{Services: clusterv1.NetworkRanges{CIDRBlocks: strings.Fields(test.blocks)}}
		expect.Says(t, test.blocks, refuseOnlySix(cluster), test.refused)
	}
}

func TestRanges(t *testing.T) {
	r := ranges{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00::/64"), netip.MustParsePrefix("10.0.0.0/16")}
	expect.Same(t, "each range once", []string{"10.0.0.0/16", "fd00::/64"}, r.texts())
	for text, want := range map[string]bool{"10.0.255.255": true, "10.1.0.0": false, "fd00::1": true, "fd01::": false} {
		if r.contains(netip.MustParseAddr(text)) != want {
			t.Errorf("contains %s: %t", text, !want)
		}
	}
	for text, want := range map[string]bool{
		"10.0.0.0/8": true, "10.0.7.0/24": true, "10.1.0.0/16": false, "fd00::/48": true, "fd01::/48": false,
	} {
		if r.overlaps(ranges{netip.MustParsePrefix(text)}) != want {
			t.Errorf("overlaps %s: %t", text, !want)
		}
	}
}
