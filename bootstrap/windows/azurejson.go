package windows

import (
	"encoding/json"
	"fmt"
	"regexp"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const cloudConfigField = "WindowsBootstrapConfig spec.node.cloudConfigFile"

// azureJSON is what cloud-provider-azure reads. It has no secret: the node uses its managed identity.
type azureJSON struct {
	Cloud                       string `json:"cloud"`
	TenantID                    string `json:"tenantId"`
	SubscriptionID              string `json:"subscriptionId"`
	ResourceGroup               string `json:"resourceGroup"`
	Location                    string `json:"location"`
	VMType                      string `json:"vmType"`
	VnetName                    string `json:"vnetName"`
	VnetResourceGroup           string `json:"vnetResourceGroup"`
	SubnetName                  string `json:"subnetName"`
	SecurityGroupName           string `json:"securityGroupName,omitempty"`
	RouteTableName              string `json:"routeTableName,omitempty"`
	LoadBalancerSKU             string `json:"loadBalancerSku"`
	UseInstanceMetadata         bool   `json:"useInstanceMetadata"`
	UseManagedIdentityExtension bool   `json:"useManagedIdentityExtension"`
	UserAssignedIdentityID      string `json:"userAssignedIdentityID,omitempty"`
}

// subnetID has the names of the network and its resource group.
var subnetID = regexp.MustCompile(`(?i)^/subscriptions/[^/]+/resourceGroups/([^/]+)` +
	`/providers/Microsoft\.Network/virtualNetworks/([^/]+)/subnets/([^/]+)$`)

// azureJSONFile is the text of azure.json; empty if it is not wanted.
type azureJSONFile []byte

// readAzureJSON needs the machine's placement, which only the machine's controller knows: it fills in what the spec left out.
func readAzureJSON(in Input) (setting, error) {
	switch {
	case in.CloudConfigFile == "":
		return azureJSONFile(nil), nil
	case in.CloudConfigFile != bootstrapv1.CloudConfigFileManaged:
		return nil, step.Invalid(cloudConfigField, "%q is not valid; use Managed, or remove it", in.CloudConfigFile)
	case !in.OnAzure:
		return nil, step.Invalid(cloudConfigField, "has no effect, because the machine is not on Azure; remove it")
	case in.Placement == nil:
		return nil, fmt.Errorf("azure.json of %s: the WindowsMachine has no status.azure", in.NodeName)
	}
	config, err := azureJSONOf(in.Placement)
	if err != nil {
		return nil, fmt.Errorf("azure.json of %s: %w", in.NodeName, err)
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("azure.json of %s: %w", in.NodeName, err)
	}
	return azureJSONFile(append(text, '\n')), nil
}

func (a azureJSONFile) addTo(p *step.Part) {
	if len(a) > 0 {
		p.Add(step.PhasePrepare, step.PrivateFile("azure-json", step.ReasonNodeFilesFailed, step.AzureConfigFile, a))
	}
}

func azureJSONOf(at *infrav1.AzurePlacement) (azureJSON, error) {
	subnet := subnetID.FindStringSubmatch(at.SubnetID)
	if subnet == nil {
		return azureJSON{}, fmt.Errorf("status.azure.subnetID %q is not the resource ID of a subnet", at.SubnetID)
	}
	return azureJSON{
		Cloud: string(at.Cloud), TenantID: at.TenantID, SubscriptionID: at.SubscriptionID, ResourceGroup: at.ResourceGroup,
		Location: at.Location, VMType: "standard", VnetResourceGroup: subnet[1], VnetName: subnet[2], SubnetName: subnet[3],
		SecurityGroupName: at.SecurityGroupName, RouteTableName: at.RouteTableName, LoadBalancerSKU: "standard",
		UseInstanceMetadata: true, UseManagedIdentityExtension: true, UserAssignedIdentityID: at.NodeIdentityClientID,
	}, nil
}
