package admission

import (
	"slices"
	"strings"
)

var azureRules = slices.Concat(azurePlaces, azureIDRules(), azureImageRules, azureDiskRules, azureAdapterRules, azureVMRules)

// azurePlaces are rules about where a VM is and its size.
var azurePlaces = []rule{
	{
		at: "spec.azure.subscriptionID", field: "spec.azure.subscriptionID",
		message:  "must be the ID of a subscription, such as 11111111-2222-3333-4444-555555555555",
		accepted: edits("spec.azure.subscriptionID", guid, "AAAAAAAA-2222-3333-4444-555555555555"),
		refused:  edits("spec.azure.subscriptionID", "", guid[1:], strings.Replace(guid, "1", "g", 1), "my-subscription"),
	},
	{
		at: "spec.azure.resourceGroup", field: "spec.azure.resourceGroup",
		message: "must be the name of a resource group: letters, digits, '-', '_', '.', '(' and ')', not ending with '.', " +
			"such as windows-nodes",
		accepted: edits("spec.azure.resourceGroup", "My.Group_(1)-a", "a"),
		refused:  edits("spec.azure.resourceGroup", "", "ends-with-dot.", "a b", azureGroup),
	},
	{
		at: "spec.azure.location", field: "spec.azure.location",
		message:  "must be the name of a location in lowercase and without blanks, such as westeurope",
		accepted: edits("spec.azure.location", "westeurope", "eastus2"),
		refused:  edits("spec.azure.location", "", "West Europe", "westEurope", "west-europe"),
	},
	{
		at: "spec.azure.vmSize", field: "spec.azure.vmSize",
		message:  "must be the name of a VM size: letters, digits, '-' and '_', such as Standard_D4s_v5",
		accepted: edits("spec.azure.vmSize", "Standard_D4s_v5", "Standard_E4-2s_v5"),
		refused:  edits("spec.azure.vmSize", "", "Standard D4", "Standard_", "D4s_v5 "),
	},
	{
		at: "spec.azure.image.id", field: "spec.azure.image.id",
		message: "must be the resource ID of an image, such as /subscriptions/" + guid + "/resourceGroups/images/" +
			"providers/Microsoft.Compute/galleries/windows/images/ws2022/versions/1.0.0",
		accepted: edits("spec.azure.image.id", azureImage, strings.ToUpper(azureImage), strings.ToLower(azureImage),
			azureGroup+"/providers/Microsoft.Compute/images/ws-2022_1",
			azureGroup+"/providers/Microsoft.Compute/galleries/windows/images/ws2022",
			azureGroup+"/providers/Microsoft.Compute/galleries/windows/images/ws2022/versions/latest"),
		refused: edits("spec.azure.image.id", "", "hello world", "ws2022", azureImage+"/", azureImage+"\n", azureImage[1:],
			azureGroup+"/providers/Microsoft.Compute/disks/ws2022", azureGroup+"/providers/Microsoft.Compute/images/",
			"/subscriptions/1/resourceGroups/group/providers/Microsoft.Compute/images/ws2022"),
	},
	says("spec.azure.zones[]", `must be the number of a zone in quotes, such as "1"`, []any{"1", "9"}, []any{"a", "0", ""}),
	says("spec.azure.fallbackVMSizes[]", "must be the name of a VM size: letters, digits, '-' and '_', such as Standard_D4s_v5",
		[]any{"Standard_E4-2s_v5"}, []any{"", "Standard D4", "Standard_", "D4s_v5 "}),
	azurePair("spec.azure", "spec.azure.fallbackVMSizes",
		"fallbackVMSizes has the size of vmSize, which is tried first; remove it here",
		`{fallbackVMSizes: [Standard_D2s_v5]}`, `{fallbackVMSizes: [Standard_D2s_v5, Standard_D4s_v5]}`),
}

// azurePair is the rule at a field with parts of it, one that is right and several that are wrong. null leaves a field out.
func azurePair(path, field, message, good string, bad ...string) rule {
	r := rule{at: path, field: field, message: message, accepted: []map[string]any{below(path, good), {}}}
	for _, one := range bad {
		r.refused = append(r.refused, below(path, one))
	}
	return r
}

func below(path, content string) map[string]any {
	all := map[string]any{}
	for name, value := range parse(content) {
		if value == nil {
			value = absent
		}
		all[path+"."+name] = value
	}
	return all
}

func azureIDRules() (all []rule) {
	for _, id := range azureIDs {
		all = append(all, says(id.field, id.message,
			[]any{strings.ToLower(id.right), strings.ToUpper(id.right)},
			[]any{
				"", "a", id.other, id.right + "/", id.right + "/x/y", " " + id.right, id.right + "\n",
				strings.Replace(id.right, guid, "s", 1),
			}))
	}
	return all
}

