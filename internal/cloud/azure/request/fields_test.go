package request

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rules"
)

// fullWant has every field, but those that exclude others.
func fullWant(w *Want) {
	id := func(kind, name string) string {
		return blueGroup.String() + "/providers/Microsoft." + kind + "/" + name
	}
	w.Choice.Zone, w.Accelerated = "2", true
	w.Placement.OutboundPoolID = blueGroup.Pool("blue", "out").String()
	w.Placement.SubnetIDs = append(w.Placement.SubnetIDs, blueGroup.Subnet("net", "storage").String())
	set := id("Compute/diskEncryptionSets", "keys")
	w.Machine.Spec.Azure = &infrav1.AzureVM{
		Image: infrav1.AzureImage{Marketplace: infrav1.AzureMarketplaceImage{
			Publisher: "cncf-upstream", Offer: "capi-windows", SKU: "windows-2022-containerd", Plan: infrav1.AzureImagePlanImage,
		}},
		OSDisk: infrav1.AzureOSDisk{
			SizeGiB: 128, Type: "Premium_LRS", DiskEncryptionSetID: set, EphemeralPlacement: infrav1.AzureEphemeralNVMe,
		},
		DataDisks: []infrav1.AzureDataDisk{
			{Name: "data", SizeGiB: 256, Type: infrav1.AzureUltraSSD, DiskEncryptionSetID: set},
			{Name: "log", SizeGiB: 32, Caching: infrav1.AzureCachingReadOnly},
		},
		DiskController: "NVMe",
		NetworkInterfaces: []infrav1.AzureNetworkInterface{
			{
				Name: "node", IPForwarding: infrav1.AzureEnabled, SecondaryAddresses: 1, DNSServers: []string{"10.0.0.2"},
				NetworkSecurityGroupID:      id("Network/networkSecurityGroups", "nodes"),
				ApplicationSecurityGroupIDs: []string{id("Network/applicationSecurityGroups", "nodes")},
				LoadBalancerPoolIDs:         []string{blueGroup.Pool("blue", "in").String()},
			},
			{Name: "storage", AcceleratedNetworking: infrav1.AzureDisabled, PublicIP: infrav1.AzureEnabled},
		},
		Priority: infrav1.AzurePrioritySpot,
		Spot:     infrav1.AzureSpot{MaxPrice: "0.25"},
		SecurityProfile: infrav1.AzureSecurityProfile{
			SecurityType: infrav1.AzureTrustedLaunch, SecureBoot: infrav1.AzureDisabled, EncryptionAtHost: infrav1.AzureEnabled,
		},
		Identities: infrav1.AzureIdentities{
			Type:         infrav1.AzureIdentitiesUserAssigned,
			UserAssigned: []string{id("ManagedIdentity/userAssignedIdentities", "nodes")},
		},
		ProximityPlacementGroupID: id("Compute/proximityPlacementGroups", "near"),
		ScaleSetID:                id("Compute/virtualMachineScaleSets", "nodes"),
		BootDiagnostics: infrav1.AzureBootDiagnostics{
			Type: infrav1.AzureBootUserManaged, StorageURI: "https://nodes.blob.core.windows.net/",
		},
		AdditionalTags:      map[string]infrav1.AzureTagValue{"Team": "red"},
		ExtensionOperations: infrav1.AzureDisabled,
		Windows: infrav1.AzureWindows{
			LicenseType: "Windows_Server", TimeZone: "W. Europe Standard Time", PatchMode: infrav1.AzurePatchByPlatform,
			AssessmentMode: "AutomaticByPlatform", Hotpatch: infrav1.AzureEnabled,
		},
	}
}

// fieldCase changes a spec, and says what must be in the body then: paths with their values as JSON, or null for nothing.
type fieldCase struct {
	change func(*infrav1.AzureVM)
	want   map[string]string
}

const imageAt, systemAt, windowsAt = "properties.storageProfile.imageReference", "properties.storageProfile.osDisk",
	"properties.osProfile.windowsConfiguration"

