package rules

import (
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// together are rules of several members. Each line: what it is about, when it is broken, and what Azure says.
var together = []Rule{
	rule("NICs twice", "networkProfile", func(p doc.Object) bool {
		return doc.Has(p, "networkProfile", "networkInterfaces") && doc.Has(p, "networkProfile", "networkInterfaceConfigurations")
	}, "NetworkInterfaces and NetworkInterfaceConfigurations cannot both be specified in the network profile."),
	create("no NIC", "networkProfile", func(p doc.Object) bool {
		return len(nics(p)) == 0
	}, "Virtual machine must have at least one network interface."),
	rule("networkApiVersion", "networkProfile.networkApiVersion", func(p doc.Object) bool {
		return doc.Has(p, "networkProfile", "networkInterfaceConfigurations") && !doc.Has(p, "networkProfile", "networkApiVersion")
	}, "Required parameter 'networkProfile.networkApiVersion' is missing (null)."),
	rule("one primary NIC", "networkProfile", func(p doc.Object) bool {
		return len(nics(p)) > 1 && primaries(nics(p)) != 1
	}, "Virtual machine must have one network interface set as the primary."),
	rule("image twice", "imageReference", func(p doc.Object) bool { return sources(p) > 1 },
		"The imageReference may have only one of: id, sharedGalleryImageId, communityGalleryImageId, or publisher, offer, sku and "+
			"version."),
	rule("image incomplete", "imageReference", func(p doc.Object) bool {
		i := doc.Of(p, "storageProfile", "imageReference")
		return doc.Has(i, "publisher") && (!doc.Has(i, "offer") || !doc.Has(i, "sku") || !doc.Has(i, "version"))
	}, "Required parameter 'imageReference' is incomplete: publisher, offer, sku and version are needed."),
	create("image missing", "imageReference", func(p doc.Object) bool {
		return doc.Text(p, "storageProfile", "osDisk", "createOption") == "FromImage" && sources(p) == 0
	}, "Required parameter 'imageReference' is missing (null)."),
	rule("image and attached disk", "osDisk", func(p doc.Object) bool {
		return doc.Text(p, "storageProfile", "osDisk", "createOption") == "Attach" && sources(p) > 0
	}, "Cannot attach an existing OS disk if the VM is created from a platform or user image."),
	{"zone and availability set", func(r Request) *reply.Error {
		if len(doc.Texts(r.Body, "zones")) > 0 && doc.Has(r.Body, "properties", "availabilitySet") {
			return reply.New(400, "BadRequest", "Virtual Machine cannot be created because both Availability Zone and Availability Set "+
				"were "+
				"specified. Deploying an Availability Set to an Availability Zone isn't supported.") // [V]
		}
		return nil
	}},
	rule("two sets", "virtualMachineScaleSet", func(p doc.Object) bool {
		return doc.Has(p, "availabilitySet") && doc.Has(p, "virtualMachineScaleSet")
	}, "A virtual machine cannot be in an availability set and in a virtual machine scale set."),
	rule("host and its group", "host", func(p doc.Object) bool { return doc.Has(p, "host") && doc.Has(p, "hostGroup") },
		"User cannot specify both host and hostGroup properties."),
	rule("fault domain alone", "platformFaultDomain", func(p doc.Object) bool {
		return doc.Has(p, "platformFaultDomain") && !doc.Has(p, "virtualMachineScaleSet")
	}, "The platformFaultDomain can be specified only with a virtual machine scale set."),
	rule("reservation of spot", "capacityReservation", func(p doc.Object) bool {
		return doc.Has(p, "capacityReservation") && (spot(p) || doc.Has(p, "availabilitySet") || doc.Has(p, "proximityPlacementGroup"))
	}, "A capacity reservation cannot be used with Spot priority, an availability set or a proximity placement group."),
	rule("eviction of regular", "evictionPolicy", func(p doc.Object) bool { return doc.Has(p, "evictionPolicy") && !spot(p) },
		"Eviction policy can be set only on Azure Spot Virtual Machines."),
	rule("price of "+
		"regular", "billingProfile", func(p doc.Object) bool { return doc.Has(p, "billingProfile", "maxPrice") && !spot(p) },
		"Max price can be set only on Azure Spot Virtual Machines."),
	rule("ephemeral caching", "osDisk.caching", func(p doc.Object) bool {
		return ephemeral(p) && doc.Text(p, "storageProfile", "osDisk", "caching") != "ReadOnly"
	}, "OS disk of Ephemeral VM must have ReadOnly caching."),
	rule("ephemeral spot", "evictionPolicy", func(p doc.Object) bool {
		return ephemeral(p) && spot(p) && doc.Text(p, "evictionPolicy") != "Delete"
	}, "Eviction policy 'Deallocate' is not supported for VMs with an ephemeral OS disk."),
	rule("ephemeral attached", "osDisk.createOption", func(p doc.Object) bool {
		return ephemeral(p) && doc.Text(p, "storageProfile", "osDisk", "createOption") != "FromImage"
	}, "An ephemeral OS disk can be created from an image only."),
	rule("ultra OS disk", "osDisk.managedDisk.storageAccountType", func(p doc.Object) bool {
		kind := doc.Text(p, "storageProfile", "osDisk", "managedDisk", "storageAccountType")
		return kind == "UltraSSD_LRS" || kind == "PremiumV2_LRS"
	}, "UltraSSD_LRS and PremiumV2_LRS cannot be used with an OS disk."),
	rule("ultra not enabled", "dataDisk.managedDisk.storageAccountType", func(p doc.Object) bool {
		return anyDisk(p, "UltraSSD_LRS") && !doc.Flag(p, "additionalCapabilities", "ultraSSDEnabled")
	}, "StorageAccountType UltraSSD_LRS can be used only when additionalCapabilities.ultraSSDEnabled is set."),
	{"caching of ultra", eachDisk(func(d doc.Object) *reply.Error {
		kind, caching := doc.Text(d, "managedDisk", "storageAccountType"), doc.Text(d, "caching")
		if (kind == "UltraSSD_LRS" || kind == "PremiumV2_LRS") && caching != "" && caching != "None" {
			return reply.InvalidParameter("dataDisk.caching", "Disk caching must be None for %s disks.", kind)
		}
		return nil
	})},
	{"size of an empty disk", eachDisk(func(d doc.Object) *reply.Error {
		if doc.Text(d, "createOption") == "Empty" && !doc.Has(d, "diskSizeGB") {
			return reply.InvalidParameter("dataDisk.diskSizeGB", "Required parameter 'dataDisk.diskSizeGB' is missing (null).")
		}
		return nil
	})},
	{"attached disk without id", eachDisk(func(d doc.Object) *reply.Error {
		if doc.Text(d, "createOption") == "Attach" && !doc.Has(d, "managedDisk", "id") {
			return reply.InvalidParameter("dataDisk.managedDisk.id", "Required parameter 'dataDisk.managedDisk.id' is missing (null).")
		}
		return nil
	})},
	create("no password", "adminPassword", func(p doc.Object) bool {
		return doc.Has(p, "osProfile") && !doc.Has(p, "osProfile", "adminPassword")
	}, "Required parameter 'adminPassword' is missing (null)."),
	create("no user", "adminUsername", func(p doc.Object) bool {
		return doc.Has(p, "osProfile") && !doc.Has(p, "osProfile", "adminUsername")
	}, "Required parameter 'adminUsername' is missing (null)."),
	create("no OS profile", "osProfile", func(p doc.Object) bool {
		return doc.Text(p, "storageProfile", "osDisk", "createOption") == "FromImage" && !doc.Has(p, "osProfile")
	}, "Required parameter 'osProfile' is missing (null)."),
	rule("two systems", "osProfile", func(p doc.Object) bool {
		return doc.Has(p, "osProfile", "windowsConfiguration") && doc.Has(p, "osProfile", "linuxConfiguration")
	}, "The osProfile may have only one of windowsConfiguration and linuxConfiguration."),
	patch("platform patches without agent", func(mode string, w doc.Object) bool {
		return mode == "AutomaticByPlatform" && doc.Get(w, "provisionVMAgent") == false
	}, "patchMode AutomaticByPlatform requires that provisionVMAgent is true."),
	patch("platform patches without updates", func(mode string, w doc.Object) bool {
		return mode == "AutomaticByPlatform" && doc.Get(w, "enableAutomaticUpdates") == false
	}, "patchMode AutomaticByPlatform requires that enableAutomaticUpdates is true."),
	patch("manual patches with updates", func(mode string, w doc.Object) bool {
		return mode == "Manual" && doc.Get(w, "enableAutomaticUpdates") != false
	}, "patchMode Manual requires that enableAutomaticUpdates is false."),
	patch("patches of the OS without updates", func(mode string, w doc.Object) bool {
		return mode == "AutomaticByOS" && doc.Get(w, "enableAutomaticUpdates") == false
	}, "patchMode AutomaticByOS requires that enableAutomaticUpdates is true."),
	patch("hotpatching", func(mode string, w doc.Object) bool {
		return doc.Flag(w, "patchSettings", "enableHotpatching") && mode != "AutomaticByPlatform"
	}, "enableHotpatching requires patchMode AutomaticByPlatform."),
	rule("UEFI without security type", "securityProfile.uefiSettings", func(p doc.Object) bool {
		kind := doc.Text(p, "securityProfile", "securityType")
		return doc.Has(p, "securityProfile", "uefiSettings") && (kind == "" || kind == "Standard")
	}, "Use of UEFI settings is not supported without a security type of TrustedLaunch or ConfidentialVM."),
	rule("confidential without disk encryption type", "osDisk.managedDisk.securityProfile", func(p doc.Object) bool {
		return confidential(p) && encryption(p) == ""
	}, "ConfidentialVM requires osDisk.managedDisk.securityProfile.securityEncryptionType."),
	rule("disk encryption type of others", "osDisk.managedDisk.securityProfile", func(p doc.Object) bool {
		return !confidential(p) && encryption(p) != ""
	}, "securityEncryptionType can be specified only with securityType ConfidentialVM."),
	rule("confidential without TPM", "securityProfile.uefiSettings.vTpmEnabled", func(p doc.Object) bool {
		return confidential(p) && !doc.Flag(p, "securityProfile", "uefiSettings", "vTpmEnabled")
	}, "vTpmEnabled must be true for ConfidentialVM."),
	rule("encrypted disk without secure boot", "securityProfile.uefiSettings.secureBootEnabled", func(p doc.Object) bool {
		return encryption(p) == "DiskWithVMGuestState" && !doc.Flag(p, "securityProfile", "uefiSettings", "secureBootEnabled")
	}, "secureBootEnabled must be true for securityEncryptionType DiskWithVMGuestState."),
	rule("encrypted twice", "securityProfile.encryptionAtHost", func(p doc.Object) bool {
		return encryption(p) == "DiskWithVMGuestState" && doc.Flag(p, "securityProfile", "encryptionAtHost")
	}, "encryptionAtHost is not supported with securityEncryptionType DiskWithVMGuestState."),
	{"WinRM certificate", func(r Request) *reply.Error {
		for _, l := range doc.List(r.Body, "properties", "osProfile", "windowsConfiguration", "winRM", "listeners") {
			if (doc.Text(l, "protocol") == "Https") != doc.Has(l, "certificateUrl") {
				return reply.InvalidParameter("winRM.listeners", "A listener with protocol Https needs a certificateUrl, and no other may "+
					"have one.")
			}
		}
		return nil
	}},
}

// rule is a rule of a VM's properties.
func rule(name, target string, broken func(doc.Object) bool, sentence string) Rule {
	return Rule{Name: name, Check: func(r Request) *reply.Error {
		if broken(doc.Of(r.Body, "properties")) {
			return reply.InvalidParameter(target, "%s", sentence)
		}
		return nil
	}}
}

// create is a rule of new VMs only.
func create(name, target string, broken func(doc.Object) bool, sentence string) Rule {
	all := rule(name, target, broken, sentence)
	return Rule{Name: name, Check: func(r Request) *reply.Error {
		if !r.Create {
			return nil
		}
		return all.Check(r)
	}}
}

func patch(name string, broken func(mode string, windows doc.Object) bool, sentence string) Rule {
	return rule(name, "windowsConfiguration.patchSettings", func(p doc.Object) bool {
		w := doc.Of(p, "osProfile", "windowsConfiguration")
		return broken(doc.Text(w, "patchSettings", "patchMode"), w)
	}, sentence)
}

func nics(p doc.Object) []doc.Object {
	return append(doc.List(p, "networkProfile", "networkInterfaces"),
		doc.List(p, "networkProfile", "networkInterfaceConfigurations")...)
}

func primaries(nics []doc.Object) (n int) {
	for _, nic := range nics {
		if doc.Flag(nic, "properties", "primary") {
			n++
		}
	}
	return n
}

func sources(p doc.Object) (n int) {
	for _, field := range []string{"id", "sharedGalleryImageId", "communityGalleryImageId", "publisher"} {
		if doc.Has(p, "storageProfile", "imageReference", field) {
			n++
		}
	}
	return n
}

func spot(p doc.Object) bool {
	priority := doc.Text(p, "priority")
	return priority == "Spot" || priority == "Low"
}

func ephemeral(p doc.Object) bool { return doc.Has(p, "storageProfile", "osDisk", "diffDiskSettings") }

func confidential(p doc.Object) bool {
	return doc.Text(p, "securityProfile", "securityType") == "ConfidentialVM"
}

func encryption(p doc.Object) string {
	return doc.Text(p, "storageProfile", "osDisk", "managedDisk", "securityProfile", "securityEncryptionType")
}

func anyDisk(p doc.Object, kind string) bool {
	for _, d := range doc.List(p, "storageProfile", "dataDisks") {
		if doc.Text(d, "managedDisk", "storageAccountType") == kind {
			return true
		}
	}
	return false
}
