package compute

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// withoutSecrets is a body as ARM keeps it: what can only be written is never shown again [D].
func withoutSecrets(sent doc.Object) doc.Object {
	body := doc.Clone(sent)
	for _, field := range []string{"adminPassword", "customData"} {
		doc.Remove(body, "properties", "osProfile", field)
	}
	doc.Remove(body, "properties", "userData")
	doc.Remove(body, "properties", "networkProfile", "networkInterfaceConfigurations")
	return body
}

// shape is a new VM as ARM shows it: what was sent without its secrets, and what the platform adds.
func (c *Compute) shape(r Request, s start) doc.Object {
	body := withoutSecrets(r.Body)
	body["location"] = s.location
	properties := doc.Of(body, "properties")
	properties["vmId"] = c.World.UUID()
	properties["provisioningState"] = "Creating"
	properties["timeCreated"] = world.Time(c.World.Clock.Now())
	if s.exact != "" {
		doc.Set(properties, s.exact, "storageProfile", "imageReference", "exactVersion")
	}
	c.shapeDisks(r.ID, properties, s.image)
	if profile := doc.Of(properties, "osProfile"); profile != nil {
		for _, flag := range []string{"allowExtensionOperations", "requireGuestProvisionSignal"} {
			if !doc.Has(profile, flag) {
				profile[flag] = true
			}
		}
		if _, ok := profile["secrets"]; !ok {
			profile["secrets"] = []any{}
		}
	}
	for _, identity := range doc.Of(body, "identity", "userAssignedIdentities") {
		if o, ok := identity.(doc.Object); ok {
			o["clientId"], o["principalId"] = c.World.UUID(), c.World.UUID()
		}
	}
	return body
}

func (c *Compute) shapeDisks(vm doc.ID, properties doc.Object, image Image) {
	os := doc.Of(properties, "storageProfile", "osDisk")
	if os == nil {
		return
	}
	if doc.Text(os, "name") == "" {
		// [V] the platform's own name
		os["name"] = vm.Name() + "_OsDisk_1_" + c.World.Suffix(32)
	}
	os["osType"] = "Windows"
	if doc.Number(os, "diskSizeGB") == 0 && image.SizeGB > 0 {
		os["diskSizeGB"] = image.SizeGB
	}
	if !doc.Has(os, "deleteOption") {
		os["deleteOption"] = "Detach" // the default [D]
	}
	for _, d := range doc.List(properties, "storageProfile", "dataDisks") {
		if doc.Text(d, "name") == "" {
			d["name"] = vm.Name() + "_disk" + c.World.Suffix(32)
		}
		if !doc.Has(d, "deleteOption") {
			d["deleteOption"] = "Detach"
		}
	}
}

// can refuses what a size cannot do. The sentences are [V] where users report them, else [I].
func (s Size) can(body doc.Object) *reply.Error {
	bad := func(target, format string, args ...any) *reply.Error {
		return reply.New(http.StatusBadRequest, "InvalidParameter", format, args...).At(target)
	}
	properties := doc.Of(body, "properties")
	os := doc.Of(properties, "storageProfile", "osDisk")
	switch {
	case strings.HasPrefix(doc.Text(os, "managedDisk", "storageAccountType"), "Premium") && !s.Premium:
		return bad("osDisk.managedDisk.storageAccountType",
			"Requested operation cannot be performed because the VM size %s does not support the storage account type Premium_LRS of "+
				"disk '%s'. Consider updating the VM to a size that supports Premium storage.", s.Name, doc.Text(os, "name"))
	case doc.Has(os, "diffDiskSettings") && s.CacheGB == 0 && s.ResourceGB == 0:
		return reply.New(http.StatusConflict, "OperationNotAllowed", "OS disk of Ephemeral VM is not supported for VM size %s.",
			s.Name).At("osDisk.diffDiskSettings")
	case doc.Flag(properties, "securityProfile", "encryptionAtHost") && !s.HostEncryption:
		return bad("securityProfile.encryptionAtHost", "The VM size '%s' does not support encryption at host.", s.Name)
	}
	refused := s.canSecure(doc.Text(properties, "securityProfile", "securityType"))
	for _, nic := range doc.List(properties, "networkProfile", "networkInterfaceConfigurations") {
		refused = cmp.Or(refused, s.canAccelerate(nic))
	}
	return refused
}

func (s Size) canSecure(security string) *reply.Error {
	refused := func() *reply.Error {
		return reply.New(http.StatusBadRequest, "InvalidParameter",
			"The VM size '%s' is not supported for creation of VMs with '%s' security type.", s.Name, security).
			At("securityProfile.securityType")
	}
	switch {
	case security == "TrustedLaunch" && (s.NoTrusted || s.Generations == "V1"):
		return refused()
	case security == "ConfidentialVM" && s.Confidential == "":
		return refused()
	}
	return nil
}

// canAccelerate refuses what a NIC, inline or not, wants of the size.
func (s Size) canAccelerate(nic doc.Object) *reply.Error {
	if s.Accelerated || !doc.Flag(nic, "properties", "enableAcceleratedNetworking") {
		return nil
	}
	return reply.New(http.StatusBadRequest, "VMSizeIsNotPermittedToEnableAcceleratedNetworking", "VM size %s specified for virtual "+
		"machine is not permitted to enable accelerated networking on its network interfaces.", s.Name)
}