var fieldCases = map[string]fieldCase{
	"nothing": {func(*infrav1.AzureVM) {}, map[string]string{
		"plan": "null", "identity": "null", "zones": "null", "properties.securityProfile": "null", "properties.priority": "null",
		"properties.additionalCapabilities": "null", "properties.licenseType": "null", systemAt + ".managedDisk": "null",
		windowsAt + ".enableAutomaticUpdates": "false", windowsAt + ".patchSettings.patchMode": `"Manual"`,
		"properties.diagnosticsProfile.bootDiagnostics.enabled": "true",
	}},
	"an image in a gallery of the VM's group": {func(s *infrav1.AzureVM) {
		s.Image = infrav1.AzureImage{ComputeGallery: infrav1.AzureGalleryImage{Gallery: "windows", Name: "ws2022"}}
	}, map[string]string{imageAt: `{"id":"` + blueGroup.String() +
		`/providers/Microsoft.Compute/galleries/windows/images/ws2022/versions/latest"}`}},
	"an image in a gallery of another subscription": {func(s *infrav1.AzureVM) {
		s.Image = infrav1.AzureImage{ComputeGallery: infrav1.AzureGalleryImage{
			Gallery: "windows", Name: "ws2022", Version: "1.36.2", ResourceGroup: "images",
			SubscriptionID: "44444444-2222-3333-4444-555555555555",
		}}
	}, map[string]string{imageAt: `{"id":"/subscriptions/44444444-2222-3333-4444-555555555555/resourceGroups/images` +
		`/providers/Microsoft.Compute/galleries/windows/images/ws2022/versions/1.36.2"}`}},
	"a community image": {func(s *infrav1.AzureVM) {
		s.Image = infrav1.AzureImage{CommunityGallery: infrav1.AzureCommunityImage{Gallery: "ClusterAPI-1", Name: "win"}}
	}, map[string]string{imageAt: `{"communityGalleryImageId":"/CommunityGalleries/ClusterAPI-1/Images/win/Versions/latest"}`}},
	"a marketplace image without a plan": {func(s *infrav1.AzureVM) {
		s.Image = infrav1.AzureImage{Marketplace: infrav1.AzureMarketplaceImage{Publisher: "a", Offer: "b", SKU: "c", Version: "1.2.3"}}
	}, map[string]string{imageAt: `{"offer":"b","publisher":"a","sku":"c","version":"1.2.3"}`, "plan": "null"}},
	"a marketplace image with its plan": {func(s *infrav1.AzureVM) {
		s.Image = infrav1.AzureImage{Marketplace: infrav1.AzureMarketplaceImage{Publisher: "a", Offer: "b", SKU: "c", Plan: "Image"}}
	}, map[string]string{"plan": `{"name":"c","product":"b","publisher":"a"}`}},
	"an ephemeral disk": {func(s *infrav1.AzureVM) { s.OSDisk.EphemeralPlacement = infrav1.AzureEphemeralCache }, map[string]string{
		systemAt + ".caching": `"ReadOnly"`, systemAt + ".diffDiskSettings": `{"option":"Local","placement":"CacheDisk"}`,
	}},
	"numbers of disks": {func(s *infrav1.AzureVM) {
		s.DataDisks = []infrav1.AzureDataDisk{{Name: "a", SizeGiB: 1, LUN: new(int32(7))}, {Name: "b", SizeGiB: 1, LUN: new(int32(0))}}
	}, map[string]string{
		"properties.storageProfile.dataDisks.0.lun": "7", "properties.storageProfile.dataDisks.1.lun": "0",
		"properties.storageProfile.dataDisks.1.name": `"win-1-b"`, "properties.storageProfile.dataDisks.1.deleteOption": `"Delete"`,
	}},
	"ultra disks later": {func(s *infrav1.AzureVM) { s.UltraSSD = infrav1.AzureEnabled }, map[string]string{
		"properties.additionalCapabilities": `{"ultraSSDEnabled":true}`,
	}},
	"a spot VM": {func(s *infrav1.AzureVM) { s.Priority = infrav1.AzurePrioritySpot }, map[string]string{
		"properties.priority": `"Spot"`, "properties.evictionPolicy": `"Delete"`, "properties.billingProfile": `{"maxPrice":-1}`,
	}},
	"a spot VM that stays": {func(s *infrav1.AzureVM) {
		s.Priority = infrav1.AzurePrioritySpot
		s.Spot = infrav1.AzureSpot{MaxPrice: "1.5", EvictionPolicy: infrav1.AzureEvictionDeallocate}
	}, map[string]string{"properties.evictionPolicy": `"Deallocate"`, "properties.billingProfile": `{"maxPrice":1.5}`}},
	"a confidential VM": {func(s *infrav1.AzureVM) {
		s.SecurityProfile.SecurityType = infrav1.AzureConfidentialVM
	}, map[string]string{
		"properties.securityProfile.uefiSettings":     `{"secureBootEnabled":true,"vTpmEnabled":true}`,
		systemAt + ".managedDisk.securityProfile":     `{"securityEncryptionType":"VMGuestStateOnly"}`,
		systemAt + ".managedDisk.storageAccountType":  "null",
		"properties.securityProfile.encryptionAtHost": "null",
	}},
	"a confidential VM whose disk is encrypted": {func(s *infrav1.AzureVM) {
		s.SecurityProfile.SecurityType = infrav1.AzureConfidentialVM
		s.OSDisk.SecurityEncryptionType = infrav1.AzureDiskWithVMGuestState
		s.OSDisk.DiskEncryptionSetID = blueGroup.String() + "/providers/Microsoft.Compute/diskEncryptionSets/k"
	}, map[string]string{
		systemAt + ".managedDisk.diskEncryptionSet": "null",
		systemAt + ".managedDisk.securityProfile.diskEncryptionSet.id": `"` + blueGroup.String() +
			`/providers/Microsoft.Compute/diskEncryptionSets/k"`,
	}},
	"a confidential VM whose disk Azure encrypts": {func(s *infrav1.AzureVM) {
		s.SecurityProfile.SecurityType = infrav1.AzureConfidentialVM
		s.OSDisk.DiskEncryptionSetID = blueGroup.String() + "/providers/Microsoft.Compute/diskEncryptionSets/k"
	}, map[string]string{
		systemAt + ".managedDisk": `{"diskEncryptionSet":{"id":"` + blueGroup.String() +
			`/providers/Microsoft.Compute/diskEncryptionSets/k"},"securityProfile":{"securityEncryptionType":"VMGuestStateOnly"}}`,
	}},
	"disks with a type or a key alone": {func(s *infrav1.AzureVM) {
		s.OSDisk.Type = "Premium_LRS"
		s.DataDisks = []infrav1.AzureDataDisk{{Name: "a", SizeGiB: 1, DiskEncryptionSetID: blueGroup.String() +
			"/providers/Microsoft.Compute/diskEncryptionSets/k"}}
	}, map[string]string{
		systemAt + ".managedDisk": `{"storageAccountType":"Premium_LRS"}`, "properties.additionalCapabilities": "null",
		"properties.storageProfile.dataDisks.0.managedDisk": `{"diskEncryptionSet":{"id":"` + blueGroup.String() +
			`/providers/Microsoft.Compute/diskEncryptionSets/k"}}`,
	}},
	"the VM's own identity": {func(s *infrav1.AzureVM) {
		s.Identities.Type = infrav1.AzureIdentitiesSystemAssigned
	}, map[string]string{
		"identity": `{"type":"SystemAssigned"}`,
	}},
	"reserved capacity": {func(s *infrav1.AzureVM) {
		s.CapacityReservationGroupID = blueGroup.String() + "/providers/Microsoft.Compute/capacityReservationGroups/a"
	}, map[string]string{"properties.capacityReservation.capacityReservationGroup.id": `"` + blueGroup.String() +
		`/providers/Microsoft.Compute/capacityReservationGroups/a"`}},
	"a group of hosts": {func(s *infrav1.AzureVM) {
		s.HostGroupID = blueGroup.String() + "/providers/Microsoft.Compute/hostGroups/a"
	}, map[string]string{"properties.hostGroup.id": `"` + blueGroup.String() + `/providers/Microsoft.Compute/hostGroups/a"`}},
	"a host": {func(s *infrav1.AzureVM) {
		s.HostID = blueGroup.String() + "/providers/Microsoft.Compute/hostGroups/a/hosts/b"
	}, map[string]string{"properties.host.id": `"` + blueGroup.String() + `/providers/Microsoft.Compute/hostGroups/a/hosts/b"`}},
	"no boot diagnostics": {func(s *infrav1.AzureVM) { s.BootDiagnostics.Type = infrav1.AzureBootDisabled }, map[string]string{
		"properties.diagnosticsProfile.bootDiagnostics": `{"enabled":false}`,
	}},
	"updates by Windows": {func(s *infrav1.AzureVM) { s.Windows.PatchMode = infrav1.AzurePatchByOS }, map[string]string{
		windowsAt + ".enableAutomaticUpdates": "true", windowsAt + ".patchSettings.patchMode": `"AutomaticByOS"`,
	}},
	"an adapter with all addresses": {func(s *infrav1.AzureVM) {
		s.NetworkInterfaces = []infrav1.AzureNetworkInterface{{Name: "node", SecondaryAddresses: 255}}
	}, map[string]string{
		"properties.networkProfile.networkInterfaceConfigurations.0.properties.ipConfigurations.255.name": `"pod-255"`,
	}},
	"a separate adapter": {func(s *infrav1.AzureVM) {
		s.NetworkInterfaces = []infrav1.AzureNetworkInterface{{Name: "node", PrivateAddress: "10.1.5.5"}}
	}, map[string]string{
		"properties.networkProfile": `{"networkInterfaces":[{"id":"` + blueGroup.Adapter("win-1-node").String() +
			`","properties":{"deleteOption":"Delete","primary":true}}]}`,
	}},
}

