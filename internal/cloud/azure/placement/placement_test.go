package placement

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
)

const (
	blueSubscription = "11111111-2222-3333-4444-555555555555"
	blueNetwork      = "/subscriptions/" + blueSubscription + "/resourceGroups/net/providers/Microsoft.Network"
	otherSubnet      = "/subscriptions/" + blueSubscription +
		"/resourceGroups/mine/providers/Microsoft.Network/virtualNetworks/own/subnets/s"
	namesake = "/subscriptions/" + blueSubscription +
		"/resourceGroups/mine/providers/Microsoft.Network/virtualNetworks/blue-vnet/subnets/nodes"
	neighbor = blueNetwork + "/virtualNetworks/blue-vnet2/subnets/nodes"
)

// blueObject reads a file of testdata anew, so that a case may change it.
func blueObject(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	of := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &of.Object); err != nil {
		t.Fatal(err)
	}
	return of
}

// blueWith is the AzureCluster with a value instead of its own; nil removes it.
func blueWith(t *testing.T, value any, path string) *unstructured.Unstructured {
	t.Helper()
	of, fields := blueObject(t, "azurecluster"), strings.Split(path, ".")
	if value == nil {
		unstructured.RemoveNestedField(of.Object, fields...)
		return of
	}
	if err := unstructured.SetNestedField(of.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
	return of
}

func wholeSpec() *infrav1.AzureVM {
	return &infrav1.AzureVM{
		SubscriptionID: "44444444-2222-3333-4444-555555555555", ResourceGroup: "own", Location: "westeurope",
		NetworkInterfaces: []infrav1.AzureNetworkInterface{{Name: "node", Subnet: infrav1.AzureSubnet{ID: otherSubnet}}},
	}
}

func TestResolve(t *testing.T) {
	type where = infrav1.AzurePlacement
	blue := where{
		Cloud: infrav1.AzureChinaCloud, SubscriptionID: blueSubscription, ResourceGroup: "Blue", Location: "chinaeast2",
		SubnetIDs:        []string{blueNetwork + "/virtualNetworks/blue-vnet/subnets/nodes"},
		SecurityGroupID:  blueNetwork + "/networkSecurityGroups/node-nsg",
		RouteTableID:     blueNetwork + "/routeTables/routes",
		LoadBalancerName: "blue",
		OutboundPoolID: "/subscriptions/" + blueSubscription +
			"/resourceGroups/Blue/providers/Microsoft.Network/loadBalancers/blue/backendAddressPools/out",
		FailureDomains: []string{"1", "2"},
		Tags:           map[string]infrav1.AzureTagValue{"team": "blue"},
	}
	but := func(change func(*where)) where {
		p := blue
		change(&p)
		return p
	}
	none := func(p *where) {
		p.SecurityGroupID, p.RouteTableID, p.LoadBalancerName, p.OutboundPoolID = "", "", "", ""
	}
	adapters := func(subnets ...string) *infrav1.AzureVM {
		spec := &infrav1.AzureVM{}
		for _, id := range subnets {
			spec.NetworkInterfaces = append(spec.NetworkInterfaces, infrav1.AzureNetworkInterface{Subnet: infrav1.AzureSubnet{ID: id}})
		}
		return spec
	}
	for _, test := range []struct {
		name       string
		spec       *infrav1.AzureVM
		providerID string
		from       *unstructured.Unstructured
		want       where
	}{
		{
			name: "a spec that says nothing has all from the AzureCluster", spec: &infrav1.AzureVM{},
			from: blueObject(t, "azurecluster"), want: blue,
		},
		{name: "a spec that says all needs no AzureCluster", spec: wholeSpec(), want: where{
			Cloud: infrav1.AzurePublicCloud, SubscriptionID: wholeSpec().SubscriptionID, ResourceGroup: "own", Location: "westeurope",
			SubnetIDs: []string{otherSubnet},
		}},
		{
			name: "the spec's group goes before the cluster's, whose pool stays in its own group",
			spec: &infrav1.AzureVM{ResourceGroup: "mine"}, from: blueObject(t, "azurecluster"),
			want: but(func(p *where) { p.ResourceGroup = "mine" }),
		},
		{
			name: "the providerID goes before all, because the VM is there", spec: &infrav1.AzureVM{ResourceGroup: "mine"},
			providerID: arm.ProviderID(arm.GroupID(blueSubscription, "claimed").VM("w")), from: blueObject(t, "azurecluster"),
			want: but(func(p *where) { p.ResourceGroup = "claimed" }),
		},
		{
			name: "a VM of another subscription joins no pool", spec: &infrav1.AzureVM{SubscriptionID: wholeSpec().SubscriptionID},
			from: blueObject(t, "azurecluster"),
			want: but(func(p *where) { none(p); p.SubscriptionID = wholeSpec().SubscriptionID }),
		},
		{
			name: "a subnet of another network joins no pool", spec: adapters(otherSubnet), from: blueObject(t, "azurecluster"),
			want: but(func(p *where) { none(p); p.SubnetIDs = []string{otherSubnet} }),
		},
		{
			name: "nor does one of a network of that name in another group", spec: adapters(namesake),
			from: blueObject(t, "azurecluster"), want: but(func(p *where) { none(p); p.SubnetIDs = []string{namesake} }),
		},
		{
			name: "nor one of another network of the group", spec: adapters(neighbor), from: blueObject(t, "azurecluster"),
			want: but(func(p *where) { none(p); p.SubnetIDs = []string{neighbor} }),
		},
		{
			name: "nor any while the cluster's network is not known", spec: adapters(otherSubnet),
			from: blueWith(t, nil, "spec.networkSpec.vnet"),
			want: but(func(p *where) { none(p); p.SubnetIDs = []string{otherSubnet} }),
		},
		{
			name: "a subnet with a NAT gateway joins no pool, whatever the case of its ID",
			spec: adapters(strings.ToUpper(blueNetwork + "/virtualNetworks/blue-vnet/subnets/more")), from: blueObject(t, "azurecluster"),
			want: but(func(p *where) {
				p.SubnetIDs = []string{strings.ToUpper(blueNetwork + "/virtualNetworks/blue-vnet/subnets/more")}
				p.SecurityGroupID = "/subscriptions/" + blueSubscription +
					"/resourceGroups/sec/providers/Microsoft.Network/networkSecurityGroups/x"
				p.RouteTableID, p.OutboundPoolID = "", ""
			}),
		},
		{
			name: "a subnet by its name in the cluster's network",
			spec: &infrav1.AzureVM{NetworkInterfaces: []infrav1.AzureNetworkInterface{
				{Name: "node", Subnet: infrav1.AzureSubnet{Name: "nodes"}},
			}},
			from: blueObject(t, "azurecluster"), want: blue,
		},
		{
			name: "a second adapter without a subnet is in the node's", spec: adapters(otherSubnet, ""), from: blueObject(t,
				"azurecluster"),
			want: but(func(p *where) { none(p); p.SubnetIDs = []string{otherSubnet, blue.SubnetIDs[0]} }),
		},
		{
			name: "no subnet of nodes: that of the cluster", spec: &infrav1.AzureVM{},
			from: blueWith(t, []any{map[string]any{"name": "any", "role": "cluster"}}, "spec.networkSpec.subnets"),
			want: but(func(p *where) {
				p.SubnetIDs, p.SecurityGroupID, p.RouteTableID = []string{blueNetwork + "/virtualNetworks/blue-vnet/subnets/any"}, "", ""
			}),
		},
		{
			name: "a pool without a name has that of the defaults", spec: &infrav1.AzureVM{},
			from: blueWith(t, nil, "spec.networkSpec.nodeOutboundLB.backendPool"),
			want: but(func(p *where) {
				p.OutboundPoolID = strings.TrimSuffix(p.OutboundPoolID, "out") + "blue-outboundBackendPool"
			}),
		},
		{
			name: "no balancer, no pool", spec: &infrav1.AzureVM{}, from: blueWith(t, nil, "spec.networkSpec.nodeOutboundLB"),
			want: but(func(p *where) { p.LoadBalancerName, p.OutboundPoolID = "", "" }),
		},
		{
			name: "no environment is the public one", spec: &infrav1.AzureVM{}, from: blueWith(t, nil, "spec.azureEnvironment"),
			want: but(func(p *where) { p.Cloud = infrav1.AzurePublicCloud }),
		},
		{
			name: "a network in the cluster's group", spec: adapters(otherSubnet), from: blueWith(t, nil,
				"spec.networkSpec.vnet.resourceGroup"),
			want: but(func(p *where) { none(p); p.SubnetIDs = []string{otherSubnet} }),
		},
		{
			name: "failure domains of the later contract", spec: &infrav1.AzureVM{},
			from: blueWith(t, []any{map[string]any{"name": "3"}, map[string]any{"name": "1"}}, "status.failureDomains"),
			want: but(func(p *where) { p.FailureDomains = []string{"1", "3"} }),
		},
	} {
		got, err := Resolve(test.spec, test.providerID, test.from)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", test.name, err, diff)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	paused := blueObject(t, "azurecluster")
	paused.SetAnnotations(map[string]string{"cluster.x-k8s.io/paused": ""})
	groupless := blueWith(t, nil, "spec.resourceGroup")
	unstructured.RemoveNestedField(groupless.Object, "spec", "networkSpec", "vnet", "resourceGroup")
	without := func(empty func(*infrav1.AzureVM)) *infrav1.AzureVM {
		spec := wholeSpec()
		empty(spec)
		return spec
	}
	for _, test := range []struct {
		name       string
		spec       *infrav1.AzureVM
		providerID string
		from       *unstructured.Unstructured
		kind       cloud.Kind
		want       string
	}{
		{"no spec", nil, "", nil, cloud.Invalid, "spec.azure is missing"},
		{
			"no subscription", without(func(s *infrav1.AzureVM) { s.SubscriptionID = "" }), "", nil, cloud.Invalid,
			"spec.azure.subscriptionID is not set",
		},
		{
			"no group", without(func(s *infrav1.AzureVM) { s.ResourceGroup = "" }), "", nil, cloud.Invalid,
			"spec.azure.resourceGroup is not set",
		},
		{
			"no location", without(func(s *infrav1.AzureVM) { s.Location = "" }), "", nil, cloud.Invalid,
			"spec.azure.location is not set",
		},
		{
			"no subnet", without(func(s *infrav1.AzureVM) { s.NetworkInterfaces[0].Subnet.ID = "" }), "", nil, cloud.Invalid,
			"spec.azure.networkInterfaces[0].subnet.id is not set",
		},
		{
			"a subnet by name without an AzureCluster", without(func(s *infrav1.AzureVM) {
				s.NetworkInterfaces[0].Subnet = infrav1.AzureSubnet{Name: "nodes"}
			}), "", nil, cloud.Invalid, "use subnet.id instead",
		},
		{
			"a subnet by name in a network that is not known yet", without(func(s *infrav1.AzureVM) {
				s.NetworkInterfaces[0].Subnet = infrav1.AzureSubnet{Name: "nodes"}
			}), "", blueWith(t, nil, "spec.networkSpec"), cloud.Transient, "has no spec.networkSpec.vnet.name yet",
		},
		{
			"a subnet by name in a network whose group is not known yet", without(func(s *infrav1.AzureVM) {
				s.NetworkInterfaces[0].Subnet = infrav1.AzureSubnet{Name: "nodes"}
			}), "", groupless, cloud.Transient, "has no spec.networkSpec.vnet.name yet",
		},
		{"a providerID of another cloud", wholeSpec(), "vsphere://x", nil, cloud.Invalid, "is not valid for Azure"},
		{"a paused AzureCluster", wholeSpec(), "", paused, cloud.Transient, "is paused"},
		{
			"a half-filled one: subscription", &infrav1.AzureVM{}, "", blueWith(t, nil, "spec.subscriptionID"), cloud.Transient,
			"has no spec.subscriptionID yet",
		},
		{
			"a half-filled one: group", &infrav1.AzureVM{}, "", blueWith(t, nil, "spec.resourceGroup"), cloud.Transient,
			"has no spec.resourceGroup yet",
		},
		{
			"a half-filled one: location", &infrav1.AzureVM{}, "", blueWith(t, nil, "spec.location"), cloud.Transient,
			"has no spec.location yet",
		},
		{
			"a half-filled one: network", &infrav1.AzureVM{}, "", blueWith(t, nil, "spec.networkSpec"), cloud.Transient,
			"has no spec.networkSpec.vnet.name yet",
		},
		{
			"a half-filled one: subnets", &infrav1.AzureVM{}, "", blueWith(t, nil, "spec.networkSpec.subnets"), cloud.Transient,
			"has no spec.networkSpec.subnets",
		},
		{
			"a subnet with a name that climbs", &infrav1.AzureVM{}, "",
			blueWith(t, []any{map[string]any{"name": "../x", "role": "node"}}, "spec.networkSpec.subnets"), cloud.Transient,
			"has no spec.networkSpec.subnets",
		},
		{
			"a group with a query", &infrav1.AzureVM{}, "", blueWith(t, "g?x", "spec.resourceGroup"), cloud.Invalid,
			"not the ID of a resource group: spec.azure or AzureCluster team/blue must have",
		},
		{
			"a group with a query, of the spec", without(func(s *infrav1.AzureVM) { s.ResourceGroup = "g?x" }), "", nil, cloud.Invalid,
			"not the ID of a resource group: spec.azure must have",
		},
		{
			"a subnet by name in a network whose subscription is not known yet", without(func(s *infrav1.AzureVM) {
				s.NetworkInterfaces[0].Subnet = infrav1.AzureSubnet{Name: "nodes"}
			}), "", blueWith(t, nil, "spec.subscriptionID"), cloud.Transient, "has no spec.networkSpec.vnet.name yet",
		},
		{
			"a number for a tag", &infrav1.AzureVM{}, "", blueWith(t, map[string]any{"team": int64(1)}, "spec.additionalTags"),
			cloud.Invalid, "in spec.additionalTags",
		},
		{
			"a subscription that is not a UUID", &infrav1.AzureVM{}, "", blueWith(t, "mine", "spec.subscriptionID"), cloud.Invalid,
			"not the ID of a resource group",
		},
		{"an edge zone", &infrav1.AzureVM{}, "", blueWith(t, "losangeles", "spec.extendedLocation.name"), cloud.Invalid, "edge zone"},
		{
			"a cloud of no name", &infrav1.AzureVM{}, "", blueWith(t, "AzureGermanCloud", "spec.azureEnvironment"), cloud.Invalid,
			"which is not defined",
		},
		{
			"a tag that Azure refuses", &infrav1.AzureVM{}, "", blueWith(t, map[string]any{"a/b": ""}, "spec.additionalTags"),
			cloud.Invalid, "spec.additionalTags",
		},
		{"a number for a text", &infrav1.AzureVM{}, "", blueWith(t, int64(1), "spec.location"), cloud.Invalid, "in spec.location"},
		{
			"texts for subnets", &infrav1.AzureVM{}, "", blueWith(t, []any{"x"}, "spec.networkSpec.subnets"), cloud.Invalid,
			"in spec.networkSpec.subnets",
		},
		{"a number in a subnet", &infrav1.AzureVM{}, "", blueWith(t, []any{map[string]any{"role": int64(1)}},
			"spec.networkSpec.subnets"), cloud.Invalid, "in role"},
		{
			"a text for subnets", &infrav1.AzureVM{}, "", blueWith(t, "x", "spec.networkSpec.subnets"), cloud.Invalid,
			"in spec.networkSpec.subnets",
		},
		{"a number for a failure domain", &infrav1.AzureVM{}, "", blueWith(t, []any{map[string]any{"name": int64(1)}},
			"status.failureDomains"), cloud.Invalid, "in name"},
		{
			"a text for failure domains", &infrav1.AzureVM{}, "", blueWith(t, "1", "status.failureDomains"), cloud.Invalid,
			"in status.failureDomains",
		},
	} {
		_, err := Resolve(test.spec, test.providerID, test.from)
		told, _ := errors.AsType[*cloud.Error](err)
		if told == nil || told.Kind != test.kind || told.Reason == "" || !strings.Contains(told.Message, test.want) {
			t.Errorf("%s: got %#v, want a %s error with %q", test.name, err, test.kind, test.want)
		}
	}
}
