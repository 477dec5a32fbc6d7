package calls

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

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

const (
	blueEndpoint = "https://azure.example"
	denied       = `{"error":{"code":"Other","message":"no"}}`
)

var (
	blueGroup = arm.GroupID(armsim.Subscription, "blue")
	blueVM    = blueGroup.VM("win-1")
	blueNoon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// says answers in the place of Azure, what no simulator answers: a status and a body. As Azure does, it gives an id.
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

// blueCalls is a client at noon, of a cloud that is a transport.
func blueCalls(t *testing.T, through policy.Transporter) *Client {
	t.Helper()
	who := Principal{Credential: anyToken{}, Transport: through, Name: "blue", Tenant: armsim.Tenant, Cloud: azcloud.Configuration{
		ActiveDirectoryAuthorityHost: blueEndpoint,
		Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
			azcloud.ResourceManager: {Endpoint: blueEndpoint + "/", Audience: blueEndpoint},
		},
	}}
	return expect.Got(New(who, func() time.Time { return blueNoon }))(t)
}
