package azure

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// theirClient is the app of another team that trusts the manager's service account.
const theirClient = "99999999-0000-4000-8000-000000000009"

// listeners are Entra ID and Azure Resource Manager of two clouds, and the metadata service of the manager's node.
type listeners struct {
	mu    sync.Mutex
	heard []string
}

func (l *listeners) hear(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, fmt.Sprintf(format, args...))
}

func (l *listeners) since() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	heard := l.heard
	l.heard = nil
	return heard
}

// cloud serves both at one address, and returns its entry in the manager's file of clouds.
func (l *listeners) cloud(t *testing.T, name string) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "openid-configuration"):
			_, _ = fmt.Fprintf(w, `{"token_endpoint":"%s/t","authorization_endpoint":"%[1]s/a","issuer":"%[1]s/i"}`, server.URL)
		case r.URL.Path == "/t":
			expect.OK(t, r.ParseForm())
			proof := r.Form.Get("client_assertion") + r.Form.Get("client_secret")
			l.hear("%s: a token for client %s, by %s", name, r.Form.Get("client_id"), proof)
			_, _ = fmt.Fprint(w, `{"token_type":"Bearer","expires_in":3600,"access_token":"TOKEN"}`)
		default:
			l.hear("%s: %s %s", name, r.Method, r.URL.Path)
			_, _ = fmt.Fprint(w, `{"value":[]}`)
		}
	})
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return fmt.Sprintf("- name: %s\n  resourceManagerEndpoint: %s\n  authority: %[2]s\n  caBundle: |\n    %s\n", name, server.URL,
		strings.ReplaceAll(strings.TrimSpace(string(ca)), "\n", "\n    "))
}

