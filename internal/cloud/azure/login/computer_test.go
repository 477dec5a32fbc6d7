package login

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestComputerIsRefused: why a computer gets no token, and what to do.
func TestComputerIsRefused(t *testing.T) {
	refused := &azidentity.AuthenticationFailedError{}
	const tried = "DefaultAzureCredential: failed to acquire a token.\nAttempted credentials:\n\tEnvironmentCredential: x\n\t"
	for name, c := range map[string]struct {
		err  error
		last outcome
		kind cloud.Kind
		says string
	}{
		"nobody": {errors.New(tried), outcome{}, cloud.Denied, "no identity for Azure: run az login, or set " + envTenant},
		"no az": {
			errors.New(tried + "AzureCLICredential: executable not found on path"), outcome{}, cloud.Denied, "no identity for Azure: run",
		},
		"az is logged out": {
			errors.New(tried + "AzureCLICredential: ERROR: Please run 'az login'\x1b[2J\n\tx"),
			outcome{},
			cloud.Denied,
			"(az answers: ERROR: Please run 'az login' [2J): run",
		},
		"a refusal of Entra ID": {
			refused,
			outcome{status: http.StatusUnauthorized, content: []byte(`{"error_codes":[7000222]}`)},
			cloud.Denied, "(AADSTS7000222)",
		},
		"another managed identity": {
			refused, outcome{status: http.StatusBadRequest}, cloud.Denied, "has no managed identity " + app + ": correct " + envClient,
		},
		"no answer": {refused, outcome{err: errElsewhere}, cloud.Transient, "gives no token for this computer's environment"},
	} {
		t.Run(name, func(t *testing.T) {
			r := refusals{proof: placement.OwnComputer, client: app, cloud: clouds.Public, source: ofComputer}
			told := r.cause(c.err, &c.last)
			if told.Kind != c.kind || !strings.Contains(told.Message, c.says) || strings.Contains(told.Message, "controller") {
				t.Errorf("%s: %s", told.Kind, told.Message)
			}
		})
	}
}

// TestChainTransport: only the node of the environment is called without TLS; all else is of the cloud's own hosts.
func TestChainTransport(t *testing.T) {
	withoutEnvironment(t)
	node := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer node.Close()
	t.Setenv("IDENTITY_ENDPOINT", node.URL+"/msi/token")
	public, _ := clouds.Book{}.Named(clouds.Public)
	by := newChainTransport(newTransport(public.Hosts(), nil, tokens))
	for address, want := range map[string]error{
		node.URL: nil, "http://127.0.0.1:9/x": errElsewhere, "https://login.test/x": errElsewhere,
		"http://login.microsoftonline.com/x": errElsewhere,
	} {
		request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))(t)
		answer, err := by.Do(request)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			expect.OK(t, answer.Body.Close())
		}
	}
}

// TestComputerAsksForItself: no id of a grant goes along, and a Secret is refused.
func TestComputerAsksForItself(t *testing.T) {
	withoutEnvironment(t)
	theirs := placement.Grant{Proof: placement.OwnComputer, ClientID: armsim.StrangerID, TenantID: armsim.Tenant}
	p := expect.Got(Open(Request{Grant: theirs}))(t)
	expect.Same(t, "client and tenant", "", p.ClientID+p.TenantID)
	_, err := Open(Request{Grant: theirs, Secret: map[string][]byte{keySecret: []byte("s")}})
	expect.Says(t, "with a Secret", err, "takes no Secret")
	_, err = Open(Request{Grant: placement.Grant{Proof: placement.OwnComputer, AskedCloud: clouds.China}})
	expect.Says(t, "of a cluster elsewhere", err, "add --azure-cloud=AzureChinaCloud")
}
