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

// isTenant says whether a text names a tenant by its ID, as a cloud needs it in files for its programs.
func isTenant(text string) bool { return azure.IsTenantID(text) }

// blank is a field of the Cluster's infrastructure object that may have no value yet, and what stands in for it.
type blank struct {
	// what it is, and the field that says it.
	what, field string
	// value stands in for it. another is a different one, with which one sees what depends on the field.
	value, another string
	// defaultedBy sets the value if the object's author leaves it out; empty if nobody does.
	defaultedBy string
	// lacks says whether an object has no value, and set sets one.
	lacks func(object map[string]any) bool
	set   func(object map[string]any, value string)
}

// capz is who fills in an AzureCluster.
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
			what: "subnet", field: "spec.networkSpec.subnets", value: name + "-node-subnet", another: name + "-x", defaultedBy: capz,
			lacks: lacksNodeSubnet, set: nameNodeSubnet,
		},
		partBlank("security group", name+"-node-nsg", name+"-x", "securityGroup"),
		partBlank("route table", name+"-node-routetable", name+"-x", "routeTable"),
	}
}

// textBlank is a field with a text.
func textBlank(what, defaultedBy, value, another string, path ...string) blank {
	return blank{
		what: what, field: strings.Join(path, "."), value: value, another: another, defaultedBy: defaultedBy,
		lacks: func(object map[string]any) bool {
			text, there, err := unstructured.NestedString(object, path...)
			return err == nil && (!there || text == "") // of another type, the object is refused
		},
		set: func(object map[string]any, value string) {
			_ = unstructured.SetNestedField(object, value, path...) // fails where it is of another type
		},
	}
}

// partBlank is the name of something that a subnet of nodes has.
func partBlank(what, value, another, part string) blank {
	lacksPart := func(subnet map[string]any) bool {
		name, _, _ := unstructured.NestedString(subnet, part, "name")
		id, _, _ := unstructured.NestedString(subnet, part, "id")
		return name == "" && id == ""
	}
	return blank{
		what: what, field: "spec.networkSpec.subnets[]." + part + ".name", value: value, another: another, defaultedBy: capz,
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
		for _, one := range list {
			if subnet, ok := one.(map[string]any); ok && subnet["role"] == role {
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
	if there := nodeSubnets(object); len(there) > 0 {
		there[0]["name"] = name
		return
	}
	subnets, _, _ := unstructured.NestedSlice(object, "spec", "networkSpec", "subnets")
	subnets = append(subnets, map[string]any{"name": name, "role": "node", "natGateway": map[string]any{"name": name + "-natgw"}})
	_ = unstructured.SetNestedSlice(object, subnets, "spec", "networkSpec", "subnets") // fails where it is of another type
}
