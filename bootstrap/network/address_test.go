package network

import (
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestNoCloud: a machine that names no cloud has no adapters. No API server takes one, but whoever calls Render may have one.
func TestNoCloud(t *testing.T) {
	expect.Same(t, "adapters", 0, len(expect.Got(ReadAdapters(&infrav1.WindowsMachine{}))(t)))
}

// Small networks have no addresses to spare, and IPv6 has its routers on the link.
func TestCheckAddress(t *testing.T) {
	for _, one := range []infrav1.NetworkAddress{
		{Address: "10.0.0.5/24", Gateway: "10.0.0.254"},
		{Address: "10.0.0.0/31", Gateway: "10.0.0.1"},
		{Address: "10.0.0.1/31", Gateway: "10.0.0.0"},
		{Address: "10.0.0.5/32"},
		{Address: "255.255.255.254/31"},
		{Address: "fd00::/127", Gateway: "fd00::1"},
		{Address: "fd00::5/128"},
		{Address: "fd00::ffff/112"},
		{Address: "fd00::5/64", Gateway: "fe80::1"},
		{Address: "10.0.0.255/23", Gateway: "10.0.1.0"},
	} {
		if err := CheckAddress(one); err != nil {
			t.Errorf("%+v is refused: %v", one, err)
		}
	}
}
