package calls

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

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