// lender is a manager with a token, a secret and a node of its own, all of which would be heard of.
func lender(t *testing.T) (Provider, *listeners) {
	t.Helper()
	l, dir := &listeners{}, t.TempDir()
	token, book := filepath.Join(dir, "token"), filepath.Join(dir, "clouds.yaml")
	expect.OK(t, errors.Join(os.WriteFile(token, []byte("THE-MANAGERS-TOKEN"), 0o600),
		os.WriteFile(book, []byte("clouds:\n"+l.cloud(t, "Lab")+l.cloud(t, "Sovereign")), 0o600)))
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.hear("node: %s %s", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(node.Close)
	for name, value := range map[string]string{
		"AZURE_FEDERATED_TOKEN_FILE": token, "AZURE_CLIENT_ID": theirClient, "AZURE_TENANT_ID": armsim.Tenant,
		"AZURE_CLIENT_SECRET": "THE-MANAGERS-SECRET", "AZURE_POD_IDENTITY_AUTHORITY_HOST": node.URL,
	} {
		t.Setenv(name, value)
	}
	return Provider{Book: expect.Got(clouds.Load(book))(t), Cloud: "Lab", Namespaces: []string{"platform"}}, l
}

// use asks as a machine of a namespace does, up to the first call.
func use(t *testing.T, p Provider, by cloud.Asker, identity *unstructured.Unstructured, secret map[string][]byte) error {
	t.Helper()
	grant, err := p.Allow(by, identity)
	if err != nil {
		return err
	}
	c, err := p.As(grant).Connect("", secret)
	if err != nil {
		return err
	}
	defer func() { expect.OK(t, c.Close(context.WithoutCancel(t.Context()))) }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = c.Server(ctx, cloud.Key{Namespace: by.Namespace, Name: "m"})
	return err
}

func identityIn(namespace, kind string, more map[string]any) *unstructured.Unstructured {
	spec := map[string]any{"type": kind, "tenantID": armsim.Tenant, "clientID": theirClient, "allowedNamespaces": map[string]any{}}
	maps.Copy(spec, more)
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetNamespace(namespace)
	o.SetName("one")
	return o
}

func servicePrincipal(namespace string) *unstructured.Unstructured {
	return identityIn(namespace, "ServicePrincipal", map[string]any{"clientSecret": map[string]any{"name": "proof"}})
}

// TestNothingIsLent: no object that a tenant may write has the manager act with an identity of its own, or sends the proof of
// another namespace to a cloud that the tenant names. Neither Entra ID, nor Azure Resource Manager, nor the node hears of it.
func TestNothingIsLent(t *testing.T) {
	p, l := lender(t)
	theirs := map[string][]byte{"clientSecret": []byte("THEIR-SECRET")}
	const flag = " to the manager's flag --azure-identities"
	lent := func(entries ...string) []string { return entries }
	tried, gained := 0, 0
	for _, attack := range []struct {
		name     string
		by       cloud.Asker
		identity *unstructured.Unstructured
		secret   map[string][]byte
		loans    []string
		says     string
	}{
		{name: "the manager's own", by: cloud.Asker{Namespace: "attacker"}, says: "may not use its own for namespace attacker"},
		{
			name: "another team's app, by the manager's token", by: cloud.Asker{Namespace: "attacker"},
			identity: identityIn("attacker", "WorkloadIdentity", nil), says: "add the entry " + theirClient + "=attacker" + flag,
		},
		{
			name: "in capitals", by: cloud.Asker{Namespace: "attacker"},
			identity: identityIn("attacker", "WorkloadIdentity", map[string]any{"clientID": "9999999A-0000-4000-8000-000000000009"}),
			says:     "add the entry 9999999a-0000-4000-8000-000000000009=attacker" + flag,
		},
		{
			name: "a managed identity of the node", by: cloud.Asker{Namespace: "attacker"},
			identity: identityIn("attacker", "UserAssignedMSI", nil), says: "add the entry " + theirClient + "=attacker" + flag,
		},
		{
			name: "one that is lent to another namespace", by: cloud.Asker{Namespace: "attacker"}, loans: lent(theirClient + "=victim"),
			identity: identityIn("attacker", "WorkloadIdentity", nil), says: "add the entry " + theirClient + "=attacker" + flag,
		},
		{
			name: "by an AzureCluster, the identity of the namespace that it is lent to", by: cloud.Asker{Namespace: "attacker"},
			loans: lent(theirClient + "=victim"), identity: identityIn("victim", "WorkloadIdentity", nil),
			says: "add the entry " + theirClient + "=attacker" + flag,
		},
		{
			name: "in a namespace that may use the manager's own", by: cloud.Asker{Namespace: "platform"},
			identity: identityIn("platform", "WorkloadIdentity", nil), says: "add the entry " + theirClient + "=platform" + flag,
		},
		{
			name: "the manager's own, in a cloud that the tenant names", by: cloud.Asker{Namespace: "platform", Cloud: "Sovereign"},
			says: "is in Sovereign, and the manager's own identity in Lab",
		},
		{
			name: "a lent one, in a cloud that the tenant names", by: cloud.Asker{Namespace: "team", Cloud: "Sovereign"},
			loans: lent(theirClient + "=team"), identity: identityIn("team", "WorkloadIdentity", nil),
			says: "add the entry " + theirClient + "@Sovereign=team" + flag,
		},
		{
			name: "one that is lent in another cloud", by: cloud.Asker{Namespace: "team", Cloud: "Lab"},
			loans: lent(theirClient + "@Sovereign=*"), identity: identityIn("team", "UserAssignedMSI", nil),
			says: "add the entry " + theirClient + "@Lab=team" + flag,
		},
		{
			name:     "a Secret of another namespace, in a cloud that the tenant names",
			by:       cloud.Asker{Namespace: "attacker", Cloud: "Sovereign"},
			identity: servicePrincipal("victim"), secret: theirs, says: "add the entry " + theirClient + "@Sovereign=attacker" + flag,
		},
		{
			name: "a type that is none", by: cloud.Asker{Namespace: "attacker"}, identity: identityIn("attacker", "", nil),
			says: `has the type "", which is not supported`,
		},
		{
			name: "the manager's own by its name", by: cloud.Asker{Namespace: "attacker"},
			identity: identityIn("attacker", "Manager", nil), says: `has the type "Manager", which is not supported`,
		},
		{
			name: "a client id that would be an entry", by: cloud.Asker{Namespace: "attacker"},
			identity: identityIn("attacker", "WorkloadIdentity", map[string]any{"clientID": "x=*,y"}), says: "has an invalid clientID",
		},
		{
			name: "a selector without namespaces", by: cloud.Asker{Namespace: "team"}, loans: lent(theirClient + "=*"),
			identity: identityIn("victim", "WorkloadIdentity", map[string]any{
				"allowedNamespaces": map[string]any{"selector": map[string]any{}},
			}),
			says: "does not allow namespace team",
		},
	} {
		err := use(t, expect.Got(p.Lend(attack.loans))(t), attack.by, attack.identity, attack.secret)
		tried++
		heard := l.since()
		if len(heard) > 0 {
			gained++
		}
		refused, ok := errors.AsType[*cloud.Error](err)
		if !ok || refused.Kind != cloud.Denied || !strings.Contains(refused.Message, attack.says) || len(heard) > 0 {
			t.Errorf("%s: want %q and nothing heard, got %v, heard %q", attack.name, attack.says, err, heard)
		}
	}
	t.Logf("ambient identities: %d attacks tried, %d gained", tried, gained)
}

// TestLent: what the operator has lent is used, and only where it was lent.
func TestLent(t *testing.T) {
	p, l := lender(t)
	p = expect.Got(p.Lend([]string{strings.ToUpper(theirClient) + "@Sovereign=team"}))(t)
	theirs := map[string][]byte{"clientSecret": []byte("THEIR-SECRET")}
	there := map[string][]byte{"clientSecret": []byte("THEIR-SECRET"), "cloud": []byte("Sovereign")}
	for _, c := range []struct {
		name     string
		by       cloud.Asker
		identity *unstructured.Unstructured
		secret   map[string][]byte
		heard    string
	}{
		{
			"the manager's own",
			cloud.Asker{Namespace: "platform"},
			nil, nil,
			"Lab: a token for client " + theirClient + ", by THE-MANAGERS-SECRET",
		},
		{
			"a lent one",
			cloud.Asker{Namespace: "team"},
			identityIn("team", "WorkloadIdentity", nil), nil,
			"Sovereign: a token for client " + theirClient + ", by THE-MANAGERS-TOKEN",
		},
		{
			"a lent one, whose cloud the AzureCluster names",
			cloud.Asker{Namespace: "team", Cloud: "Sovereign"},
			identityIn("identities", "WorkloadIdentity", nil), nil,
			"Sovereign: a token for client " + theirClient + ", by THE-MANAGERS-TOKEN",
		},
		{
			"a Secret of the asker's own namespace, in the cloud that it names",
			cloud.Asker{Namespace: "other", Cloud: "Sovereign"},
			servicePrincipal("other"), theirs,
			"Sovereign: a token for client " + theirClient + ", by THEIR-SECRET",
		},
		{
			"a Secret of another namespace, in the cloud that the Secret names",
			cloud.Asker{Namespace: "other", Cloud: "Sovereign"},
			servicePrincipal("identities"), there,
			"Sovereign: a token for client " + theirClient + ", by THEIR-SECRET",
		},
		{
			"a Secret of another namespace, in the cloud of the entry",
			cloud.Asker{Namespace: "team", Cloud: "Sovereign"},
			servicePrincipal("identities"), theirs,
			"Sovereign: a token for client " + theirClient + ", by THEIR-SECRET",
		},
		{
			"a Secret of another namespace, in the usual cloud",
			cloud.Asker{Namespace: "other", Cloud: string(infrav1.AzurePublicCloud)},
			servicePrincipal("identities"), theirs,
			"Lab: a token for client " + theirClient + ", by THEIR-SECRET",
		},
	} {
		expect.OK(t, use(t, p, c.by, c.identity, c.secret))
		heard := l.since()
		if len(heard) == 0 || heard[0] != c.heard {
			t.Errorf("%s: heard %q, want %q", c.name, heard, c.heard)
		}
	}
}