// TestFields: each field is where Azure has it, and the body passes the simulator's rules, which were written by hand.
func TestFields(t *testing.T) {
	for name, c := range fieldCases {
		w := blueWant()
		c.change(w.Machine.Spec.Azure)
		body := fieldsBody(t, w)
		passesRules(t, name, body)
		for path, want := range c.want {
			got := string(expect.Got(json.Marshal(fieldsAt(body, strings.Split(path, "."))))(t))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s:\n%s", name, path, diff)
			}
		}
	}
	w := blueWant()
	fullWant(&w)
	passesRules(t, "full", fieldsBody(t, w))
}

func fieldsBody(t *testing.T, w Want) doc.Object {
	t.Helper()
	w.Password = classes + letters[:20]
	vm := VM(w)
	return expect.Got(doc.Read(expect.Got(json.Marshal(vm))(t)))(t)
}

func passesRules(t *testing.T, name string, body doc.Object) {
	t.Helper()
	request := rules.Request{ID: armsim.VMID("win-1"), Body: body, Version: "2026-04-01", Create: true}
	if refused := rules.CheckVM(request); refused != nil {
		t.Errorf("%s: Azure says %v", name, refused)
	}
}

func fieldsAt(of any, path []string) any {
	for _, name := range path {
		switch in := of.(type) {
		case doc.Object:
			of = in[name]
		case []any:
			var i int
			if json.Unmarshal([]byte(name), &i) != nil || i >= len(in) {
				return nil
			}
			of = in[i]
		default:
			return nil
		}
	}
	return of
}

