package calls

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// blueCalls is a client at noon, of a cloud that is a transport.
func blueCalls(t *testing.T, through policy.Transporter) *Client {
	t.Helper()
	who := login.Principal{
		Credential: blue.Token{}, Transport: through, Name: func() string { return "blue" }, TenantID: armsim.Tenant,
		Cloud: clouds.Cloud{ResourceManager: blue.Endpoint + "/", Authority: blue.Endpoint, Audience: blue.Endpoint},
	}
	return expect.Got(New(&who, func() time.Time { return blue.Noon }))(t)
}

// TestRead: an answer is read up to a size, which pages and what nobody reads may have more of, and a refusal is always read.
func TestRead(t *testing.T) {
	long := strings.Repeat("x", maxAnswer+1)
	for _, c := range []struct {
		name   string
		call   Call
		status int
		body   string
		want   int // bytes
		err    string
	}{
		{"an answer", Call{}, http.StatusOK, long[1:], maxAnswer, ""},
		{"a long answer", Call{}, http.StatusOK, long, maxAnswer + 1, errLarge.Error()},
		{"a page", Call{Large: true}, http.StatusOK, long, maxAnswer + 1, ""},
		{"what nobody reads", Call{Unread: true}, http.StatusNoContent, long, 0, ""},
		{"a redirect of what nobody reads", Call{Unread: true}, http.StatusMultipleChoices, "why", 3, ""},
		{"a refusal of what nobody reads", Call{Unread: true}, http.StatusForbidden, "why", 3, ""},
	} {
		content, err := c.call.read(&http.Response{StatusCode: c.status, Body: io.NopCloser(strings.NewReader(c.body))})
		expect.Says(t, c.name, err, c.err)
		expect.Same(t, c.name+": bytes", c.want, len(content))
	}
}

// TestMethodOf: a call without a token is none of Azure's, and one that waits for a place is.
func TestMethodOf(t *testing.T) {
	refused := cloud.Errorf(cloud.Transient, infrav1.CredentialsRejectedReason, "no token")
	const class = "Write"
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, class}, {io.EOF, class}, {cloud.LaterIn(time.Second, "waiting"), class}, {refused, noToken},
	} {
		expect.Same(t, fmt.Sprint(c.err), c.want, methodOf(class, c.err))
	}
}
