package admission

import (
	"fmt"
	"slices"
	"strings"
)

// azureSpec has every field but those of azureVariants.
const (
	azureSpec = `{identityRef: {kind: Secret, name: identity}, azure: {subscriptionID: 11111111-2222-3333-4444-555555555555,
	  resourceGroup: group, location: westeurope, zones: ["1", "2"], vmSize: Standard_D4s_v5,
	  fallbackVMSizes: [Standard_D4as_v5], image: {id: ` + azureImage + `, setup: CloudbaseInit},
	  osDisk: {sizeGiB: 128, type: Premium_LRS, caching: ReadOnly, diskEncryptionSetID: ` + encryptionSet + `,
	  securityEncryptionType: VMGuestStateOnly, ephemeralPlacement: Cache},
	  dataDisks: [{name: data, sizeGiB: 256, lun: 0, type: UltraSSD_LRS, caching: None,
	  diskEncryptionSetID: ` + encryptionSet + `}], diskController: NVMe, ultraSSD: Enabled,
	  networkInterfaces: [{name: node, subnet: {id: ` + subnet + `}, acceleratedNetworking: Enabled, ipForwarding: Enabled,
	  secondaryAddresses: 30, publicIP: Enabled, dnsServers: [10.0.0.2], networkSecurityGroupID: ` + azureFirewall + `,
	  applicationSecurityGroupIDs: [` + applicationGroup + `], loadBalancerPoolIDs: [` + backendPool + `]}],
	  priority: Spot, spot: {maxPrice: "0.25", evictionPolicy: Delete},
	  securityProfile: {securityType: ConfidentialVM, secureBoot: Enabled, vTPM: Enabled, encryptionAtHost: Enabled},
	  identities: {type: UserAssigned, userAssigned: [` + managedIdentity + `]}, proximityPlacementGroupID: ` + placementGroup + `,
	  scaleSetID: ` + scaleSet + `, bootDiagnostics: {type: UserManaged, storageURI: "https://nodes.blob.core.windows.net/"},
	  additionalTags: {pool: blue}, extensionOperations: Enabled, windows: {licenseType: Windows_Server, timeZone: UTC,
	  patchMode: AutomaticByPlatform, assessmentMode: ImageDefault, hotpatch: Enabled}}}`

	inNetwork        = "/subscriptions/" + guid + "/resourceGroups/net/providers/Microsoft.Network"
	inCompute        = "/subscriptions/" + guid + "/resourceGroups/vms/providers/Microsoft.Compute"
	encryptionSet    = inCompute + "/diskEncryptionSets/keys"
	azureFirewall    = inNetwork + "/networkSecurityGroups/nodes"
	applicationGroup = inNetwork + "/applicationSecurityGroups/nodes"
	backendPool      = inNetwork + "/loadBalancers/blue/backendAddressPools/nodes"
	managedIdentity  = "/subscriptions/" + guid + "/resourceGroups/a/providers/Microsoft.ManagedIdentity/userAssignedIdentities/b"
	placementGroup   = inCompute + "/proximityPlacementGroups/near"
	scaleSet         = inCompute + "/virtualMachineScaleSets/nodes"
	reservation      = inCompute + "/capacityReservationGroups/kept"
	hostGroup        = inCompute + "/hostGroups/ours"
	oneHost          = hostGroup + "/hosts/one"
)

// variant has the edits of azureSpec that a field needs, because it excludes others. null leaves a field out.
type variant struct{ field, edits string }

var azureVariants = []variant{
	{
		"spec.azure.image.computeGallery",
		`{image.id: null, image.computeGallery: {gallery: windows, name: ws2022, version: 1.0.0, resourceGroup: images,
		  subscriptionID: ` + guid + `}}`,
	},
	{
		"spec.azure.image.communityGallery",
		`{image.id: null, image.communityGallery: {gallery: ClusterAPI-1, name: windows, version: 1.0.0}}`,
	},
	{
		"spec.azure.image.marketplace",
		`{image.id: null, image.marketplace: {publisher: cncf, offer: capi, sku: ws2022, version: 1.0.0, plan: Image}}`,
	},
	{
		"spec.azure.capacityReservationGroupID",
		`{priority: null, spot: null, proximityPlacementGroupID: null, capacityReservationGroupID: ` + reservation + `}`,
	},
	{"spec.azure.hostGroupID", `{priority: null, spot: null, hostGroupID: ` + hostGroup + `}`},
	{"spec.azure.hostID", `{priority: null, spot: null, hostID: ` + oneHost + `}`},
	{
		"spec.azure.networkInterfaces[].privateAddress",
		`{"networkInterfaces[].publicIP": null, "networkInterfaces[].privateAddress": 10.1.0.5}`,
	},
	{"spec.azure.networkInterfaces[].subnet.name", `{"networkInterfaces[].subnet": {name: nodes}}`},
}

