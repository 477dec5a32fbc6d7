package windows

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const azureJSONField = windowsField + ".azureCloudConfig"

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

var (
	guid        = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	azureName   = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]{0,79})?$`)
	azureSubnet = regexp.MustCompile(`(?i)^/subscriptions/[^/]+/resourceGroups/([^/]+)` +
		`/providers/Microsoft\.Network/virtualNetworks/([^/]+)/subnets/([^/]+)$`)
	azureClouds = []string{"AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud"}
)

// azureJSONFile is the text of azure.json; empty if it is not wanted.
type azureJSONFile []byte

func readAzureJSON(in Input) (setting, error) {
	if in.Spec.AzureCloudConfig == (bootstrapv1.AzureCloudConfig{}) {
		return azureJSONFile(nil), nil
	}
	if !in.OnAzure {
		return nil, step.Invalid(azureJSONField, "has no effect, because the machine is not on Azure; remove it")
	}
	config, err := azureJSONOf(in.Spec.AzureCloudConfig, in.AzureVM)
	if err != nil {
		return nil, err
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

func azureJSONOf(wanted bootstrapv1.AzureCloudConfig, vm *infrav1.AzureVM) (azureJSON, error) {
	const field = azureJSONField
	cloud := strings.TrimSpace(string(wanted.Cloud))
	if cloud == "" {
		cloud = azureClouds[0]
	}
	subnet := azureSubnet.FindStringSubmatch(subnetOf(vm))
	switch {
	case !slices.Contains(azureClouds, cloud):
		return azureJSON{}, step.Invalid(field+".cloud", "%q is not valid; use %s", cloud, step.OneOf(azureClouds))
	case !guid.MatchString(wanted.TenantID):
		return azureJSON{}, step.Invalid(field+".tenantID",
			"%q is not an ID; use that of the subscription's tenant (az account show)", wanted.TenantID)
	case wanted.UserAssignedIdentityID != "" && !guid.MatchString(wanted.UserAssignedIdentityID):
		return azureJSON{}, step.Invalid(field+".userAssignedIdentityID",
			"%q is not an ID; use the client ID of the identity", wanted.UserAssignedIdentityID)
	case !azureName.MatchString(wanted.SecurityGroupName):
		return azureJSON{}, step.Invalid(field+".securityGroupName",
			"%q is not a name; use the last part of its resource ID", wanted.SecurityGroupName)
	case !azureName.MatchString(wanted.RouteTableName):
		return azureJSON{}, step.Invalid(field+".routeTableName",
			"%q is not a name; use the last part of its resource ID", wanted.RouteTableName)
	case subnet == nil:
		return azureJSON{}, step.Invalid("WindowsMachine spec.azure.networkInterfaces[0].subnet.id",
			"%q is not the resource ID of a subnet; use /subscriptions/.../subnets/NAME",
			subnetOf(vm))
	}
	return azureJSON{
		Cloud: cloud, TenantID: wanted.TenantID, SubscriptionID: vm.SubscriptionID, ResourceGroup: vm.ResourceGroup,
		Location: vm.Location, VMType: "standard", VnetResourceGroup: subnet[1], VnetName: subnet[2], SubnetName: subnet[3],
		SecurityGroupName: wanted.SecurityGroupName, RouteTableName: wanted.RouteTableName, LoadBalancerSKU: "standard",
		UseInstanceMetadata: true, UseManagedIdentityExtension: true, UserAssignedIdentityID: wanted.UserAssignedIdentityID,
	}, nil
}

// subnetOf is the subnet of the VM's primary adapter.
func subnetOf(vm *infrav1.AzureVM) string {
	if len(vm.NetworkInterfaces) == 0 {
		return ""
	}
	return vm.NetworkInterfaces[0].Subnet.ID
}
