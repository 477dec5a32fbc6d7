package admission

import (
	"slices"
	"strings"
)

func azureIDLimits() (all []limit) {
	for _, id := range azureIDs {
		all = append(all, longest(id.field, id.right, id.right+long(512), 512))
	}
	return all
}

var azureImageLimits = slices.Concat(
	[]limit{
		atMost("spec.azure.image.computeGallery.gallery", 80), atMost("spec.azure.image.computeGallery.name", 80),
		longest("spec.azure.image.computeGallery.version", "1.0."+strings.Repeat("1", 28), "1.0."+strings.Repeat("1", 29), 32),
		longest("spec.azure.image.computeGallery.subscriptionID", guid, guid+"1", 36),
		atMost("spec.azure.image.computeGallery.resourceGroup", 90),
		atMost("spec.azure.image.communityGallery.gallery", 128), atMost("spec.azure.image.communityGallery.name", 80),
		longest("spec.azure.image.communityGallery.version", "latest", "1.0."+strings.Repeat("1", 29), 32),
		atMost("spec.azure.image.marketplace.publisher", 80), atMost("spec.azure.image.marketplace.offer", 80),
		atMost("spec.azure.image.marketplace.sku", 80),
		longest("spec.azure.image.marketplace.version", "latest", "1.0."+strings.Repeat("1", 29), 32),
		oneOf("spec.azure.image.marketplace.plan", "None", "windows"),
	},
)

var azureDiskLimits = slices.Concat(
	between("spec.azure.osDisk.sizeGiB", 1, 4095),
	[]limit{required("spec.azure.dataDisks[].name"), required("spec.azure.dataDisks[].sizeGiB")},
	[]limit{atMost("spec.azure.dataDisks[].name", 32)},
	between("spec.azure.dataDisks[].sizeGiB", 1, 65536), between("spec.azure.dataDisks[].lun", 0, 63),
	upTo("spec.azure.dataDisks", 64, each("{name: disk-%d, sizeGiB: 1}")),
)

var azureAdapterLimits = slices.Concat(
	upTo("spec.azure.networkInterfaces", 8, each("{name: net-%d}")),
	[]limit{
		required("spec.azure.networkInterfaces[].name"),
		{"spec.azure.networkInterfaces[].subnet.id", "minLength", subnet, "", "should be at least 1 chars long"},
		longest("spec.azure.networkInterfaces[].subnet.id", right, subnet+long(512), 512),
		atMost("spec.azure.networkInterfaces[].subnet.name", 80),
		longest("spec.azure.networkInterfaces[].privateAddress", "100.100.100.100", "100.100.100.1000", 15),
		longest("spec.azure.networkInterfaces[].dnsServers[]", longestIP, longestIP+"1", 39),
	},
	text("spec.azure.networkInterfaces[].name", 63),
	between("spec.azure.networkInterfaces[].secondaryAddresses", 0, 255),
	upTo("spec.azure.networkInterfaces[].dnsServers", 8, each("10.0.0.%d")),
	upTo("spec.azure.networkInterfaces[].applicationSecurityGroupIDs", 20, each(applicationGroup+"-%d")),
	upTo("spec.azure.networkInterfaces[].loadBalancerPoolIDs", 8, each(backendPool+"-%d")),
	upTo("spec.azure.identities.userAssigned", 16, each(managedIdentity+"-%d")),
	upTo("spec.azure.fallbackVMSizes", 8, each("Standard_D%ds_v6")),
)

var azureEnums = []limit{
	oneOf("spec.azure.osDisk.type", "StandardSSD_ZRS", "UltraSSD_LRS"), oneOf("spec.azure.osDisk.caching", "ReadOnly", "readOnly"),
	oneOf("spec.azure.osDisk.securityEncryptionType", "NonPersistedTPM", "None"),
	oneOf("spec.azure.osDisk.ephemeralPlacement", "Resource", "CacheDisk"),
	oneOf("spec.azure.dataDisks[].type", "PremiumV2_LRS", "Premium"), oneOf("spec.azure.dataDisks[].caching", "None", "Write"),
	oneOf("spec.azure.diskController", "SCSI", "nvme"), oneOf("spec.azure.ultraSSD", "Enabled", "true"),
	oneOf("spec.azure.networkInterfaces[].acceleratedNetworking", "Disabled", "true"),
	oneOf("spec.azure.networkInterfaces[].ipForwarding", "Disabled", "true"),
	oneOf("spec.azure.networkInterfaces[].publicIP", "Disabled", "true"),
	oneOf("spec.azure.priority", "Spot", "Low"), oneOf("spec.azure.spot.evictionPolicy", "Delete", "Stop"),
	oneOf("spec.azure.securityProfile.securityType", "ConfidentialVM", "Standard"),
	oneOf("spec.azure.securityProfile.secureBoot", "Disabled", "true"), oneOf("spec.azure.securityProfile.vTPM", "Enabled", "true"),
	oneOf("spec.azure.securityProfile.encryptionAtHost", "Disabled", "true"),
	oneOf("spec.azure.identities.type", "UserAssigned", "Both"), oneOf("spec.azure.bootDiagnostics.type", "UserManaged", "Own"),
	oneOf("spec.azure.extensionOperations", "Disabled", "false"),
	oneOf("spec.azure.windows.licenseType", "Windows_Client", "windows_server"),
	oneOf("spec.azure.windows.patchMode", "AutomaticByPlatform", "Never"),
	oneOf("spec.azure.windows.assessmentMode", "AutomaticByPlatform", "Manual"),
	oneOf("spec.azure.windows.hotpatch", "Disabled", "true"),
}