// variantOf is the variant that a field needs, or the empty one.
func variantOf(field string) variant {
	for _, v := range azureVariants {
		if field == v.field || strings.HasPrefix(field, v.field+".") {
			return v
		}
	}
	return variant{edits: "{}"}
}

func variantFields() []string {
	all := make([]string, 0, len(azureVariants))
	for _, v := range azureVariants {
		all = append(all, v.field)
	}
	return all
}

// each is a list item with a number in the place of %d, from 1.
func each(format string) func(int) any {
	return func(i int) any { return parse("{item: " + fmt.Sprintf(format, i+1) + "}")["item"] }
}

// azureIDs are the fields with IDs, with one that is right, the type that a refusal names, and one of another type.
var azureIDs = []struct{ field, right, message, other string }{
	idOf("capacityReservationGroupID", reservation, "a capacity reservation group"),
	idOf("hostGroupID", hostGroup, "a host group"), idOf("hostID", oneHost, "a host"),
	idOf("proximityPlacementGroupID", placementGroup, "a proximity placement group"),
	idOf("scaleSetID", scaleSet, "a scale set"),
	idOf("osDisk.diskEncryptionSetID", encryptionSet, "a disk encryption set"),
	idOf("dataDisks[].diskEncryptionSetID", encryptionSet, "a disk encryption set"),
	idOf("networkInterfaces[].networkSecurityGroupID", azureFirewall, "a network security group"),
	idOf("networkInterfaces[].applicationSecurityGroupIDs[]", applicationGroup, "an application security group"),
	idOf("networkInterfaces[].loadBalancerPoolIDs[]", backendPool, "a backend pool"),
	idOf("identities.userAssigned[]", managedIdentity, "a managed identity"),
}

// idOf is the row of a field; its message is the form of the right ID.
func idOf(field, right, what string) (row struct{ field, right, message, other string }) {
	row.field, row.right, row.other = "spec.azure."+field, right, subnet
	parts := strings.Split(right, "/") // "", subscriptions, UUID, resourceGroups, NAME, providers, PROVIDER, TYPE, NAME, ...
	parts[2] = "<UUID>"
	for i := 4; i < len(parts); i += 2 {
		if i != 6 {
			parts[i] = "<name>"
		}
	}
	row.message = "must be the resource ID of " + what + ": " + strings.Join(parts, "/")
	return row
}

var azureLimits = slices.Concat(
	[]limit{
		longest("spec.azure.subscriptionID", guid, guid+"1", 36),
		atMost("spec.azure.resourceGroup", 90),
		atMost("spec.azure.location", 64),
		longest("spec.azure.zones[]", "3", "31", 1),
		required("spec.azure.vmSize"), atMost("spec.azure.vmSize", 64), atMost("spec.azure.fallbackVMSizes[]", 64),
		longest("spec.azure.image.id", azureImage+strings.Repeat("1", 1024-len(azureImage)), azureImage+long(1024), 1024),
		oneOf("spec.azure.image.setup", "CloudbaseInit", "Sysprep"),
		{"spec.azure.additionalTags", "maxProperties", labels(45), labels(46), "must have at most 45 items"},
		longest("spec.azure.additionalTags.pool", long(256), long(257), 256),
		longest("spec.azure.spot.maxPrice", "123456.12345", "123456.123456", 12),
		longest("spec.azure.bootDiagnostics.storageURI", right, "https://a.blob."+long(256), 256),
		longest("spec.azure.windows.timeZone", "A"+long(49)+" Standard Time", "A"+long(50)+" Standard Time", 64),
	},
	upTo("spec.azure.zones", 3, each(`"%d"`)),
	azureIDLimits(), azureImageLimits, azureDiskLimits, azureAdapterLimits, azureEnums,
)
