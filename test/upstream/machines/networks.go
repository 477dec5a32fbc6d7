package machines

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// network is a way of pods on a cloud.
type network struct {
	mode, cni string
	azure     bool
}

// networks are every mode with every CNI on each cloud that it may be on.
var networks = []network{
	{"L2Bridge", "Flannel", false},
	{"L2Bridge", "AzureCNI", true},
	{"Overlay", "Calico", false},
	{"Overlay", "Flannel", true},
	{"L2Bridge", "Calico", true},
	{"Transparent", "Antrea", false},
	{"None", "", true},
	{"L2Bridge", "Calico", false},
	{"Overlay", "Flannel", false},
	{"Overlay", "Calico", true},
	{"None", "", false},
	{"L2Bridge", "Flannel", true},
	{"Transparent", "", false},
	{"", "", true},
	{"", "", false},
}

func (n network) apply(d *draft) error {
	if n.azure {
		onAzure(d)
	}
	if n.mode == "" {
		return nil
	}
	d.Cluster.Spec.ClusterNetwork = clusterv1.ClusterNetwork{
		Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{"10.244.0.0/16"}},
		Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}},
	}
	text := fmt.Sprintf("network: {mode: %s}", n.mode)
	if n.cni != "" {
		text = fmt.Sprintf("network: {mode: %s, cni: %s}", n.mode, n.cni)
	}
	if n.cni == "AzureCNI" {
		text = "network: {mode: L2Bridge, cni: AzureCNI, exceptionCIDRs: [10.128.0.0/9, 10.128.4.0/22]}"
	}
	return d.spec(text)
}

const azureTenant = "11111111-2222-3333-4444-555555555555"

// onAzure is a machine of which azure.json can be written.
func onAzure(d *draft) {
	const group = "/subscriptions/s/resourceGroups/network/providers/Microsoft.Network/"
	d.WindowsMachine.Spec.VSphere = nil
	d.WindowsMachine.Spec.Azure = &infrav1.AzureVM{VMSize: "Standard_D4s_v5", Identities: infrav1.AzureIdentities{
		Type:         infrav1.AzureIdentitiesUserAssigned,
		UserAssigned: []string{"/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes"},
	}}
	d.WindowsMachine.Spec.ProviderID = "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm"
	d.WindowsMachine.Status.Azure = &infrav1.AzurePlacement{
		Cloud: infrav1.AzurePublicCloud, TenantID: azureTenant, SubscriptionID: azureTenant, ResourceGroup: "nodes",
		Location: "westeurope", SubnetIDs: []string{group + "virtualNetworks/vnet/subnets/nodes"},
		SecurityGroupID: group + "networkSecurityGroups/nodes-nsg", RouteTableID: group + "routeTables/nodes-routes",
		LoadBalancerName: "green",
	}
}

// addresses are one to three adapters, of which the first may be DHCP's.
func addresses(d *draft) error {
	count := 1 + d.random.IntN(3)
	for i := range count {
		number := i + 1
		name := []string{"node", "storage", "backup"}[i]
		spec := infrav1.VSphereNetworkInterface{Name: name, Network: "VM Network"}
		found := infrav1.MachineNetworkInterface{Name: name, MACAddress: fmt.Sprintf("00:50:56:00:00:0%d", number)}
		if i > 0 || d.random.IntN(2) == 0 {
			spec.AddressesFromPools = []infrav1.IPPoolReference{{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "pool"}}
			spec.Nameservers, spec.MTU = []string{"10.0.0.2", "fd00::2"}, 1450
			spec.Routes = []infrav1.NetworkRoute{{To: fmt.Sprintf("172.%d.0.0/16", 16+i), Via: fmt.Sprintf("10.%d.0.9", i)}}
			found.Addresses = []infrav1.NetworkAddress{{Address: fmt.Sprintf("10.%d.0.5/24", i), Gateway: fmt.Sprintf("10.%d.0.1", i)}}
		}
		d.WindowsMachine.Spec.VSphere.NetworkInterfaces = append(d.WindowsMachine.Spec.VSphere.NetworkInterfaces, spec)
		d.WindowsMachine.Status.NetworkInterfaces = append(d.WindowsMachine.Status.NetworkInterfaces, found)
	}
	return nil
}

// azureAdapters are several, of which the CNI is told the one.
func azureAdapters(d *draft) error {
	d.WindowsMachine.Spec.Azure.NetworkInterfaces = []infrav1.AzureNetworkInterface{{Name: "node"}, {Name: "storage"}}
	return nil
}

// dualStack has pods and Services of both families.
func dualStack(d *draft) error {
	if d.Config.Spec.Network.Mode == "" {
		return nil
	}
	d.Cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"10.244.0.0/16", "fd00:10:244::/56"}
	d.Cluster.Spec.ClusterNetwork.Services.CIDRBlocks = []string{"10.96.0.0/16", "fd00:10:96::/112"}
	return nil
}
