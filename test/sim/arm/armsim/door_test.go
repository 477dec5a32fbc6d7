package armsim_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/buckets"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/tokens"
)

const vmsOfGroup = "/subscriptions/" + armsim.Subscription + "/resourceGroups/" + armsim.Group +
	"/providers/Microsoft.Compute/virtualMachines"

// Strangers drain the buckets of compute, not our front door; a client that waits as long as it is told is served.
func TestThrottling(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	first := h.get(t, vmsOfGroup)
	equal(t, first.header.Get("X-Ms-Ratelimit-Remaining-Subscription-Reads"), "249")
	equal(t, first.header.Get("X-Ms-Ratelimit-Remaining-Resource"), "Microsoft.Compute/HighCostGet3Min;899")
	c.Change(func(w *armsim.Inside) { w.Buckets.Drain(buckets.HighCostGet, armsim.Subscription, armsim.Location, 1) })
	a := h.get(t, vmsOfGroup)
	a.refused(t, http.StatusTooManyRequests, "OperationNotAllowed", "too many requests")
	equal(t, doc.Text(doc.List(a.body, "error", "details")[0], "code"), "TooManyRequests")
	equal(t, doc.Text(doc.List(a.body, "error", "details")[0], "target"), "HighCostGet3Min")
	equal(t, a.header.Get("Retry-After"), "1")
	c.Advance(time.Second)
	equal(t, h.get(t, vmsOfGroup).status, http.StatusOK)
	c.Change(func(w *armsim.Inside) { w.Buckets.DrainDoor(buckets.Reads, armsim.Subscription, armsim.ClientID) })
	h.get(t, vmsOfGroup).refused(t, http.StatusTooManyRequests, "SubscriptionRequestsThrottled", "Please try again after '1' "+
		"seconds")
	c.Advance(time.Minute)
	for range 12 {
		h.put(t, "vm")
	}
	a = h.put(t, "vm")
	equal(t, doc.Text(doc.List(a.body, "error", "details")[0], "target"), "PutVMResource3Min")
	equal(t, a.header.Get("Retry-After"), "15")
}

func TestRights(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	scope := "/subscriptions/" + armsim.Subscription
	vm := "Microsoft.Compute/virtualMachines/"
	actions := []string{
		vm + "write", vm + "read", "Microsoft.Compute/disks/write", "Microsoft.Compute/galleries/images/versions/read",
		"Microsoft.Network/networkInterfaces/write", "Microsoft.Network/virtualNetworks/subnets/join/action",
	}
	for i := range actions {
		c.Change(func(w *armsim.Inside) {
			w.Rights.Revoke(armsim.ObjectID)
			w.Rights.Grant(armsim.ObjectID, scope, append(append([]string{}, actions[:i]...), actions[i+1:]...)...)
		})
		a := h.put(t, "vm")
		if i == 1 { // read is not needed for a PUT
			equal(t, a.status, http.StatusCreated)
			a = h.get(t, armsim.VMID("vm").String())
		}
		if a.status != http.StatusForbidden || !strings.Contains(a.message(), "'"+actions[i]+"'") ||
			!strings.Contains(a.message(), armsim.ClientID) {
			t.Errorf("without %s: %d %s", actions[i], a.status, a.message())
		}
	}
}

