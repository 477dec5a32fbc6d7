package bootstrap_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// inGroup is a VM in Azure whose spec names its resource group, with the providerID that follows from it.
func inGroup(name string) change {
	return func(in *bootstrap.Input) {
		onAzure(in)
		in.WindowsMachine.Spec.Azure.ResourceGroup = name
		in.WindowsMachine.Spec.ProviderID = strings.Replace(in.WindowsMachine.Spec.ProviderID, "/g/", "/"+strings.ToLower(name)+"/", 1)
	}
}

// nodeLabels is the kubelet's flag of that name.
func nodeLabels(t *testing.T, change change) string {
	t.Helper()
	service := stepOf[*plan.Service](t, render(t, plainInput(t, change)).Plan(), "kubelet-service")
	for _, argument := range shown(service.Command) {
		if value, is := strings.CutPrefix(argument, "--node-labels="); is {
			return value
		}
	}
	return ""
}

// TestResourceGroupLabel: Azure's cloud controller manager deletes a Node that is not ready if it does not find the VM in the
// group of this label, or of its azure.json. A group that comes from the AzureCluster is that of azure.json.
func TestResourceGroupLabel(t *testing.T) {
	const label = infrav1.ResourceGroupLabel + "="
	inherited := func(in *bootstrap.Input) { onAzure(in); withCloudConfig(in) }
	for _, test := range []struct {
		name   string
		change change
		want   string
	}{
		{"a group of the spec", inGroup("Windows-Nodes"), label + "windows-nodes"},
		{"beside others", all(inGroup("own"), withLabels("pool=blue")), label + "own,pool=blue"},
		{"said twice, in another case", all(inGroup("own"), withLabels(label+"OWN")), label + "own"},
		{"the cluster's group", inherited, ""},
		{"the cluster's group, said by the user", all(onAzure, withLabels(label+"g")), label + "g"},
		{"no value of a label", inGroup("nodes(blue)"), ""},
		{"too long for a label", inGroup(strings.Repeat("a", 64)), ""},
		{"on vSphere it says nothing", withLabels(label + "any"), label + "any"},
	} {
		expect.Same(t, test.name, test.want, nodeLabels(t, test.change))
	}
}

// TestContradictedGroup: a label of another group has Azure's cloud controller manager look where the VM is not.
func TestContradictedGroup(t *testing.T) {
	const label = infrav1.ResourceGroupLabel + "="
	for name, change := range map[string]change{
		"a group of the spec": all(inGroup("own"), withLabels(label+"other")),
		"the cluster's group": all(onAzure, withLabels(label+"other")),
		"no value of a label": all(inGroup("nodes(blue)"), withLabels(label+"other")),
		"no group":            all(inGroup("own"), withLabels(label)),
	} {
		_, err := bootstrap.Render(plainInput(t, change))
		if _, is := errors.AsType[*bootstrap.InvalidError](err); !is {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expect.Says(t, name, err, "spec.node.labels: "+infrav1.ResourceGroupLabel+" is ")
	}
}

// TestUnlabelledGroup: a group that can be no value of a label is told, unless it is the cluster's.
func TestUnlabelledGroup(t *testing.T) {
	warned := func(change change) bool {
		rendered, err := bootstrap.Render(plainInput(t, change))
		expect.OK(t, err)
		return slices.ContainsFunc(rendered.Warnings(), func(w string) bool {
			return strings.HasPrefix(w, `WindowsMachine spec.azure.resourceGroup: "nodes(blue)" cannot be the value of the label `)
		})
	}
	expect.Same(t, "a group of the spec", true, warned(inGroup("nodes(blue)")))
	expect.Same(t, "a good one", false, warned(inGroup("nodes-blue")))
	expect.Same(t, "the cluster's", false, warned(func(in *bootstrap.Input) {
		inGroup("nodes(blue)")(in)
		in.WindowsMachine.Spec.Azure.ResourceGroup = ""
	}))
}
