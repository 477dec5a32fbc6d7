package request

import (
	"net/http"
	"testing"
	"time"

	armclient "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

var simulatorCases = map[string]struct {
	size   string
	change func(*infrav1.AzureVM)
}{
	"plain": {"Standard_D4s_v5", func(*infrav1.AzureVM) {}},
	"adapters, disks and a gallery": {"Standard_D4s_v5", func(s *infrav1.AzureVM) {
		s.Image = infrav1.AzureImage{ComputeGallery: infrav1.AzureGalleryImage{
			ResourceGroup: armsim.NetworkGroup, Gallery: "capwin", Name: "windows-2022", Version: "1.36.2",
		}}
		s.NetworkInterfaces = []infrav1.AzureNetworkInterface{{
			Name: "node", IPForwarding: infrav1.AzureEnabled, SecondaryAddresses: 30, PublicIP: infrav1.AzureEnabled,
			DNSServers: []string{"10.1.0.4"}, NetworkSecurityGroupID: armsim.NSGID,
			ApplicationSecurityGroupIDs: []string{armsim.ASGID}, LoadBalancerPoolIDs: []string{armsim.PoolID},
		}}
		s.DataDisks = []infrav1.AzureDataDisk{{Name: "data", SizeGiB: 64, Type: infrav1.AzureUltraSSD}, {Name: "log", SizeGiB: 8}}
		s.Identities = infrav1.AzureIdentities{Type: infrav1.AzureIdentitiesUserAssigned, UserAssigned: []string{armsim.IdentityID}}
	}},
	"spot on an ephemeral disk": {"Standard_D4ds_v5", func(s *infrav1.AzureVM) {
		s.Image = infrav1.AzureImage{CommunityGallery: infrav1.AzureCommunityImage{
			Gallery: "ClusterAPI-f72ceb4f", Name: "capi-win-2022-containerd",
		}}
		s.Priority, s.Spot.MaxPrice = infrav1.AzurePrioritySpot, "0.5"
		s.OSDisk.EphemeralPlacement = infrav1.AzureEphemeralCache
		s.SecurityProfile = infrav1.AzureSecurityProfile{
			SecurityType: infrav1.AzureTrustedLaunch, EncryptionAtHost: infrav1.AzureEnabled,
		}
	}},
	"a plan, and Windows' settings": {"Standard_D4s_v5", func(s *infrav1.AzureVM) {
		s.Image = infrav1.AzureImage{Marketplace: infrav1.AzureMarketplaceImage{
			Publisher: "cncf-upstream", Offer: "capi-windows", SKU: "windows-2022-containerd", Plan: infrav1.AzureImagePlanImage,
		}}
		s.OSDisk = infrav1.AzureOSDisk{SizeGiB: 128, Type: "Premium_LRS", Caching: infrav1.AzureCachingReadWrite}
		s.Windows = infrav1.AzureWindows{
			LicenseType: "Windows_Server", TimeZone: "UTC", PatchMode: infrav1.AzurePatchByPlatform, Hotpatch: infrav1.AzureEnabled,
		}
		s.AdditionalTags = map[string]infrav1.AzureTagValue{"team": "red"}
		s.ExtensionOperations = infrav1.AzureEnabled
	}},
	"confidential": {"Standard_DC4as_v5", func(s *infrav1.AzureVM) {
		s.SecurityProfile.SecurityType = infrav1.AzureConfidentialVM
		s.BootDiagnostics.Type = infrav1.AzureBootDisabled
	}},
	"an address of its own": {"Standard_D4s_v5", func(s *infrav1.AzureVM) {
		s.NetworkInterfaces = []infrav1.AzureNetworkInterface{{Name: "node", PrivateAddress: "10.1.5.5"}}
	}},
}

// TestAzureTakesTheRequest sends it with Azure's own client to the simulator, which checks each field, and removes all again.
func TestAzureTakesTheRequest(t *testing.T) {
	c := armsim.New(t)
	credential, options := simulatorLogin(t, c)
	vms := expect.Got(armcompute.NewVirtualMachinesClient(armsim.Subscription, credential, options))(t)
	for name, test := range simulatorCases {
		w := simulatorWant(test.size)
		test.change(w.Machine.Spec.Azure)
		if err := Check(w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if Separate(w) {
			simulatorPut(t, credential, options, w)
			c.Advance(time.Minute)
		}
		_, err := vms.BeginCreateOrUpdate(t.Context(), armsim.Group, "win-1", VM(w),
			&armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions{IfNoneMatch: new("*")})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c.Advance(10 * time.Minute)
		vm := expect.Got(vms.Get(t.Context(), armsim.Group, "win-1", nil))(t)
		if *vm.Properties.ProvisioningState != "Succeeded" {
			t.Errorf("%s: the VM is %s", name, *vm.Properties.ProvisioningState)
		}
		expect.Got(vms.BeginDelete(t.Context(), armsim.Group, "win-1", nil))(t)
		c.Advance(10 * time.Minute)
		for _, kind := range []string{
			"Microsoft.Compute/virtualMachines", "Microsoft.Compute/disks", "Microsoft.Network/networkInterfaces",
		} {
			if left := c.Names(armsim.Group, kind); len(left) > 0 {
				t.Errorf("%s: %s are left: %s", name, kind, left)
			}
		}
	}
}

func simulatorLogin(t *testing.T, c *armsim.Cloud) (*azidentity.ClientSecretCredential, *armclient.ClientOptions) {
	t.Helper()
	options := policy.ClientOptions{
		Cloud: cloud.Configuration{
			ActiveDirectoryAuthorityHost: c.Endpoint() + "/",
			Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
				cloud.ResourceManager: {Endpoint: c.Endpoint(), Audience: c.Endpoint()},
			},
		},
		Transport: c.Client(), Retry: policy.RetryOptions{MaxRetries: -1},
	}
	credential := expect.Got(azidentity.NewClientSecretCredential(armsim.Tenant, armsim.ClientID, armsim.Secret,
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true}))(t)
	return credential, &armclient.ClientOptions{ClientOptions: options, DisableRPRegistration: true}
}

func simulatorWant(size string) Want {
	w := blueWant()
	w.Machine.Spec.Azure.Image.ID = armsim.GalleryImage + "/versions/latest"
	w.Placement.SubscriptionID, w.Placement.ResourceGroup = armsim.Subscription, armsim.Group
	w.Placement.Location, w.Placement.SubnetIDs = armsim.Location, []string{armsim.SubnetID}
	w.Choice, w.UserData, w.Password = Choice{Size: size, Zone: "1"}, make([]byte, MaxUserData), classes+letters[:20]
	return w
}

// simulatorPut makes the separate adapters.
func simulatorPut(t *testing.T, credential *azidentity.ClientSecretCredential, options *armclient.ClientOptions, w Want) {
	t.Helper()
	client := expect.Got(armclient.NewClient("request", "v0.0.0", credential, options))(t)
	for i := range w.Placement.SubnetIDs {
		id := w.group().Adapter(AdapterName(w.Machine, i)).String()
		request := expect.Got(runtime.NewRequest(t.Context(), http.MethodPut, client.Endpoint()+id+"?api-version=2025-01-01"))(t)
		expect.OK(t, runtime.MarshalAsJSON(request, Adapter(w, i)))
		answer, err := client.Pipeline().Do(request)
		expect.OK(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusCreated {
			t.Errorf("adapter %d: %s", i, answer.Status)
		}
	}
}
