package request

import (
	"encoding/json"
	"slices"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rules"
)

// TestSeparateAdapters pass the rules of Microsoft.Network; their bodies are in testdata.
func TestSeparateAdapters(t *testing.T) {
	w := blueWant()
	fullWant(&w)
	wanted := &w.Machine.Spec.Azure.NetworkInterfaces[0]
	wanted.PrivateAddress = "10.1.5.5"
	body := expect.Got(doc.Read(expect.Got(json.Marshal(Adapter(w, 0)))(t)))(t)
	id, _ := doc.ParseID(blueGroup.Adapter("win-1-node").String())
	if refused := rules.CheckNIC(rules.Request{ID: id, Body: body, Version: "2025-01-01", Create: true}); refused != nil {
		t.Errorf("Azure answers %v", refused)
	}
}

// TestUntagged: where the api-version has no tags for them, what is made with a VM has none, and the VM keeps its own.
func TestUntagged(t *testing.T) {
	w := blueWant()
	fullWant(&w)
	w.Untagged = true
	vm := VM(w)
	for _, adapter := range vm.Properties.NetworkProfile.NetworkInterfaceConfigurations {
		if adapter.Tags != nil {
			t.Errorf("adapter %s has the tags %v", *adapter.Name, adapter.Tags)
		}
		public := adapter.Properties.IPConfigurations[0].Properties.PublicIPAddressConfiguration
		if public != nil && public.Tags != nil {
			t.Errorf("the public IP of %s has the tags %v", *adapter.Name, public.Tags)
		}
	}
	if len(vm.Tags) == 0 {
		t.Error("the VM has no tags")
	}
}

func TestHasPublic(t *testing.T) {
	private := infrav1.AzureNetworkInterface{PublicIP: infrav1.AzureDisabled}
	public := infrav1.AzureNetworkInterface{PublicIP: infrav1.AzureEnabled}
	for name, test := range map[string]struct {
		spec *infrav1.AzureVM
		want bool
	}{
		"another cloud":     {nil, false},
		"no adapters":       {&infrav1.AzureVM{}, false},
		"none is public":    {&infrav1.AzureVM{NetworkInterfaces: []infrav1.AzureNetworkInterface{private, {}}}, false},
		"the second has it": {&infrav1.AzureVM{NetworkInterfaces: []infrav1.AzureNetworkInterface{private, public}}, true},
	} {
		if got := HasPublic(test.spec); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestPools: a node reaches the Internet through the cluster's pool, or by an address of its own.
func TestPools(t *testing.T) {
	w := blueWant()
	w.Placement.OutboundPoolID = "out"
	for name, test := range map[string]struct {
		adapter infrav1.AzureNetworkInterface
		want    []string
	}{
		"none":                    {infrav1.AzureNetworkInterface{}, []string{"out"}},
		"its own besides":         {infrav1.AzureNetworkInterface{LoadBalancerPoolIDs: []string{"in"}}, []string{"in", "out"}},
		"the cluster's said once": {infrav1.AzureNetworkInterface{LoadBalancerPoolIDs: []string{"out"}}, []string{"out"}},
		"a public address":        {infrav1.AzureNetworkInterface{PublicIP: infrav1.AzureEnabled}, nil},
	} {
		w.Machine.Spec.Azure.NetworkInterfaces = []infrav1.AzureNetworkInterface{test.adapter, {Name: "other"}}
		if got := Pools(w, 0); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v", name, got)
		}
		if got := Pools(w, 1); len(got) > 0 {
			t.Errorf("%s: the second adapter joins %v", name, got)
		}
	}
}
