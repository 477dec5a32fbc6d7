package armsim_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// clients are those of Azure's SDK, as the manager has them: without retries.
type clients struct {
	vms   *armcompute.VirtualMachinesClient
	disks *armcompute.DisksClient
	skus  *armcompute.ResourceSKUsClient
	usage *armcompute.UsageClient
}

func cloudOf(c *armsim.Cloud) policy.ClientOptions {
	return policy.ClientOptions{
		Cloud: cloud.Configuration{
			ActiveDirectoryAuthorityHost: c.Endpoint() + "/",
			Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
				cloud.ResourceManager: {Endpoint: c.Endpoint(), Audience: c.Endpoint()},
			},
		},
		Transport: c.Client(), Retry: policy.RetryOptions{MaxRetries: -1},
	}
}

func sdk(t *testing.T, c *armsim.Cloud) clients {
	t.Helper()
	credential := expect.Got(azidentity.NewClientSecretCredential(armsim.Tenant, armsim.ClientID, armsim.Secret,
		&azidentity.ClientSecretCredentialOptions{ClientOptions: cloudOf(c), DisableInstanceDiscovery: true}))(t)
	return sdkAs(t, c, credential)
}

func sdkAs(t *testing.T, c *armsim.Cloud, credential azcore.TokenCredential) clients {
	t.Helper()
	o := &arm.ClientOptions{ClientOptions: cloudOf(c), DisableRPRegistration: true}
	return clients{
		vms:   expect.Got(armcompute.NewVirtualMachinesClient(armsim.Subscription, credential, o))(t),
		disks: expect.Got(armcompute.NewDisksClient(armsim.Subscription, credential, o))(t),
		skus:  expect.Got(armcompute.NewResourceSKUsClient(armsim.Subscription, credential, o))(t),
		usage: expect.Got(armcompute.NewUsageClient(armsim.Subscription, credential, o))(t),
	}
}

// good is a VM as the manager makes it: one PUT with inline NIC and disk.
func good(name string) armcompute.VirtualMachine {
	return armcompute.VirtualMachine{
		Location: new(armsim.Location), Zones: []*string{new("1")},
		Tags: map[string]*string{"capwin-owner": new("default/" + name)},
		Properties: &armcompute.VirtualMachineProperties{
			HardwareProfile: &armcompute.HardwareProfile{VMSize: new(armcompute.VirtualMachineSizeTypes("Standard_D4s_v5"))},
			StorageProfile: &armcompute.StorageProfile{
				ImageReference: &armcompute.ImageReference{ID: new(armsim.GalleryImage + "/versions/latest")},
				OSDisk: &armcompute.OSDisk{
					Name: new(name + "-os"), CreateOption: new(armcompute.DiskCreateOptionTypesFromImage),
					DeleteOption: new(armcompute.DiskDeleteOptionTypesDelete), Caching: new(armcompute.CachingTypesReadWrite),
				},
			},
			OSProfile: &armcompute.OSProfile{
				ComputerName: &name, AdminUsername: new("capwin"), AdminPassword: new("A long enough passw0rd"),
				CustomData:           new("I2Nsb3VkLWNvbmZpZwo="),
				WindowsConfiguration: &armcompute.WindowsConfiguration{EnableAutomaticUpdates: new(false), ProvisionVMAgent: new(true)},
			},
			NetworkProfile: &armcompute.NetworkProfile{
				NetworkAPIVersion:              new(armcompute.NetworkAPIVersionTwoThousandTwenty1101),
				NetworkInterfaceConfigurations: []*armcompute.VirtualMachineNetworkInterfaceConfiguration{inline(name)},
			},
			DiagnosticsProfile: &armcompute.DiagnosticsProfile{BootDiagnostics: &armcompute.BootDiagnostics{Enabled: new(true)}},
		},
	}
}

func inline(name string) *armcompute.VirtualMachineNetworkInterfaceConfiguration {
	return &armcompute.VirtualMachineNetworkInterfaceConfiguration{
		Name: &name, Tags: map[string]*string{"capwin-owner": new("default/" + name)},
		Properties: &armcompute.VirtualMachineNetworkInterfaceConfigurationProperties{
			Primary: new(true), DeleteOption: new(armcompute.DeleteOptionsDelete),
			IPConfigurations: []*armcompute.VirtualMachineNetworkInterfaceIPConfiguration{{
				Name: new("primary"),
				Properties: &armcompute.VirtualMachineNetworkInterfaceIPConfigurationProperties{
					Primary: new(true), Subnet: &armcompute.SubResource{ID: &armsim.SubnetID},
				},
			}},
		},
	}
}

// body is good as JSON.
func body(t *testing.T, name string) doc.Object {
	t.Helper()
	vm := good(name)
	return expect.Got(doc.Read(expect.Got(json.Marshal(vm))(t)))(t)
}

// answer is what a request by hand gets.
type answer struct {
	status int
	header http.Header
	body   doc.Object
}

func (a answer) code() string    { return doc.Text(a.body, "error", "code") }
func (a answer) message() string { return doc.Text(a.body, "error", "message") }

// by hand: a client of our own, without the SDK.
type byHand struct {
	cloud   *armsim.Cloud
	token   string
	version string
}

func newByHand(t *testing.T, c *armsim.Cloud) byHand {
	t.Helper()
	response, err := c.Client().PostForm(c.Endpoint()+"/"+armsim.Tenant+"/oauth2/v2.0/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {armsim.ClientID}, "client_secret": {armsim.Secret},
		"scope": {c.Endpoint() + "/.default"},
	})
	expect.OK(t, err)
	defer func() { _ = response.Body.Close() }()
	content := expect.Got(io.ReadAll(response.Body))(t)
	token := doc.Text(expect.Got(doc.Read(content))(t), "access_token")
	if token == "" {
		t.Fatalf("no token: %s", content)
	}
	return byHand{cloud: c, token: token, version: "2025-04-01"}
}

func (h byHand) do(t *testing.T, method, path string, body doc.Object, header ...string) answer {
	t.Helper()
	address, err := url.Parse(h.cloud.Endpoint() + path)
	expect.OK(t, err)
	query := address.Query()
	if !query.Has("api-version") {
		query.Set("api-version", h.version)
	}
	address.RawQuery = query.Encode()
	var content []byte
	if body != nil {
		content = expect.Got(json.Marshal(body))(t)
	}
	request := expect.Got(http.NewRequestWithContext(t.Context(), method, address.String(), bytes.NewReader(content)))(t)
	request.Header.Set("Authorization", "Bearer "+h.token)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := h.cloud.Client().Do(request)
	expect.OK(t, err)
	defer func() { _ = response.Body.Close() }()
	a := answer{status: response.StatusCode, header: response.Header}
	if got := expect.Got(io.ReadAll(response.Body))(t); len(got) > 0 {
		a.body, _ = doc.Read(got)
	}
	return a
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
