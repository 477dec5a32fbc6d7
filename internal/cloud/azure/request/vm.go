// Package request writes the one request that makes a VM with its adapters and disks, so that one deletion removes them all. It
// calls nothing and remembers nothing.
package request

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
)

// Want is a VM that is to be made.
type Want struct {
	Machine   cloud.Machine
	Placement infrav1.AzurePlacement
	Choice    Choice
	// Accelerated is true if the size has accelerated networking.
	Accelerated bool
	// Separate is true if the cloud refuses adapters in the request for a VM.
	Separate bool
	// Untagged is true if the cloud's api-version has no tags for what is made with a VM.
	Untagged bool
	UserData cloud.UserData
	Password string
}

// group is the resource group of the VM.
func (w Want) group() arm.ID {
	return arm.GroupID(w.Placement.SubscriptionID, w.Placement.ResourceGroup)
}

// VM is the body of the request. What the VM is made of has marks or names by which it is found again.
func VM(w Want) armcompute.VirtualMachine {
	spec := w.Machine.Spec.Azure
	vm := armcompute.VirtualMachine{
		Location: &w.Placement.Location,
		Tags:     tags(w, cloud.DigestOf(w.Machine.ProviderID, w.UserData)),
		Properties: &armcompute.VirtualMachineProperties{
			HardwareProfile:         &armcompute.HardwareProfile{VMSize: new(armcompute.VirtualMachineSizeTypes(w.Choice.Size))},
			StorageProfile:          disks(w),
			AdditionalCapabilities:  capabilities(spec),
			OSProfile:               system(w),
			LicenseType:             optional(string(spec.Windows.LicenseType)),
			NetworkProfile:          adapters(w),
			DiagnosticsProfile:      diagnostics(spec.BootDiagnostics),
			HostGroup:               resource(spec.HostGroupID),
			Host:                    resource(spec.HostID),
			ProximityPlacementGroup: resource(spec.ProximityPlacementGroupID),
			VirtualMachineScaleSet:  resource(spec.ScaleSetID),
		},
	}
	if w.Choice.Zone != "" {
		vm.Zones = []*string{&w.Choice.Zone}
	}
	if spec.Identities.Type != "" {
		vm.Identity = identities(spec.Identities)
	}
	if spec.Image.Marketplace.Plan == infrav1.AzureImagePlanImage {
		vm.Plan = plan(spec.Image.Marketplace)
	}
	if spec.SecurityProfile != (infrav1.AzureSecurityProfile{}) {
		vm.Properties.SecurityProfile = security(spec.SecurityProfile)
	}
	if group := spec.CapacityReservationGroupID; group != "" {
		vm.Properties.CapacityReservation = &armcompute.CapacityReservationProfile{CapacityReservationGroup: resource(group)}
	}
	if spec.Priority == infrav1.AzurePrioritySpot {
		spot(spec.Spot, vm.Properties)
	}
	return vm
}

// inlineTags are those of what is made with a VM. Without them its name shows whose it is.
func inlineTags(w Want) map[string]*string {
	if w.Untagged {
		return nil
	}
	return tags(w, "")
}

// tags are our marks together with the tags of users.
func tags(w Want, digest string) map[string]*string {
	refs := map[string]*string{}
	for name, value := range arm.Tags(w.Machine, users(w), digest) {
		refs[name] = &value
	}
	return refs
}

// users are the tags that users want: those of the machine go before those of the AzureCluster. Azure ignores the case of names.
func users(w Want) map[string]string {
	merged, taken := map[string]string{}, map[string]bool{}
	for name, value := range w.Machine.Spec.Azure.AdditionalTags {
		merged[name], taken[strings.ToLower(name)] = string(value), true
	}
	for name, value := range w.Placement.Tags {
		if !taken[strings.ToLower(name)] {
			merged[name] = string(value)
		}
	}
	return merged
}

func identities(wanted infrav1.AzureIdentities) *armcompute.VirtualMachineIdentity {
	switch wanted.Type {
	case infrav1.AzureIdentitiesSystemAssigned:
		return &armcompute.VirtualMachineIdentity{Type: new(armcompute.ResourceIdentityTypeSystemAssigned)}
	case infrav1.AzureIdentitiesUserAssigned:
		assigned := map[string]*armcompute.UserAssignedIdentitiesValue{}
		for _, id := range wanted.UserAssigned {
			assigned[id] = &armcompute.UserAssignedIdentitiesValue{}
		}
		return &armcompute.VirtualMachineIdentity{
			Type: new(armcompute.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: assigned,
		}
	}
	return nil
}

// security has secure boot and the virtual TPM on unless the spec disables them.
func security(wanted infrav1.AzureSecurityProfile) *armcompute.SecurityProfile {
	profile := &armcompute.SecurityProfile{EncryptionAtHost: enabled(wanted.EncryptionAtHost)}
	if wanted.SecurityType != "" {
		profile.SecurityType = new(armcompute.SecurityTypes(wanted.SecurityType))
		profile.UefiSettings = &armcompute.UefiSettings{
			SecureBootEnabled: new(wanted.SecureBoot != infrav1.AzureDisabled),
			VTpmEnabled:       new(wanted.VTPM != infrav1.AzureDisabled),
		}
	}
	return profile
}

func diagnostics(wanted infrav1.AzureBootDiagnostics) *armcompute.DiagnosticsProfile {
	return &armcompute.DiagnosticsProfile{BootDiagnostics: &armcompute.BootDiagnostics{
		Enabled:    new(wanted.Type != infrav1.AzureBootDisabled),
		StorageURI: optional(wanted.StorageURI),
	}}
}

// spot VMs are removed with their disks when Azure evicts them, so that they cost nothing more. The price -1 is that of a regular
// VM.
func spot(wanted infrav1.AzureSpot, properties *armcompute.VirtualMachineProperties) {
	price, err := strconv.ParseFloat(wanted.MaxPrice, 64)
	if err != nil {
		price = -1
	}
	policy := cmp.Or(wanted.EvictionPolicy, infrav1.AzureEvictionDelete)
	properties.Priority = new(armcompute.VirtualMachinePriorityTypesSpot)
	properties.EvictionPolicy = new(armcompute.VirtualMachineEvictionPolicyTypes(policy))
	properties.BillingProfile = &armcompute.BillingProfile{MaxPrice: &price}
}

func resource(id string) *armcompute.SubResource {
	if id == "" {
		return nil
	}
	return &armcompute.SubResource{ID: &id}
}

// optional is a value that is sent only if it is there.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// enabled is a state that is sent only if it is there.
func enabled(state infrav1.AzureState) *bool {
	if state == "" {
		return nil
	}
	return new(state == infrav1.AzureEnabled)
}
