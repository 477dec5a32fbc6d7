// Package cloudprovider is Azure's cloud provider (kubernetes-sigs/cloud-provider-azure 7b31c76) in a cluster whose VMs are in
// the simulated Azure. Its cloud controller manager is the real program where there is one, and a stand-in else (manager.go). Its
// node manager is a stand-in (node.go), because the real one asks the metadata service of the VM that it runs on.
package cloudprovider

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// Config is what the cloud controller manager reads in azure.json.
type Config struct {
	SubscriptionID, Location, ResourceGroup                 string
	VNetName, VNetResourceGroup, SubnetName, RouteTableName string
	SecurityGroupName, SecurityGroupResourceGroup           string
	VMType                                                  string
	EnableVMSSFlexNodes                                     bool
	UseManagedIdentityExtension                             bool
	UserAssignedIdentityID                                  string
}

// ReadConfig reads azure.json. Names of fields are compared without their case, as upstream does (sigs.k8s.io/yaml).
func ReadConfig(text []byte) (Config, error) {
	var config Config
	if err := json.Unmarshal(text, &config); err != nil {
		return config, fmt.Errorf("\"Failed to parse Azure cloud provider config\" err=\"%w\"", err)
	}
	return config, nil
}

// ofSimulator is an azure.json for the simulated Azure: another cloud than the public one, and no VM's metadata service. All else
// stays as it is.
func ofSimulator(text []byte, cloud *armsim.Cloud) ([]byte, error) {
	all := map[string]any{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read azure.json: %w", err)
	}
	all["cloud"], all["disableAzureStackCloud"], all["resourceManagerEndpoint"] = "AzureStackCloud", true, cloud.Endpoint()
	all["useInstanceMetadata"] = false
	return json.Marshal(all)
}

// finds says whether the manager takes a Node's provider ID for one of a VM in Azure. It leaves others alone: to it they are not
// managed (pkg/provider/azure_wrap.go, IsNodeUnmanagedByProviderID).
func finds(providerID string) bool {
	return strings.HasPrefix(providerID, "azure:///subscriptions/") &&
		strings.Contains(strings.ToLower(providerID), "/providers/microsoft.compute/")
}
