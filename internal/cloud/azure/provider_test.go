package azure

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// azureCluster reads one that says all.
func azureCluster(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	of := &unstructured.Unstructured{}
	expect.OK(t, yaml.Unmarshal(expect.Got(os.ReadFile("placement/testdata/azurecluster.yaml"))(t), &of.Object))
	return of
}

// TestPlaceInTheStatus: what an AzureCluster says goes through the status of a machine without a loss.
func TestPlaceInTheStatus(t *testing.T) {
	m := &infrav1.WindowsMachine{}
	m.Spec.Azure = &infrav1.AzureVM{}
	from := azureCluster(t)
	expect.OK(t, Provider{}.Resolve(m, from))
	at := m.Status.Azure
	expect.Same(t, "identity", infrav1.AzureIdentity{Namespace: "identities", Name: "clusters"}, at.Identity)
	want := expect.Got(placement.Resolve(m.Spec.Azure, "", from))(t)
	want.Identity = at.Identity
	got := expect.Got(placementOf(cloud.Machine{Status: infrav1.WindowsMachineStatus{Azure: at}}))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	expect.Says(t, "a spec that says nothing, without an AzureCluster", Provider{}.Resolve(m, nil),
		"spec.azure.subscriptionID is not set")
	expect.OK(t, unstructured.SetNestedField(from.Object, "Secret", "spec", "identityRef", "kind"))
	expect.Says(t, "an identity of another kind", Provider{}.Resolve(m, from), "names no AzureClusterIdentity")
}

// TestRegistration: the place has the identity and the cloud, of which the public one leaves it to the manager what a Secret is
// for, and the tenant comes last.
func TestRegistration(t *testing.T) {
	spec := infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{Image: infrav1.AzureImage{Setup: "Sysprep"}}}
	r := Registration(Provider{})
	cloudtest.Registered(t, r, spec)
	m := &infrav1.WindowsMachine{Spec: spec}
	expect.Same(t, "nowhere yet", cloud.Part{Setup: "Sysprep", Lacks: "status.azure.tenantID"}, r.Part(m))
	identity := infrav1.AzureIdentity{Namespace: "identities", Name: "theirs"}
	m.Status.Azure = &infrav1.AzurePlacement{Cloud: infrav1.AzureChinaCloud, Identity: identity}
	there := cloud.Place{
		Cloud: "AzureChinaCloud", SecretCloud: "AzureChinaCloud", Identity: cloud.Key{Namespace: "identities", Name: "theirs"},
	}
	expect.Same(t, "without a tenant", cloud.Part{Setup: "Sysprep", Lacks: "status.azure.tenantID", Place: &there}, r.Part(m))
	m.Status.Azure.TenantID, m.Status.Azure.Cloud = "a tenant", infrav1.AzurePublicCloud
	there.Cloud, there.SecretCloud = "AzurePublicCloud", ""
	expect.Same(t, "in the public cloud", cloud.Part{Setup: "Sysprep", Place: &there}, r.Part(m))
	for _, version := range []string{"1.36.3", ""} { // it stays
		r.Show(&m.Status, cloud.VM{ImageVersion: version})
		expect.Same(t, "version of the image", "1.36.3", m.Status.Azure.ImageVersion)
	}
}

// TestIdentifyRefuses a machine that the API server has not seen yet, and one that is nowhere.
func TestIdentifyRefuses(t *testing.T) {
	m := &infrav1.WindowsMachine{}
	m.Spec.Azure = &infrav1.AzureVM{}
	_, err := Provider{}.Identify(m)
	expect.Says(t, "without a UID", err, "has not given the machine a UID yet")
	m.UID = "uid"
	_, err = Provider{}.Identify(m)
	expect.Says(t, "without a place", err, "spec.azure.subscriptionID is not set")
}

// TestConnect opens an account without a call: the clock and the ticks are the given ones, or real ones.
func TestConnect(t *testing.T) {
	secret := map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte("a secret"),
	}
	opened := func(p Provider) *account {
		t.Helper()
		got := expect.Got(p.Connect("", secret))(t).(*account)
		t.Cleanup(func() { expect.Fine(t, got.Close(t.Context())) })
		return got
	}
	plain := opened(Provider{})
	expect.Same(t, "opened at no time", false, plain.opened.IsZero())
	expect.Same(t, "time of a call", 30*time.Second, plain.calls.Timeout)
	status := infrav1.WindowsMachineStatus{}
	plain.ShowTenant(&status)
	expect.Same(t, "a machine without a place", (*infrav1.AzurePlacement)(nil), status.Azure)
	status.Azure = &infrav1.AzurePlacement{}
	plain.ShowTenant(&status)
	expect.Same(t, "tenant", armsim.Tenant, status.Azure.TenantID)
	plain.calls.Principal.TenantID, status.Azure.TenantID = "organizations", ""
	plain.ShowTenant(&status)
	expect.Same(t, "tenant without an ID", "", status.Azure.TenantID)

	var ticks <-chan time.Time = make(chan time.Time)
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	bounds, notices := NewBounds(&tenants.Bytes{}), &tenants.Notices{}
	given := opened(Provider{
		Now: func() time.Time { return noon }, Ticks: func() (<-chan time.Time, func()) { return ticks, func() {} }, Bounds: bounds,
		Manager: "here", Notices: notices,
	})
	expect.Same(t, "its management cluster", "here", string(given.manager))
	expect.Same(t, "its notices", true, given.notices == notices)
	expect.Same(t, "opened by its clock", noon, given.opened)
	expect.Same(t, "within the bounds of its process", true, given.calls.Bounds == bounds && given.lists.Kept == bounds.Kept)
	got, _ := given.ticks()
	expect.Same(t, "its ticks", true, got == ticks)

	name := expect.Got(Provider{}.Principal(secret))(t)
	expect.Same(t, "principal has the client", true, strings.Contains(name, armsim.ClientID))
	delete(secret, "clientID")
	_, err := Provider{}.Connect("", secret)
	expect.Says(t, "no client", err, "clientID")
	_, err = Provider{}.Principal(secret)
	expect.Says(t, "the principal of no client", err, "clientID")
}
