package conflicts

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// azureCluster is what matters of one.
type azureCluster struct {
	object objects.Object
	Spec   struct {
		Location, SubscriptionID, ResourceGroup string
		NetworkSpec                             struct {
			VNet    struct{ Name, ResourceGroup string }
			Subnets []struct{ Name, Role string }
		}
	}
}

// inCluster is the Cluster's AzureCluster and the pool's spec; false if one of them is not there.
func (s Subject) inCluster() (cluster azureCluster, spec *infrav1.AzureVM, found bool) {
	object, found := s.infrastructure()
	if !found || object.Kind != "AzureCluster" || s.Windows.Spec.Azure == nil {
		return cluster, nil, false
	}
	cluster = read[azureCluster](object)
	cluster.object = object
	return cluster, s.Windows.Spec.Azure, true
}

// location: a VM must be in the region of its virtual network, and that of the cluster is in the cluster's.
func (s Subject) location() []string {
	cluster, spec, found := s.inCluster()
	if !found || spec.Location == "" || cluster.Spec.Location == "" || region(spec.Location) == region(cluster.Spec.Location) {
		return nil
	}
	return note("spec.azure.location is %q, but %s is in %q: Azure makes a VM only in the region of its virtual network. Remove "+
		"location, or set subnet.id of each network interface to a subnet in %s", spec.Location, cluster.object, cluster.Spec.Location,
		spec.Location)
}

// region is the name of a region as Azure compares it: West Europe is westeurope.
func region(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "")) }

// subnetID has the subscription, group, network and subnet of an ID.
var subnetID = regexp.MustCompile(
	`(?i)^/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft\.Network/virtualNetworks/([^/]+)/subnets/([^/]+)$`)

// subnets are those of adapters that are not for nodes, or not in the cluster's network.
func (s Subject) subnets() (notes []string) {
	cluster, spec, found := s.inCluster()
	if !found {
		return nil
	}
	for i, adapter := range spec.NetworkInterfaces {
		name := adapter.Subnet.Name
		field := "name"
		if parts := subnetID.FindStringSubmatch(adapter.Subnet.ID); parts != nil {
			name, field = parts[4], "id"
			if subnetNetwork, clusterNetwork := cluster.otherNetwork(parts); clusterNetwork != "" {
				notes = append(notes, note("spec.azure.networkInterfaces[%d].subnet.id is in the virtual network %s, but that of %s is "+
					"%s: a node reaches the API server only if the networks are peered; if that is not meant, write subnet: {name: NAME}",
					i, subnetNetwork, cluster.object, clusterNetwork)...)
				continue
			}
		}
		if cluster.isControlPlanes(name) {
			notes = append(notes, note("spec.azure.networkInterfaces[%d].subnet.%s is that of the control plane: %s gives %q the role "+
				"control-plane, and its security group and addresses are made for control planes; %s", i, field, cluster.object, name,
				cluster.forNodes())...)
		}
	}
	return notes
}

// otherNetwork names the virtual network of a subnet's ID and that of the cluster, if these are two. What the AzureCluster
// leaves to its provider is not compared.
func (a azureCluster) otherNetwork(parts []string) (subnetNetwork, clusterNetwork string) {
	network := a.Spec.NetworkSpec.VNet
	group := cmp.Or(network.ResourceGroup, a.Spec.ResourceGroup)
	for i, value := range []string{a.Spec.SubscriptionID, group, network.Name} {
		if value != "" && !strings.EqualFold(value, parts[i+1]) {
			part := []string{"subscription ", "resource group ", "name "}[i]
			return parts[3] + " (" + part + parts[i+1] + ")", network.Name + " (" + part + value + ")"
		}
	}
	return "", ""
}

func (a azureCluster) isControlPlanes(name string) bool {
	for _, subnet := range a.Spec.NetworkSpec.Subnets {
		if strings.EqualFold(subnet.Name, name) {
			return subnet.Role == "control-plane" || subnet.Role == "bastion"
		}
	}
	return false
}

// forNodes names the subnet to write.
func (a azureCluster) forNodes() string {
	var names []string
	for _, subnet := range a.Spec.NetworkSpec.Subnets {
		if subnet.Role == "node" || subnet.Role == "cluster" {
			names = append(names, subnet.Name)
		}
	}
	if len(names) == 0 {
		return "leave subnet out, or write one for nodes"
	}
	slices.Sort(names)
	return "write " + strings.Join(names, " or ") + ", or leave subnet out"
}
