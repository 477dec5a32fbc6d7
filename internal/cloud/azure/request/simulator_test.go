package request

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
)

// TestAzureTakesTheRequest sends it with Azure's own client to the simulator, which checks each field.
func TestAzureTakesTheRequest(t *testing.T) {
	c := armsim.New(t)
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
	vms := expect.Got(armcompute.NewVirtualMachinesClient(armsim.Subscription, credential,
		&arm.ClientOptions{ClientOptions: options, DisableRPRegistration: true}))(t)
	w := blueWant()
	w.Machine.Spec.Azure.Image.ID = armsim.GalleryImage + "/versions/latest"
	w.Placement.Location, w.Placement.Subnets = armsim.Location, []string{armsim.SubnetID}
	w.Choice, w.UserData, w.Password = Choice{Size: "Standard_D4s_v5", Zone: "1"}, make([]byte, MaxUserData), classes+letters[:20]
	before := len(c.Calls())
	_, err := vms.BeginCreateOrUpdate(t.Context(), armsim.Group, "win-1", VM(w),
		&armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions{IfNoneMatch: new("*")})
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(10 * time.Minute)
	vm := expect.Got(vms.Get(t.Context(), armsim.Group, "win-1", nil))(t)
	if *vm.Properties.ProvisioningState != "Succeeded" {
		t.Errorf("the VM is %s", *vm.Properties.ProvisioningState)
	}
	t.Logf("%d calls", len(c.Calls())-before)
	expect.Got(vms.BeginDelete(t.Context(), armsim.Group, "win-1", nil))(t)
	c.Advance(10 * time.Minute)
	for _, kind := range []string{
		"Microsoft.Compute/virtualMachines", "Microsoft.Compute/disks", "Microsoft.Network/networkInterfaces",
	} {
		if left := c.Names(armsim.Group, kind); len(left) > 0 {
			t.Errorf("%s are left: %s", kind, left)
		}
	}
}