// nameOfA is the rule of a name in Azure.
func nameOfA(field, what, example string) rule {
	return says(field, "must be the name of "+what+": letters, digits, '-', '_' and '.', such as "+example,
		[]any{"a", "A_b.c-1"}, []any{"", "a b", "-a", "a-", "../a", "a/b", "a\n"})
}

func versionOf(field string) rule {
	return says(field, "must be a version of three numbers, such as 1.36.2, or latest", []any{"1.36.2", "latest", absent},
		[]any{"", "1.36", "v1.36.2", "Latest", "1.36.2.1", "1.36.2\n"})
}

var azureImageRules = []rule{
	azurePair("spec.azure.image", "spec.azure.image", "set one of id, computeGallery, communityGallery and marketplace, not several",
		`{id: null, computeGallery: {gallery: a, name: b}, marketplace: {}}`,
		`{computeGallery: {gallery: a, name: b}}`, `{communityGallery: {gallery: a, name: b}}`,
		`{marketplace: {publisher: a, offer: b, sku: c}}`,
		`{id: null, communityGallery: {gallery: a, name: b}, marketplace: {publisher: a, offer: b, sku: c}}`),
	azurePair("spec.azure.image.computeGallery", "spec.azure.image.computeGallery",
		"set gallery and name, such as gallery windows and name ws2022", `{version: null}`, `{name: null}`, `{gallery: null}`),
	nameOfA("spec.azure.image.computeGallery.gallery", "a gallery", "windows"),
	nameOfA("spec.azure.image.computeGallery.name", "an image", "ws2022"),
	versionOf("spec.azure.image.computeGallery.version"),
	says("spec.azure.image.computeGallery.subscriptionID",
		"must be the ID of a subscription, such as 11111111-2222-3333-4444-555555555555", []any{guid}, []any{"", guid[1:], "mine"}),
	says("spec.azure.image.computeGallery.resourceGroup", "must be the name of a resource group: letters, digits, '-', '_', '.', "+
		"'(' and ')', not ending with '.', such as images", []any{"My.Group_(1)-a"}, []any{"", "a.", "a b", azureGroup}),
	azurePair("spec.azure.image.communityGallery", "spec.azure.image.communityGallery",
		"set gallery and name, such as name capi-win-2022-containerd", `{version: null}`, `{name: null}`, `{gallery: null}`),
	nameOfA("spec.azure.image.communityGallery.gallery", "a gallery", "ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019"),
	nameOfA("spec.azure.image.communityGallery.name", "an image", "capi-win-2022-containerd"),
	versionOf("spec.azure.image.communityGallery.version"),
	azurePair("spec.azure.image.marketplace", "spec.azure.image.marketplace",
		"set publisher, offer and sku, such as publisher cncf-upstream, offer capi-windows and sku windows-2022-containerd",
		`{version: null, plan: null}`, `{publisher: null}`, `{offer: null}`, `{sku: null}`),
	nameOfA("spec.azure.image.marketplace.publisher", "a publisher", "cncf-upstream"),
	nameOfA("spec.azure.image.marketplace.offer", "an offer", "capi-windows"),
	nameOfA("spec.azure.image.marketplace.sku", "a SKU", "windows-2022-containerd"),
	versionOf("spec.azure.image.marketplace.version"),
}