// TestTagsOfMachineGoFirst: Azure would refuse two tags whose names differ in case only.
func TestTagsOfMachineGoFirst(t *testing.T) {
	w := blueWant()
	w.Machine.Spec.Azure.AdditionalTags = map[string]infrav1.AzureTagValue{"Team": "red"}
	w.Placement.Tags = map[string]infrav1.AzureTagValue{"team": "blue", "cost": "1"}
	want := map[string]string{"Team": "red", "cost": "1"}
	if diff := cmp.Diff(want, users(w)); diff != "" {
		t.Error(diff)
	}
	if marks := arm.Tags(w.Machine, users(w), ""); len(marks) != 6 {
		t.Errorf("tags: %v", slices.Sorted(maps.Keys(marks)))
	}
}

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Want)
		want   string
	}{
		"all is well": {func(*Want) {}, ""},
		"every field": {fullWant, ""},
		"no image":    {func(w *Want) { w.Machine.Spec.Azure.Image = infrav1.AzureImage{} }, "spec.azure.image"},
		"half an image": {func(w *Want) {
			w.Machine.Spec.Azure.Image = infrav1.AzureImage{Marketplace: infrav1.AzureMarketplaceImage{Plan: "Image"}}
		}, "spec.azure.image"},
		"two images": {func(w *Want) {
			w.Machine.Spec.Azure.Image.CommunityGallery = infrav1.AzureCommunityImage{Gallery: "a", Name: "b"}
		}, "has several images"},
		"too many tags with those of the cluster": {func(w *Want) {
			w.Machine.Spec.Azure.AdditionalTags = map[string]infrav1.AzureTagValue{}
			for _, c := range letters[:46] {
				w.Machine.Spec.Azure.AdditionalTags["n"+string(c)+"-"+strings.Repeat("x", int(c))] = ""
			}
		}, "remove some"},
		"a public address beside a fixed one": {func(w *Want) {
			w.Machine.Spec.Azure.NetworkInterfaces = []infrav1.AzureNetworkInterface{
				{Name: "node", PrivateAddress: "10.0.0.5"}, {Name: "front", PublicIP: infrav1.AzureEnabled},
			}
		}, "front has a public IP"},
		"user data": {func(w *Want) { w.UserData = make(cloud.UserData, MaxUserData+1) }, "65536 bytes"},
	} {
		w := blueWant()
		test.change(&w)
		err := Check(w)
		told, _ := errors.AsType[*cloud.Error](err)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (told == nil || told.Kind != cloud.Invalid || !strings.Contains(told.Message, test.want)):
			t.Errorf("%s: got %v", name, err)
		}
	}
}
