package rules_test

import (
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rules"
)

// change is one edit of the good VM: a path, with [0] for the first item of a list, and its new value; nil removes it.
type change struct {
	path  string
	value any
}

func (c change) apply(o doc.Object) {
	steps := strings.Split(c.path, ".")
	for i, step := range steps {
		name, item := strings.CutSuffix(step, "[0]")
		if i == len(steps)-1 {
			if c.value == nil {
				delete(o, name)
				return
			}
			o[name] = c.value
			return
		}
		if item {
			o = doc.List(o, name)[0]
			continue
		}
		if doc.Of(o, name) == nil {
			o[name] = doc.Object{}
		}
		o = doc.Of(o, name)
	}
}

// to applies the change to a request: the path "id" is the name of what is made, "part" its kind among those of a VM.
func (c change) to(r *rules.Request) {
	if c.path == "id" {
		r.ID.Names = []string{c.value.(string)}
		return
	}
	if c.path == "part" {
		r.ID.Types = append(r.ID.Types, c.value.(string))
		return
	}
	c.apply(r.Body)
}

const (
	profile = "properties.networkProfile."
	storage = "properties.storageProfile."
	system  = "properties.osProfile."
	nic     = profile + "networkInterfaceConfigurations"

	inlineIPs = nic + "[0].properties.ipConfigurations"
	public    = inlineIPs + "[0].properties.publicIPAddressConfiguration"
)

func disks(all ...doc.Object) []any { return doc.Objects(all...) }

var confidential = []change{
	{"properties.securityProfile", doc.Object{"securityType": "ConfidentialVM", "uefiSettings": doc.Object{
		"vTpmEnabled": true, "secureBootEnabled": true,
	}}},
	{storage + "osDisk.managedDisk", doc.Object{"securityProfile": doc.Object{"securityEncryptionType": "DiskWithVMGuestState"}}},
}

func with(changes []change, more ...change) []change { return append(slices.Clone(changes), more...) }

// broken has for each rule what breaks it, and a part of the sentence.
// breach is what breaks a rule, and what Azure says then.
type breach struct {
	changes []change
	says    string
}

// brokenNIC breaks the rules of NICs that are made alone, where this takes another body than for a VM.
var brokenNIC = map[string]breach{
	"NIC name":                {[]change{{"id", "-nic"}}, "must begin with a word character"},
	"static needs an address": {[]change{{ips + "[0].properties.privateIPAllocationMethod", "Static"}}, "must be provided"},
	"names of IP configurations": {
		[]change{{ips, disks(doc.Object{"name": "ip."})}},
		"must end with a word character",
	},
	"IP configuration twice": {
		[]change{{ips, disks(doc.Object{"name": "a"}, doc.Object{"name": "A"})}},
		"with the same name (A)",
	},
	"one primary IP configuration": {[]change{{ips, disks(doc.Object{"name": "a"}, doc.Object{"name": "b"})}}, "set as primary"},
	"one subnet":                   {[]change{{ips, disks(inSubnet("a"), inSubnet("b"))}}, "cannot belong to different subnets"},
}

const ips = "properties.ipConfigurations"

func inSubnet(name string) doc.Object {
	return doc.Object{"name": name, "properties": doc.Object{"subnet": doc.Object{"id": name}}}
}