var azureDiskRules = []rule{
	azurePair("spec.azure.osDisk", "spec.azure.osDisk.caching",
		"an ephemeral disk needs caching ReadOnly; use it, or remove caching",
		`{caching: null}`, `{caching: ReadWrite}`, `{caching: None}`),
	says("spec.azure.dataDisks[].name", "must consist of lowercase letters, digits and '-', and must begin and end with a letter "+
		"or digit, such as data", []any{"d", "sql-1"}, []any{"", "Data", "-a", "a-", "a_b", "a.b"}),
	says("spec.azure.dataDisks[].name", "os is the name of the disk with Windows; use another one, such as data",
		[]any{"os-2"}, []any{"os"}),
	azurePair("spec.azure.dataDisks[]", "spec.azure.dataDisks[0].caching",
		"disks of the types PremiumV2_LRS and UltraSSD_LRS have no cache; use caching None, or remove it",
		`{type: Premium_LRS, caching: ReadWrite}`, `{caching: ReadOnly}`, `{type: PremiumV2_LRS, caching: ReadWrite}`),
	azurePair("spec.azure", "spec.azure.dataDisks", "set lun for all disks or for none",
		`{dataDisks: [{name: a, sizeGiB: 1}, {name: b, sizeGiB: 1}]}`,
		`{dataDisks: [{name: a, sizeGiB: 1}, {name: b, sizeGiB: 1, lun: 1}]}`).
		of("spec.azure.dataDisks"),
	azurePair("spec.azure", "spec.azure.dataDisks", "two disks have the same lun; each needs its own, such as 0 and 1",
		`{dataDisks: [{name: a, sizeGiB: 1, lun: 5}, {name: b, sizeGiB: 1, lun: 0}]}`,
		`{dataDisks: [{name: a, sizeGiB: 1, lun: 0}, {name: b, sizeGiB: 1, lun: 0}]}`).of("spec.azure.dataDisks"),
	azurePair("spec.azure", "spec.azure.ultraSSD", "a data disk has the type UltraSSD_LRS; use ultraSSD Enabled, or another type",
		`{ultraSSD: null}`, `{ultraSSD: Disabled}`),
	azurePair("spec.azure", "spec.azure.osDisk.securityEncryptionType",
		"securityEncryptionType is only for a confidential VM; set securityProfile.securityType ConfidentialVM, or remove it",
		`{osDisk: {}, securityProfile: {}}`, `{securityProfile: null}`, `{securityProfile: {encryptionAtHost: Enabled}}`,
		`{securityProfile: {securityType: TrustedLaunch}}`),
	azurePair("spec.azure", "spec.azure.osDisk.securityEncryptionType",
		"DiskWithVMGuestState needs secureBoot and excludes encryptionAtHost; remove both from securityProfile",
		`{osDisk: {securityEncryptionType: DiskWithVMGuestState}, securityProfile: {securityType: ConfidentialVM}}`,
		`{osDisk: {securityEncryptionType: DiskWithVMGuestState}}`,
		`{osDisk: {securityEncryptionType: DiskWithVMGuestState},
		  securityProfile: {securityType: ConfidentialVM, secureBoot: Disabled}}`),
}

// of says that the rule is at another field than its edits.
func (r rule) of(path string) rule {
	r.at = path
	return r
}

var azureAdapterRules = []rule{
	says("spec.azure.networkInterfaces[].subnet.id", "must be the resource ID of a subnet: /subscriptions/<UUID>/resourceGroups/"+
		"<name>/providers/Microsoft.Network/virtualNetworks/<name>/subnets/<name>",
		[]any{strings.ToLower(subnet), strings.ToUpper(subnet), absent},
		[]any{
			"hello", "/subnets/nodes", subnet + "/", subnet + "/x", " " + subnet, strings.Replace(subnet, guid, "s", 1),
			strings.Replace(subnet, "Microsoft.Network", "MicrosoftxNetwork", 1),
		}),
	nameOfA("spec.azure.networkInterfaces[].subnet.name", "a subnet", "nodes"),
	azurePair("spec.azure.networkInterfaces[].subnet", "spec.azure.networkInterfaces[0].subnet", "set id or name, not both",
		`{id: null, name: nodes}`, `{name: nodes}`),
	says("spec.azure.networkInterfaces[].privateAddress", "must be an IPv4 address, such as 10.1.0.5", []any{"10.1.0.5"},
		[]any{"", "10.1.0.5/24", "10.1.0.256", "fd00::5", "node", "010.1.0.5"}),
	azurePair("spec.azure.networkInterfaces[]", "spec.azure.networkInterfaces[0].publicIP",
		"an adapter with privateAddress cannot have a public IP; remove the one or the other",
		`{privateAddress: 10.1.0.5, publicIP: Disabled}`, `{privateAddress: 10.1.0.5}`),
	says("spec.azure.networkInterfaces[].dnsServers[]", "must be an IP address, such as 10.0.0.2", []any{"10.0.0.3", "fd00::2"},
		[]any{"", "dns.example.com", "10.0.0.256", "10.0.0.2:53"}),
}

