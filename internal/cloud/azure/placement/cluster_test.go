package placement

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestGatewayOfASubnet: an AzureCluster says by name or by ID which NAT gateway a subnet has, and with an empty name that it has
// none.
func TestGatewayOfASubnet(t *testing.T) {
	for name, test := range map[string]struct {
		gateway map[string]any
		want    bool
	}{
		"by name":       {map[string]any{"name": "nat"}, true},
		"by ID":         {map[string]any{"id": blueNetwork + "/natGateways/nat"}, true},
		"an empty name": {map[string]any{"name": ""}, false},
		"not at all":    {map[string]any{}, false},
	} {
		of := blueWith(t, []any{map[string]any{"name": "nodes", "natGateway": test.gateway}}, "spec.networkSpec.subnets")
		c := expect.Got(read(of))(t)
		expect.Same(t, name, test.want, c.subnets[0].natGateway)
	}
}
