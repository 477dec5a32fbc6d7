package windows

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const cloudConfigField = "WindowsBootstrapConfig spec.node.cloudConfigFile"

// azureJSON is what cloud-provider-azure reads, with the names that it has there and the values that Cluster API Provider Azure
// gives its own nodes. It has no secret: the node uses its managed identity.
type azureJSON struct {
	Cloud                        string `json:"cloud"`
	TenantID                     string `json:"tenantId"`
	SubscriptionID               string `json:"subscriptionId"`
	ResourceGroup                string `json:"resourceGroup"`
	Location                     string `json:"location"`
	VMType                       string `json:"vmType"`
	VnetName                     string `json:"vnetName"`
	VnetResourceGroup            string `json:"vnetResourceGroup"`
	SubnetName                   string `json:"subnetName"`
	SecurityGroupName            string `json:"securityGroupName,omitempty"`
	SecurityGroupResourceGroup   string `json:"securityGroupResourceGroup,omitempty"`
	RouteTableName               string `json:"routeTableName,omitempty"`
	RouteTableResourceGroup      string `json:"routeTableResourceGroup,omitempty"`
	LoadBalancerName             string `json:"loadBalancerName,omitempty"`
	LoadBalancerSKU              string `json:"loadBalancerSku"`
	MaximumLoadBalancerRuleCount int    `json:"maximumLoadBalancerRuleCount"`
	UseInstanceMetadata          bool   `json:"useInstanceMetadata"`
	UseManagedIdentityExtension  bool   `json:"useManagedIdentityExtension"`
	UserAssignedIdentityID       string `json:"userAssignedIdentityID,omitempty"`
	EnableVmssFlexNodes          bool   `json:"enableVmssFlexNodes,omitempty"`
}

// networkID has the names of a resource of a network and of its resource group, and of a subnet in it.
var networkID = regexp.MustCompile(`(?i)^/subscriptions/[^/]+/resourceGroups/([^/]+)` +
	`/providers/Microsoft\.Network/[a-z]+/([^/]+)(?:/subnets/([^/]+))?$`)

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
	case in.Placement == nil || in.Placement.TenantID == "":
		return nil, fmt.Errorf("azure.json of %s: the WindowsMachine has no status.azure.tenantID", in.NodeName)
	}
	config, err := azureJSONOf(in.Placement)
	if err != nil {
		return nil, fmt.Errorf("azure.json of %s: %w", in.NodeName, err)
	}
	if in.VM != nil {
		config.EnableVmssFlexNodes = in.VM.ScaleSetID != ""
		config.UserAssignedIdentityID = theIdentity(in.VM.Identities)
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("azure.json of %s: %w", in.NodeName, err)
	}
	return azureJSONFile(append(text, '\n')), nil
}

// theIdentity is the resource ID of the VM's only identity. cloud-provider-azure takes it in place of a client ID
// (pkg/azclient/auth.go, GetAzIdentity), which nobody knows before there is a VM. The file has it although the VM has no other:
// policies of Azure add identities to VMs, and the metadata service refuses to choose between two.
func theIdentity(identities infrav1.AzureIdentities) string {
	if len(identities.UserAssigned) != 1 {
		return ""
	}
	return identities.UserAssigned[0]
}

func (a azureJSONFile) addTo(p *step.Part) {
	if len(a) > 0 {
		p.Add(step.PhasePrepare, step.PrivateFile("azure-json", step.ReasonNodeFilesFailed, step.AzureConfigFile, a))
	}
}

// identityRisks are about the login of the programs that read azure.json: the metadata service of the VM gives it.
func identityRisks(in Input) []string {
	if in.CloudConfigFile == "" || in.VM == nil {
		return nil
	}
	const field = "WindowsMachine spec.azure.identities"
	switch identities := in.VM.Identities; {
	case identities.Type == "" || identities.Type == infrav1.AzureIdentitiesNone:
		return []string{field + ": the VM has no identity, with which the programs that read " + step.AzureConfigFile +
			" log in to Azure; set one, or remove " + cloudConfigField}
	case len(identities.UserAssigned) > 1:
		return []string{fmt.Sprintf(
			"%s.userAssigned: the VM has %d identities, and %s names none, so Azure cannot choose one of them; use one",
			field, len(identities.UserAssigned), step.AzureConfigFile)}
	}
	return nil
}

// azureJSONOf has the VM type vmss as Cluster API Provider Azure has it for all its nodes. With it, cloud-provider-azure
// takes VMs that are in no scale set for those of availability sets, and looks for VMs of scale sets with flexible
// orchestration only if enableVmssFlexNodes is true (pkg/provider/azure_vmss_cache.go, getVMManagementTypeByNodeName).
func azureJSONOf(p *infrav1.AzurePlacement) (azureJSON, error) {
	config := azureJSON{
		Cloud: string(p.Cloud), TenantID: p.TenantID, SubscriptionID: p.SubscriptionID, ResourceGroup: p.ResourceGroup,
		Location: p.Location, VMType: "vmss", LoadBalancerName: p.LoadBalancerName, LoadBalancerSKU: "standard",
		MaximumLoadBalancerRuleCount: 250, UseInstanceMetadata: true, UseManagedIdentityExtension: true,
	}
	if len(p.SubnetIDs) == 0 {
		return azureJSON{}, errors.New("status.azure has no subnetIDs")
	}
	subnet := networkID.FindStringSubmatch(p.SubnetIDs[0])
	if len(subnet) == 0 || subnet[3] == "" {
		return azureJSON{}, fmt.Errorf("status.azure.subnetIDs[0] %q is not the resource ID of a subnet", p.SubnetIDs[0])
	}
	config.VnetResourceGroup, config.VnetName, config.SubnetName = subnet[1], subnet[2], subnet[3]
	config.SecurityGroupResourceGroup, config.SecurityGroupName = groupAndName(p.SecurityGroupID)
	config.RouteTableResourceGroup, config.RouteTableName = groupAndName(p.RouteTableID)
	return config, nil
}

// groupAndName are empty for what is none.
func groupAndName(id string) (group, name string) {
	if match := networkID.FindStringSubmatch(id); match != nil {
		group, name = match[1], match[2]
	}
	return group, name
}
