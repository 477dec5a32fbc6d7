package preview

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
)

// providerOf is the cloud of a machine, of which the API wants exactly one.
func providerOf(windows *infrav1.WindowsMachine) cloud.Provider {
	if windows.Spec.VSphere != nil {
		return vsphere.Provider{}
	}
	return azure.Provider{}
}

// Metadata returns the cloud-init metadata that names the computer, or nil if the cloud names it in another way.
func (m *Machine) Metadata() []byte {
	if m.Windows.Spec.VSphere == nil {
		return nil
	}
	return vsphere.Metadata(cloud.Machine{Identity: m.identity, Key: client.ObjectKeyFromObject(m.Windows), Spec: m.Windows.Spec})
}

// isTenant reports whether a text is a tenant's ID, which files for a cloud's programs need.
func isTenant(text string) bool { return azure.IsTenantID(text) }

// blank is a field of the Cluster's infrastructure object that may have no value yet, and what stands in for it.
type blank struct {
	// name is the name of the thing in sentences, and field the field for it.
	name, field string
	// value is the placeholder. substitute is a different one, which shows what depends on the field.
	value, substitute string
	// defaultedBy is the component that sets the value if the object's author leaves it out; empty if none does.
	defaultedBy string
	// lacks reports whether an object has no value, and set sets one.
	lacks func(object map[string]any) bool
	set   func(object map[string]any, value string)
}

// capz is the provider that fills in an AzureCluster.
const capz = "Cluster API Provider Azure"

// noID is the form of Azure's subscriptions and tenants, and none of them.
const noID = "00000000-0000-0000-0000-000000000000"

// blanksOf are those of an AzureCluster: what Resolve reads, and what the webhook of Cluster API Provider Azure sets there
// (internal/api/v1beta1/azurecluster_default.go).
func blanksOf(name string) []blank {
	return []blank{
		textBlank("subscription", "", noID, "11111111-1111-1111-1111-111111111111", "spec", "subscriptionID"),
		textBlank("resource group", capz, name, name+"-x", "spec", "resourceGroup"),
		textBlank("location", "", "placeholder", "another", "spec", "location"),
		textBlank("virtual network", capz, name+"-vnet", name+"-x", "spec", "networkSpec", "vnet", "name"),
		{
			name: "subnet", field: "spec.networkSpec.subnets", value: name + "-node-subnet", substitute: name + "-x", defaultedBy: capz,
			lacks: lacksNodeSubnet, set: nameNodeSubnet,
		},
		partBlank("security group", name+"-node-nsg", name+"-x", "securityGroup"),
		partBlank("route table", name+"-node-routetable", name+"-x", "routeTable"),
	}
}

// textBlank is a field with a text.
func textBlank(name, defaultedBy, value, substitute string, path ...string) blank {
	return blank{
		name: name, field: strings.Join(path, "."), value: value, substitute: substitute, defaultedBy: defaultedBy,
		lacks: func(object map[string]any) bool {
			text, found, err := unstructured.NestedString(object, path...)
			return err == nil && (!found || text == "") // of another type, the object is refused
		},
		set: func(object map[string]any, value string) {
			_ = unstructured.SetNestedField(object, value, path...) // fails where it is of another type
		},
	}
}

// partBlank is the name of something that a subnet of nodes has.
func partBlank(name, value, substitute, part string) blank {
	lacksPart := func(subnet map[string]any) bool {
		name, _, _ := unstructured.NestedString(subnet, part, "name")
		id, _, _ := unstructured.NestedString(subnet, part, "id")
		return name == "" && id == ""
	}
	return blank{
		name: name, field: "spec.networkSpec.subnets[]." + part + ".name", value: value, substitute: substitute, defaultedBy: capz,
		lacks: func(object map[string]any) bool {
			subnets := nodeSubnets(object)
			return len(subnets) > 0 && lacksPart(subnets[0])
		},
		set: func(object map[string]any, value string) {
			for _, subnet := range nodeSubnets(object) {
				_ = unstructured.SetNestedField(subnet, value, part, "name")
			}
		},
	}
}

// nodeSubnets are the subnets that nodes may be in; the objects are the original ones.
func nodeSubnets(object map[string]any) (found []map[string]any) {
	subnets, _, _ := unstructured.NestedFieldNoCopy(object, "spec", "networkSpec", "subnets")
	list, _ := subnets.([]any)
	for _, role := range []string{"node", "cluster"} {
		for _, item := range list {
			if subnet, ok := item.(map[string]any); ok && subnet["role"] == role {
				found = append(found, subnet)
			}
		}
	}
	return found
}

func lacksNodeSubnet(object map[string]any) bool {
	_, _, err := unstructured.NestedSlice(object, "spec", "networkSpec", "subnets")
	return err == nil && len(nodeSubnets(object)) == 0
}

// nameNodeSubnet names the first subnet of nodes, or adds one as Cluster API Provider Azure does.
func nameNodeSubnet(object map[string]any, name string) {
	if subnets := nodeSubnets(object); len(subnets) > 0 {
		subnets[0]["name"] = name
		return
	}
	subnets, _, _ := unstructured.NestedSlice(object, "spec", "networkSpec", "subnets")
	subnets = append(subnets, map[string]any{"name": name, "role": "node", "natGateway": map[string]any{"name": name + "-natgw"}})
	_ = unstructured.SetNestedSlice(object, subnets, "spec", "networkSpec", "subnets") // fails where it is of another type
}