func TestPlaces(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	c.Change(func(w *armsim.Inside) { w.Rights.Grant(armsim.ObjectID, "", "*") })
	h.get(t, strings.Replace(vmsOfGroup, armsim.Subscription, "other", 1)).
		refused(t, http.StatusNotFound, "SubscriptionNotFound", "'other'")
	h.get(t, strings.Replace(vmsOfGroup, armsim.Group, "other", 1)).
		refused(t, http.StatusNotFound, "ResourceGroupNotFound", "'other'")
	h.put(t, "vm")
	c.ShowGroup(armsim.Group, strings.ToUpper(armsim.Group))
	equal(t, strings.Contains(doc.Text(h.get(t, armsim.VMID("vm").String()).body, "id"), "CAPWIN-NODES"), true)
	// What the cloud controller manager asks, in its old api-versions.
	c.Advance(time.Minute)
	h.version = "2017-12-01"
	vm := h.get(t, armsim.VMID("VM").String()).body
	h.version = "2018-11-01"
	nic := h.get(t, doc.Text(doc.List(vm, "properties", "networkProfile", "networkInterfaces")[0], "id")).body
	equal(t, doc.Text(doc.List(nic, "properties", "ipConfigurations")[0], "properties", "privateIPAddress"), "10.1.0.4")
	equal(t, h.get(t, armsim.SubnetID).status, http.StatusOK)
	h.put(t, "vm").refused(t, http.StatusBadRequest, "NoRegisteredProviderFound", "2018-11-01")
	response, err := c.Client().Get(c.Endpoint() + "/metadata/endpoints?api-version=2019-05-01")
	expect.OK(t, err)
	expect.OK(t, response.Body.Close())
	equal(t, response.StatusCode, http.StatusOK)
	c.DeleteGroup(armsim.Group)
	h.version = "2025-04-01"
	h.get(t, armsim.VMID("vm").String()).refused(t, http.StatusNotFound, "ResourceGroupNotFound", armsim.Group)
}

// The boot log is late, and its address is the storage service's: it wants no token and it expires.
func TestBootLog(t *testing.T) {
	c := armsim.New(t)
	s, h := sdk(t, c), newByHand(t, c)
	h.put(t, "vm")
	c.Advance(3 * time.Minute)
	got := expect.Got(s.vms.RetrieveBootDiagnosticsData(t.Context(), armsim.Group, "vm",
		&armcompute.VirtualMachinesClientRetrieveBootDiagnosticsDataOptions{SasURIExpirationTimeInMinutes: new(int32(1))}))(t)
	read := func() int {
		response, err := c.Client().Get(*got.SerialConsoleLogBlobURI)
		expect.OK(t, err)
		expect.OK(t, response.Body.Close())
		return response.StatusCode
	}
	equal(t, read(), http.StatusOK)
	c.Advance(time.Minute)
	equal(t, read(), http.StatusForbidden)
}

// Managed identities over App Service's endpoint, and secrets that are wrong.
func TestIdentities(t *testing.T) {
	c := armsim.New(t)
	c.Change(func(w *armsim.Inside) {
		w.Tokens.Header = "the header"
		w.Tokens.Add(&tokens.Principal{
			Tenant: armsim.Tenant, ClientID: "managed", ObjectID: armsim.ObjectID, ResourceID: armsim.IdentityID,
		})
	})
	t.Setenv("IDENTITY_ENDPOINT", c.Endpoint()+"/msi/token")
	t.Setenv("IDENTITY_HEADER", "the header")
	managed := expect.Got(azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{
		ClientOptions: cloudOf(c), ID: azidentity.ClientID("managed"),
	}))(t)
	s := sdkAs(t, c, managed)
	expect.Got(s.vms.NewListPager(armsim.Group, nil).NextPage(t.Context()))(t)

	wrong := expect.Got(azidentity.NewClientSecretCredential(armsim.Tenant, armsim.ClientID, "wrong",
		&azidentity.ClientSecretCredentialOptions{ClientOptions: cloudOf(c), DisableInstanceDiscovery: true}))(t)
	_, err := sdkAs(t, c, wrong).vms.NewListPager(armsim.Group, nil).NextPage(t.Context())
	expect.Says(t, "a wrong secret", err, "AADSTS7000215")
	h := newByHand(t, c)
	c.Change(func(w *armsim.Inside) { w.Tokens.Revoke(armsim.ClientID) })
	a := h.get(t, vmsOfGroup)
	a.refused(t, http.StatusUnauthorized, "InvalidAuthenticationToken", "revoked")
	equal(t, strings.HasPrefix(a.header.Get("Www-Authenticate"), "Bearer authorization_uri="), true)
}
