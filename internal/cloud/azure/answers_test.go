package azure

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// bluePrincipal is one of a cloud that is a transport.
func bluePrincipal(through policy.Transporter) *login.Principal {
	return &login.Principal{
		Credential: blue.Token{}, Transport: through, Name: func() string { return "blue" }, TenantID: armsim.Tenant,
		Cloud: clouds.Cloud{ResourceManager: blue.Endpoint + "/", Authority: blue.Endpoint, Audience: blue.Endpoint},
	}
}

// choose makes the cloud of an account one that a Secret chose.
func (a *account) choose(t testing.TB) {
	t.Helper()
	a.calls.Principal.Cloud = expect.Got(clouds.Choose(a.calls.Principal.Cloud))(t)
}

// pursued is what an account does for a machine whose VM is, or will be, in the group blue.
func pursued(a *account, m cloud.Machine) *pursuit {
	p := &pursuit{account: a, m: m, vm: blue.VM, scope: a.lists.Scope(blue.Group)}
	p.cache, _ = a.sizes.enter(p.region(), team(blue.Noon))
	return p
}

// blueAccount is one at noon.
func blueAccount(t *testing.T, through policy.Transporter) *account {
	t.Helper()
	a := expect.Got(open(bluePrincipal(through), func() time.Time { return blue.Noon }))(t)
	a.watching.Store(true)
	a.manager = manager
	return a
}

var (
	gone   = blue.Fault("ResourceNotFound")
	denied = blue.Fault("Other")
)

// TestCloudWithoutServices: a cloud that does not say where its Resource Manager is opens no account.
func TestCloudWithoutServices(t *testing.T) {
	p := Provider{
		Ticks: everySecond,
		login: func(map[string][]byte) (*login.Principal, error) {
			who := bluePrincipal(nil)
			who.Cloud = clouds.Cloud{}
			return who, nil
		},
	}
	const why = "provided Cloud field is missing Azure Resource Manager configuration"
	_, err := p.Connect("", nil)
	expect.Says(t, "an account", err, why)
	spec := (&stage{}).spec().Azure
	_, err = p.Inspect(t.Context(), nil, Pool{Spec: spec})
	expect.Says(t, "a check", err, why)
	_, err = Provider{}.Inspect(t.Context(), nil, Pool{Spec: spec})
	expect.Says(t, "a check without credentials", err, "tenantID")
}

// TestInspectionOfNoJSON: what is no JSON is no answer to an inspection.
func TestInspectionOfNoJSON(t *testing.T) {
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return http.StatusOK, "<html>" }))
	got := inspector{a.calls, armsim.Subscription}.Get(t.Context(), "/x", "1", &struct{}{})
	expect.Same(t, "a check: "+got.Problem, true, strings.HasPrefix(got.Problem, "Azure does not answer at "+blue.Endpoint))
}
