package rules_test

import (
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/doc"
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

const (
	profile = "properties.networkProfile."
	storage = "properties.storageProfile."
	system  = "properties.osProfile."
	nic     = profile + "networkInterfaceConfigurations"
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
var broken = map[string]struct {
	changes []change
	says    string
}{
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
	"osDisk.diskSizeGB":       {[]change{{storage + "osDisk.diskSizeGB", 5000.0}}, "out of range"},
	"dataDisks.diskSizeGB":    {[]change{{storage + "dataDisks", disks(doc.Object{"diskSizeGB": 0.0})}}, "out of range"},
	"dataDisks.lun":           {[]change{{storage + "dataDisks", disks(doc.Object{"lun": 64.0})}}, "between 0 and 63"},
	"maxPrice":                {[]change{{"properties.billingProfile.maxPrice", -2.0}}, "either -1 or greater"},
	"zones":                   {[]change{{"zones", []any{"1", "2"}}}, "can be in one zone"},
	"number of tags":          {[]change{{"tags", many(51)}}, "The limit is '50'"},
	"characters of tag names": {[]change{{"tags", doc.Object{"a/b": "c"}}}, "reserved characters"},
	"length of tag names":     {[]change{{"tags", doc.Object{strings.Repeat("a", 513): "c"}}}, "Tag name too large"},
	"length of tag values":    {[]change{{"tags", doc.Object{"a": strings.Repeat("a", 257)}}}, "Tag value too large"},
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
		"LUN already exists",
	},
	"disk name twice": {[]change{{storage + "dataDisks", disks(doc.Object{"name": "os"})}}, "already exists"},
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
