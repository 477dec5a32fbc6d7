package placement

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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

// TestGroups: the cloud controller manager finds VMs in the cluster's group and in those of Nodes' labels, and deletes the Nodes
// of others. A VM that is there stays.
func TestGroups(t *testing.T) {
	from := blueWith(t, "Blue(2)", "spec.resourceGroup")
	there := arm.ProviderID(arm.GroupID(blueSubscription, "mine(2)").VM("w"))
	long := strings.Repeat("a", 64)
	for _, test := range []struct{ group, providerID, refused string }{
		{"", "", ""},
		{"mine", "", ""},
		{"blue(2)", "", ""},
		{"mine(2)", there, ""},
		{"mine(2)", "", `spec.azure.resourceGroup "mine(2)" is another group than "Blue(2)" of AzureCluster team/blue`},
		{"_mine", "", `spec.azure.resourceGroup "_mine" is another group`},
		{"mine-", "", `spec.azure.resourceGroup "mine-" is another group`},
		{long, "", `spec.azure.resourceGroup "` + long},
	} {
		_, err := Resolve(&infrav1.AzureVM{ResourceGroup: test.group}, test.providerID, from)
		refused, _ := errors.AsType[*cloud.Error](err)
		switch {
		case test.refused == "" && err == nil:
		case refused != nil && refused.Kind == cloud.Invalid && strings.HasPrefix(refused.Message, test.refused):
		default:
			t.Errorf("%q %q: %v", test.group, test.providerID, err)
		}
	}
	spec := wholeSpec()
	spec.ResourceGroup = "mine(2)"
	if _, err := Resolve(spec, "", nil); err != nil {
		t.Errorf("without an AzureCluster: %v", err)
	}
}
