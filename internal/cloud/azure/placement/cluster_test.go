package placement

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
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

// TestLongWords: what a tenant wrote is shown up to a length, to the letter.
func TestLongWords(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, over := range []int{0, 1} {
		_, err := Home("azure://" + x(248+over))
		if got := strings.Contains(err.Error(), "..."); got != (over > 0) {
			t.Errorf("a provider ID of %d letters: %v", 256+over, err)
		}
		_, noGroup := group(&infrav1.AzureVM{SubscriptionID: x(224 + over), ResourceGroup: "g"}, "", cluster{})
		foreign := someIdentity("ServicePrincipal", &Allowed{})
		foreign.SecretNamespace = x(63 + over)
		_, elsewhere := Use(byTeam, foreign, nil)
		_, unknown := Use(byTeam, someIdentity(x(64+over), &Allowed{}), nil)
		for what, err := range map[string]error{
			"group": noGroup, "namespace of a Secret": elsewhere, "type": unknown,
			"edge zone": cluster{}.check(&unstructured.Unstructured{}, x(64+over)),
			"cloud":     cluster{environment: infrav1.AzureCloud(x(64 + over))}.check(&unstructured.Unstructured{}, ""),
		} {
			if got := strings.Contains(err.Error(), "..."); got != (over > 0) {
				t.Errorf("%s, %d too long: %v", what, over, err)
			}
		}
	}
}