var broken = map[string]breach{
	"extension's handler":       {[]change{{"part", "extensions"}, {"properties.publisher", nil}}, "'publisher' is missing (null)"},
	"run command's source":      {[]change{{"part", "runCommands"}, {"properties.source", nil}}, "'source' is missing (null)"},
	"location":                  {[]change{{"location", nil}}, "location property is required"},
	"region":                    {[]change{{"location", "middleearth"}}, "'middleearth' is not available for resource type"},
	"zone of the region":        {[]change{{"zones", []any{"4"}}}, "The supported zones for location 'westeurope' are '1,2,3'"},
	"name":                      {[]change{{"id", "_vm"}}, "The entity name 'name' is invalid"},
	"disk names":                {[]change{{storage + "osDisk.name", "os-"}}, "The entity name 'dataDisk.name' is invalid"},
	"names of public addresses": {[]change{{public, doc.Object{"name": "a/b"}}}, "Resource name a/b is invalid"},
	"domain label": {
		[]change{{public, doc.Object{"name": "a"}}, {public + ".properties.dnsSettings.domainNameLabel", "Nodes"}},
		"The domain name label Nodes is invalid",
	},
	"names of IP configurations": {[]change{{inlineIPs, disks(doc.Object{"name": "ip."})}}, "must end with a word character"},
	"IP configuration twice": {
		[]change{{inlineIPs, disks(doc.Object{"name": "a"}, doc.Object{"name": "a"})}},
		"has two child resources with the same name (a)",
	},
	"one subnet": {[]change{{inlineIPs, disks(inSubnet("a"), inSubnet("b"))}}, "cannot belong to different subnets"},
	"blob disks of an image": {
		[]change{{storage + "dataDisks", disks(doc.Object{"vhd": doc.Object{}})}},
		"VM created from Image cannot have blob based disks",
	},
	"blob disks beside managed ones": {
		[]change{{storage + "dataDisks", disks(doc.Object{"vhd": doc.Object{}})}},
		"Addition of a blob based disk to VM with managed disks",
	},
	"subscription of a disk": {
		[]change{{storage + "dataDisks", disks(doc.Object{"managedDisk": doc.Object{
			"id": "/subscriptions/other/resourceGroups/g/providers/Microsoft.Compute/disks/d",
		}})}},
		"Subscription s of the request must match the subscription other",
	},
	"detached by force alone": {
		[]change{{storage + "dataDisks", disks(doc.Object{"detachOption": "ForceDetach"})}},
		"'toBeDetached' is set to true",
	},
	"ephemeral kept": {
		[]change{{storage + "osDisk.diffDiskSettings.option", "Local"}, {storage + "osDisk.deleteOption", "Detach"}},
		"of an ephemeral OS disk is Delete",
	},
	"guest's key without guest's encryption": {
		[]change{{storage + "osDisk.managedDisk.securityProfile", doc.Object{
			"securityEncryptionType": "VMGuestStateOnly", "diskEncryptionSet": doc.Object{"id": "x"},
		}}},
		"requires securityEncryptionType DiskWithVMGuestState",
	},
	"profile of an attached disk": {[]change{{storage + "osDisk.createOption", "Attach"}}, "Parameter 'osProfile' is not allowed."},
	"provision signal":            {[]change{{system + "requireGuestProvisionSignal", false}}, "either be set to true or omitted"},
	"certificates without agent": {
		[]change{{system + "secrets", disks(doc.Object{})}, {system + "windowsConfiguration.provisionVMAgent", false}},
		"Certificates cannot be added to your VM",
	},
	"assessment without agent": {
		[]change{
			{system + "windowsConfiguration.patchSettings.assessmentMode", "AutomaticByPlatform"},
			{system + "windowsConfiguration.provisionVMAgent", false},
		},
		"assessmentMode AutomaticByPlatform requires",
	},
	"settings of platform patches": {
		[]change{{system + "windowsConfiguration.patchSettings.automaticByPlatformSettings", doc.Object{}}},
		"only with patchMode AutomaticByPlatform",
	},
	"unattend content": {
		[]change{{system + "windowsConfiguration.additionalUnattendContent", disks(doc.Object{"content": "AutoLogon"})}},
		"must include the root element",
	},
	"extensionsTimeBudget": {[]change{{"properties.extensionsTimeBudget", "PT3H"}}, "between 15 minutes and 120 minutes"},
	"notice of OS images": {
		[]change{{"properties.scheduledEventsProfile.osImageNotificationProfile.notBeforeTimeout", "PT5M"}},
		"15 minutes (PT15M)",
	},
	"spot in a set": {
		[]change{{"properties.availabilitySet", doc.Object{}}, {"properties.priority", "Spot"}},
		"Azure Spot Virtual Machine is not supported in Availability Set.",
	},
	"customData": {[]change{{system + "customData", strings.Repeat("YWFh", 87380/4+1)}}, "maximum length of " +
		"87380"},
	"userData":      {[]change{{"properties.userData", "no base64!"}}, "must be in Base64"},
	"computerName":  {[]change{{system + "computerName", "sixteen-letters-"}}, "more than 15 characters"},
	"adminUsername": {[]change{{system + "adminUsername", "ends.with.period."}}, "end with a period"},
	"adminUsername that is kept": {[]change{{system + "adminUsername", "Administrator"}}, "Admin Username specified is not " +
		"allowed"},
	"adminPassword": {[]change{{system + "adminPassword", "alllowercase"}}, "at least 3 of password complexity"},
	"adminPassword that is known": {[]change{{system + "adminPassword", "Password22"}}, "Admin password specified is not " +
		"allowed"},
	"licenseType": {[]change{{"properties.licenseType", "windows_server"}}, "case sensitive"},
	"timeZone":    {[]change{{system + "windowsConfiguration.timeZone", "Europe/Berlin"}}, "timeZone is invalid"},
	"notBeforeTimeout": {
		[]change{{"properties.scheduledEventsProfile.terminateNotificationProfile.notBeforeTimeout", "PT1M"}},
		"PT5M",
	},
	"storageUri": {
		[]change{{"properties.diagnosticsProfile.bootDiagnostics.storageUri", "http://a"}},
		"correct blob URI",
	},
	"osDisk.diskSizeGB":        {[]change{{storage + "osDisk.diskSizeGB", 5000.0}}, "out of range"},
	"dataDisks.diskSizeGB":     {[]change{{storage + "dataDisks", disks(doc.Object{"diskSizeGB": 0.0})}}, "out of range"},
	"dataDisks.lun":            {[]change{{storage + "dataDisks", disks(doc.Object{"lun": 64.0})}}, "between 0 and 63"},
	"maxPrice":                 {[]change{{"properties.billingProfile.maxPrice", -2.0}}, "either -1 or greater"},
	"zones":                    {[]change{{"zones", []any{"1", "2"}}}, "can be in one zone"},
	"tags of NICs":             {[]change{{nic + "[0].tags", many(51)}}, "The limit is '50'"},
	"tags of public addresses": {[]change{{public, doc.Object{"name": "a", "tags": many(51)}}}, "The limit is '50'"},
	"number of tags":           {[]change{{"tags", many(51)}}, "The limit is '50'"},
	"characters of tag names":  {[]change{{"tags", doc.Object{"a/b": "c"}}}, "reserved characters"},
	"length of tag names":      {[]change{{"tags", doc.Object{strings.Repeat("a", 513): "c"}}}, "Tag name too large"},
	"length of tag values":     {[]change{{"tags", doc.Object{"a": strings.Repeat("a", 257)}}}, "Tag value too large"},
	"user assigned identities' ids": {
		[]change{{"identity.userAssignedIdentities", doc.Object{"nodes": doc.Object{}}}},
		"is invalid",
	},
	"NICs twice": {[]change{{profile + "networkInterfaces", disks(doc.Object{"id": "x"})}}, "cannot both be " +
		"specified"},
	"no NIC":            {[]change{{nic, nil}}, "at least one network interface"},
	"networkApiVersion": {[]change{{profile + "networkApiVersion", nil}}, "networkApiVersion' is missing"},
	"one primary NIC": {[]change{{nic, disks(doc.Object{"name": "a"}, doc.Object{"name": "b"})}}, "set as the " +
		"primary"},
	"NIC names": {[]change{{nic, disks(doc.Object{"name": "a"}, doc.Object{"name": "a"})}}, "unique names"},
	"one primary IP configuration": {
		[]change{{nic + "[0].properties.ipConfigurations", disks(doc.Object{}, doc.Object{})}},
		"set as primary",
	},
	"image twice":               {[]change{{storage + "imageReference.communityGalleryImageId", "x"}}, "only one of"},
	"image incomplete":          {[]change{{storage + "imageReference", doc.Object{"publisher": "x"}}}, "is incomplete"},
	"image missing":             {[]change{{storage + "imageReference", nil}}, "imageReference' is missing"},
	"image and attached disk":   {[]change{{storage + "osDisk.createOption", "Attach"}}, "Cannot attach an existing OS disk"},
	"zone and availability set": {[]change{{"properties.availabilitySet", doc.Object{"id": "x"}}}, "both Availability Zone"},
	"two sets": {
		[]change{{"properties.availabilitySet", doc.Object{}}, {"properties.virtualMachineScaleSet", doc.Object{}}},
		"cannot be in",
	},
	"host and its group": {[]change{{"properties.host", doc.Object{}}, {"properties.hostGroup", doc.Object{}}}, "both host and " +
		"hostGroup"},
	"fault domain alone": {[]change{{"properties.platformFaultDomain", 1.0}}, "only with a virtual machine scale set"},
	"reservation of spot": {
		[]change{{"properties.capacityReservation", doc.Object{}}, {"properties.priority", "Spot"}},
		"cannot be used with Spot",
	},
	"eviction of regular": {[]change{{"properties.evictionPolicy", "Delete"}}, "only on Azure Spot"},
	"price of regular":    {[]change{{"properties.billingProfile.maxPrice", -1.0}}, "only on Azure Spot"},
	"ephemeral caching":   {[]change{{storage + "osDisk.diffDiskSettings.option", "Local"}}, "ReadOnly caching"},
	"ephemeral spot": {
		[]change{{storage + "osDisk.diffDiskSettings.option", "Local"}, {"properties.priority", "Spot"}},
		"'Deallocate' is not supported",
	},
	"ephemeral attached": {
		[]change{{storage + "osDisk.diffDiskSettings.option", "Local"}, {storage + "osDisk.createOption", "Attach"}},
		"from an image only",
	},
	"ultra OS disk": {[]change{{storage + "osDisk.managedDisk.storageAccountType", "UltraSSD_LRS"}}, "cannot be " +
		"used with an OS disk"},
	"ultra not enabled": {[]change{{storage + "dataDisks", disks(ultra(""))}}, "ultraSSDEnabled is set"},
	"caching of ultra":  {[]change{{storage + "dataDisks", disks(ultra("ReadOnly"))}}, "caching must be None"},
	"size of an empty disk": {
		[]change{{storage + "dataDisks", disks(doc.Object{"createOption": "Empty"})}},
		"diskSizeGB' is missing",
	},
	"attached disk without id": {
		[]change{{storage + "dataDisks", disks(doc.Object{"createOption": "Attach"})}},
		"managedDisk.id' is missing",
	},
	"LUN twice": {
		[]change{{storage + "dataDisks", disks(doc.Object{"lun": 1.0}, doc.Object{"lun": 1.0})}},
		"A disk at LUN 1 already exists",
	},
	"disk name twice": {[]change{{storage + "dataDisks", disks(doc.Object{"name": "os"})}}, "A disk named 'os' already exists"},
	"no password":     {[]change{{system + "adminPassword", nil}}, "adminPassword' is missing"},
	"no user":         {[]change{{system + "adminUsername", nil}}, "adminUsername' is missing"},
	"no OS profile":   {[]change{{"properties.osProfile", nil}}, "osProfile' is missing"},
	"two systems":     {[]change{{system + "linuxConfiguration", doc.Object{}}}, "only one of windowsConfiguration"},
	"platform patches without agent": {
		[]change{{system + "windowsConfiguration.provisionVMAgent", false}, mode("AutomaticByPlatform")},
		"provisionVMAgent is true",
	},
	"platform patches without updates": {
		[]change{mode("AutomaticByPlatform")},
		"requires that enableAutomaticUpdates is true",
	},
	"manual patches with updates":       {[]change{{system + "windowsConfiguration.enableAutomaticUpdates", true}}, "is false"},
	"patches of the OS without updates": {[]change{mode("AutomaticByOS")}, "AutomaticByOS requires"},
	"hotpatching": {
		[]change{{system + "windowsConfiguration.patchSettings.enableHotpatching", true}},
		"requires patchMode",
	},
	"UEFI without security type": {[]change{{"properties.securityProfile.uefiSettings", doc.Object{}}}, "not supported without a " +
		"security type"},
	"confidential without disk encryption type": {
		with(confidential, change{storage + "osDisk.managedDisk", nil}),
		"ConfidentialVM requires",
	},
	"disk encryption type of others": {with(confidential, change{"properties.securityProfile", nil}), "only with " +
		"securityType ConfidentialVM"},
	"confidential without TPM": {
		with(confidential, change{"properties.securityProfile.uefiSettings.vTpmEnabled", false}),
		"vTpmEnabled must be true",
	},
	"encrypted disk without secure boot": {
		with(confidential, change{"properties.securityProfile.uefiSettings.secureBootEnabled", false}),
		"secureBootEnabled must",
	},
	"encrypted twice": {
		with(confidential, change{"properties.securityProfile.encryptionAtHost", true}),
		"encryptionAtHost is not supported",
	},
	"identities without their type": {[]change{{"identity.type", "UserAssigned"}}, "UserAssignedIdentities"},
	"WinRM certificate": {
		[]change{{system + "windowsConfiguration.winRM.listeners", disks(doc.Object{"protocol": "Https"})}},
		"needs a certificateUrl",
	},
}

func mode(m string) change { return change{system + "windowsConfiguration.patchSettings.patchMode", m} }

func ultra(caching string) doc.Object {
	return doc.Object{"caching": caching, "managedDisk": doc.Object{"storageAccountType": "UltraSSD_LRS"}}
}

func many(n int) doc.Object {
	all := doc.Object{}
	for i := range n {
		all["tag-"+strings.Repeat("a", i)] = ""
	}
	return all
}
