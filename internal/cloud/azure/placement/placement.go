// Package placement decides where in Azure a machine's VM goes and with whose rights, from values alone: the machine's spec, its
// providerID, and the AzureCluster of Cluster API Provider Azure, which fills in what the spec leaves out. A machine with a
// complete spec needs no AzureCluster. It calls nothing and remembers nothing.
package placement

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
)

// Resolve fills in what the spec leaves out. providerID holds over all else, because the VM is there; it is empty for a machine
// that is not claimed yet. azureCluster is nil if the Cluster has none.
func Resolve(
	spec *infrav1.AzureVM, providerID string, azureCluster *unstructured.Unstructured,
) (p infrav1.AzurePlacement, err error) {
	if spec == nil {
		return p, refuse("spec.azure is missing: add it with the settings of the VM")
	}
	c := cluster{environment: infrav1.AzurePublicCloud}
	if azureCluster != nil {
		if c, err = read(azureCluster); err != nil {
			return p, err
		}
	}
	home, err := group(spec, providerID, c)
	if err != nil {
		return p, err
	}
	p = infrav1.AzurePlacement{
		Cloud: c.environment, SubscriptionID: home.Subscription, ResourceGroup: home.Group, Location: cmp.Or(spec.Location, c.location),
		FailureDomains: c.failureDomains, Tags: c.tags,
	}
	if p.Location == "" {
		return infrav1.AzurePlacement{}, c.lacks("location", "location")
	}
	return p, c.connect(&p, spec)
}

// Home is the part of a placement that deletion needs. It needs no AzureCluster once the machine is claimed.
func Home(providerID string) (arm.ID, error) {
	vm, ok := arm.ReadProviderID(providerID)
	if !ok {
		return arm.ID{}, refuse("spec.providerID %q is not valid for Azure, which needs azure:/// and the ID of a VM with "+
			"subscription, group and name in lower case: delete the Machine, no VM was made for it; in a new one leave the field out, "+
			"because the controller sets it", cloud.Clean(providerID, 256))
	}
	return vm, nil
}

// group is the VM's, which a claimed machine has for ever.
func group(spec *infrav1.AzureVM, providerID string, c cluster) (arm.ID, error) {
	if providerID != "" {
		vm, err := Home(providerID)
		return vm.Parent(), err
	}
	id := arm.GroupID(cmp.Or(spec.SubscriptionID, c.subscription), cmp.Or(spec.ResourceGroup, c.group))
	switch {
	case id.Subscription == "":
		return arm.ID{}, c.lacks("subscriptionID", "subscriptionID")
	case id.Group == "":
		return arm.ID{}, c.lacks("resourceGroup", "resourceGroup")
	}
	if _, ok := arm.Parse(id.String()); !ok {
		return arm.ID{}, refuse("%q is not the ID of a resource group: %s must have a valid subscriptionID and resourceGroup",
			cloud.Clean(id.String(), 256), c.nameOr("spec.azure"))
	}
	if c.group != "" && !strings.EqualFold(id.Group, c.group) {
		return id, c.findable(id.Group)
	}
	return id, nil
}

// findable refuses a group beside the cluster's in which the cloud controller manager would never find the VM, and so delete its
// Node: it looks in the cluster's group, or in that of the Node's label.
func (c cluster) findable(group string) error {
	if len(validation.IsValidLabelValue(group)) == 0 {
		return nil
	}
	return refuse("spec.azure.resourceGroup %q is another group than %q of AzureCluster %s, and cannot be the value of the label "+
		"%s, by which Azure's cloud controller manager finds the VM of a Node: use a group of at most 63 letters, digits, "+
		"'-', '_' and '.', the first and the last a letter or digit, or the cluster's",
		cloud.Clean(group, 90), cloud.Clean(c.group, 90), c.name, infrav1.ResourceGroupLabel)
}

// connect finds the subnet of each adapter, and what belongs to the first.
func (c cluster) connect(p *infrav1.AzurePlacement, spec *infrav1.AzureVM) error {
	wanted := spec.NetworkInterfaces
	if len(wanted) == 0 {
		wanted = []infrav1.AzureNetworkInterface{{}}
	}
	for i, adapter := range wanted {
		id := adapter.Subnet.ID
		if id == "" {
			chosen, err := c.choose(i, adapter.Subnet.Name)
			if err != nil {
				return err
			}
			id = chosen
		}
		p.SubnetIDs = append(p.SubnetIDs, id)
	}
	if strings.EqualFold(p.SubscriptionID, c.subscription) && c.inNetwork(p.SubnetIDs[0]) {
		c.inherit(p)
	}
	return nil
}

// inherit takes over what the AzureCluster has for the first subnet, which is its own: a pool can only be joined from its own
// virtual network. A NAT gateway makes a pool needless.
func (c cluster) inherit(p *infrav1.AzurePlacement) {
	found := c.subnetOf(p.SubnetIDs[0])
	p.SecurityGroupID, p.RouteTableID = found.securityGroup, found.routeTable
	p.LoadBalancerName = c.balancer
	if c.balancer != "" && !found.natGateway {
		p.OutboundPoolID = arm.GroupID(c.subscription, c.group).Pool(c.balancer, c.pool).String()
	}
}

func refuse(format string, args ...any) error {
	return cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason, format, args...)
}
