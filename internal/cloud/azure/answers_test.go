package azure

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// says is what answers in the place of Azure, for what no simulator answers: a status and a body. As Azure does, it gives an id.
type says func(*http.Request) (int, string)

// Do implements policy.Transporter.
func (s says) Do(r *http.Request) (*http.Response, error) {
	status, text := s(r)
	header := http.Header{"X-Ms-Request-Id": {"1"}}
	return &http.Response{StatusCode: status, Header: header, Request: r, Body: io.NopCloser(strings.NewReader(text))}, nil
}

type anyToken struct{}

func (anyToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

const blueEndpoint = "https://azure.example"

// bluePrincipal is one of a cloud that is a transport.
func bluePrincipal(through policy.Transporter) calls.Principal {
	who := calls.Principal{Credential: anyToken{}, Transport: through, Name: "blue", Tenant: armsim.Tenant}
	who.Cloud = azcloud.Configuration{
		ActiveDirectoryAuthorityHost: blueEndpoint,
		Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
			azcloud.ResourceManager: {Endpoint: blueEndpoint + "/", Audience: blueEndpoint},
		},
	}
	return who
}

// blueAccount is one at noon.
func blueAccount(t *testing.T, through policy.Transporter) *account {
	t.Helper()
	a := expect.Got(open(bluePrincipal(through), func() time.Time { return blueNoon }))(t)
	a.watching.Store(true)
	a.manager = manager
	return a
}

// faultBody is the body of one of Azure's errors.
func faultBody(code string) string { return `{"error":{"code":"` + code + `","message":"no"}}` }

var (
	gone   = faultBody("ResourceNotFound")
	denied = faultBody("Other")
)

// TestCloudWithoutServices: a cloud that does not say where its Resource Manager is opens no account.
func TestCloudWithoutServices(t *testing.T) {
	p := Provider{
		Ticks: everySecond,
		login: func(map[string][]byte) (calls.Principal, error) {
			return calls.Principal{Credential: anyToken{}, Cloud: azcloud.Configuration{ActiveDirectoryAuthorityHost: blueEndpoint}}, nil
		},
	}
	const why = "provided Cloud field is missing Azure Resource Manager configuration"
	_, err := p.Connect(nil)
	expect.Says(t, "an account", err, why)
	spec := (&stage{}).spec().Azure
	_, err = p.Inspect(t.Context(), nil, Pool{Spec: spec})
	expect.Says(t, "a check", err, why)
	_, err = Provider{}.Inspect(t.Context(), nil, Pool{Spec: spec})
	expect.Says(t, "a check without credentials", err, "tenantID")
}

// TestInspectionOfNoJSON: what is no JSON is no answer to an inspection.
func TestInspectionOfNoJSON(t *testing.T) {
	a := blueAccount(t, says(func(*http.Request) (int, string) { return http.StatusOK, "<html>" }))
	got := inspector{a.calls, armsim.Subscription}.Get(t.Context(), "/x", "1", &struct{}{})
	expect.Same(t, "a check: "+got.Problem, true, strings.HasPrefix(got.Problem, "Azure does not answer at "+blueEndpoint))
}