var azureVMRules = []rule{
	azurePair("spec.azure", "spec.azure.spot",
		"maxPrice and evictionPolicy are only for a Spot VM; set priority Spot, or remove them",
		`{priority: Regular, spot: {}}`, `{priority: null}`, `{priority: Regular}`, `{priority: null, spot: {maxPrice: "1"}}`),
	azurePair("spec.azure", "spec.azure.spot.evictionPolicy",
		"a VM with an ephemeral OS disk cannot be deallocated; use evictionPolicy Delete",
		`{osDisk: {sizeGiB: 128}, spot: {evictionPolicy: Deallocate}}`, `{spot: {evictionPolicy: Deallocate}}`),
	azurePair("spec.azure", "spec.azure.priority", "a Spot VM cannot use a capacity reservation or a dedicated host; use priority "+
		"Regular, or remove capacityReservationGroupID, hostGroupID and hostID",
		`{priority: Regular, spot: null, hostID: `+oneHost+`}`, `{hostID: `+oneHost+`}`, `{hostGroupID: `+hostGroup+`}`,
		`{proximityPlacementGroupID: null, capacityReservationGroupID: `+reservation+`}`),
	azurePair("spec.azure", "spec.azure.capacityReservationGroupID", "a VM with reserved capacity cannot be in a proximity "+
		"placement group or on a dedicated host; remove the one or the other",
		`{proximityPlacementGroupID: null}`, `{proximityPlacementGroupID: `+placementGroup+`}`, `{hostID: `+oneHost+`}`,
		`{hostGroupID: `+hostGroup+`}`),
	azurePair("spec.azure", "spec.azure.hostID", "set hostGroupID or hostID, not both", `{hostGroupID: null}`,
		`{hostGroupID: `+hostGroup+`}`),
	says("spec.azure.spot.maxPrice",
		`must be a price in US dollars with at most five decimals, above 0 and in quotes, such as "0.25"`,
		[]any{"0.00001", "12", "999999.9"}, []any{"", "0", "0.0", "-1", "0.123456", "1,5", ".5", "$1", "1e3"}),
	azurePair("spec.azure.securityProfile", "spec.azure.securityProfile.securityType",
		"secureBoot and vTPM need securityType; set it to TrustedLaunch or ConfidentialVM, or remove them",
		`{secureBoot: Disabled}`, `{securityType: null}`, `{securityType: null, vTPM: null}`,
		`{securityType: null, secureBoot: null}`),
	azurePair("spec.azure.securityProfile", "spec.azure.securityProfile.vTPM",
		"a confidential VM needs a virtual TPM; use vTPM Enabled, or remove it", `{vTPM: null}`, `{vTPM: Disabled}`),
	azurePair("spec.azure.identities", "spec.azure.identities",
		"the type UserAssigned and a list userAssigned go together; set both, or remove both",
		`{type: SystemAssigned, userAssigned: null}`, `{type: null}`, `{type: None}`, `{userAssigned: null}`, `{userAssigned: []}`),
	azurePair("spec.azure.bootDiagnostics", "spec.azure.bootDiagnostics",
		"the type UserManaged and storageURI go together; set both, or remove both",
		`{type: Disabled, storageURI: null}`, `{type: null}`, `{type: Managed}`, `{storageURI: null}`),
	says("spec.azure.bootDiagnostics.storageURI",
		"must be the address of a storage account's blobs, such as https://windowsnodes.blob.core.windows.net/",
		[]any{"https://nodes.blob.core.chinacloudapi.cn", "https://nodes.z12.blob.storage.azure.net/"},
		[]any{"", "http://nodes.blob.core.windows.net/", "nodes", "https://nodes.file.core.windows.net/", "https://a.blob.b/c?d"}),
	says("spec.azure.additionalTags", `the name of a tag must have at most 512 characters, none of them < > % & \ ? /; use a name `+
		`such as team`, []any{map[string]any{long(512): ""}, map[string]any{"Größe (GiB)": "1"}},
		[]any{tag(""), tag("a/b"), tag(`a\b`), tag("a%"), tag("<a>"), tag("a&b"), tag("a?"), tag(long(513))}),
	says("spec.azure.additionalTags", "the names of tags that begin with microsoft, azure, windows or capwin- are reserved; use "+
		"another name, such as team", []any{tag("my-azure"), tag("capwin")},
		[]any{tag("Azure"), tag("windows-1"), tag("MICROSOFTx"), tag("capwin-machine"), tag("Capwin-Machine")}),
	{
		at: "spec.azure.additionalTags.pool", field: "spec.azure.additionalTags[pool]",
		message:  "must not have control characters, such as the end of a line",
		accepted: edits("spec.azure.additionalTags.pool", "", "<a & b>", "Größe"),
		refused:  edits("spec.azure.additionalTags.pool", "a\n", "\x00", "a\tb"),
	},
	says("spec.azure.windows.timeZone",
		"must be Windows' name of a time zone, such as W. Europe Standard Time for Europe/Berlin; tzutil /l lists them",
		[]any{"W. Europe Standard Time", "UTC-11", "Russia Time Zone 3", "Central Standard Time (Mexico)"},
		[]any{"", "Europe/Berlin", "CET", "utc", "UTC+1", "W. Europe Standard Time "}),
	azurePair("spec.azure.windows", "spec.azure.windows.hotpatch",
		"hotpatch needs the patchMode AutomaticByPlatform; use it, or remove hotpatch",
		`{hotpatch: Disabled, patchMode: Manual}`, `{patchMode: null}`, `{patchMode: Manual}`, `{patchMode: AutomaticByOS}`),
}

func tag(name string) any { return map[string]any{name: "blue"} }
