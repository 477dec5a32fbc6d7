package login

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	entra "github.com/capwin/cluster-api-provider-windows/test/sim/arm/tokens"
)

const (
	managedID = "cccccccc-0000-4000-8000-000000000009"
	subject   = "system:serviceaccount:capwin-system:capwin-manager"
	exchange  = "api://AzureADTokenExchange"
)

// lab is the simulator, a cluster that signs the tokens of service accounts, and a node with managed identities.
type lab struct {
	cloud  *armsim.Cloud
	issuer *httptest.Server
	key    *ecdsa.PrivateKey
	cert   []byte // PEM with its key
	book   clouds.Book
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{cloud: armsim.New(t), key: newKey(t)}
	l.issuer = newIssuer(t, &l.key.PublicKey)
	l.cert = newCertificate(t)
	block, _ := pem.Decode(l.cert)
	certificate := expect.Got(x509.ParseCertificate(block.Bytes))(t)
	pfx := expect.Got(os.ReadFile("testdata/client.pfx"))(t)
	var opened input
	expect.OK(t, opened.take(pfx, []byte("opens-it")))
	l.cloud.Change(func(w *armsim.Inside) {
		w.Tokens.Header = "the node's header"
		for _, p := range []*entra.Principal{
			{
				ClientID: "dddddddd-0000-4000-8000-000000000001", Certificates: []*x509.Certificate{certificate, opened.pair.chain[0]},
				Expired: []string{"an old secret"}, Federated: []entra.Federated{{
					Issuer: l.issuer.URL, Subject: subject, Audience: exchange, Client: l.issuer.Client(),
				}},
			},
			{ClientID: managedID, ResourceID: armsim.IdentityID},
			{ClientID: "cccccccc-0000-4000-8000-000000000008", System: true},
		} {
			p.Tenant, p.ObjectID = armsim.Tenant, armsim.ObjectID
			w.Tokens.Add(p)
		}
	})
	l.book = newBook(t, l.cloud.Endpoint(), l.cloud.CA())
	return l
}

// app has a certificate and a federated credential.
const app = "dddddddd-0000-4000-8000-000000000001"

func newBook(t *testing.T, endpoint string, ca []byte) clouds.Book {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clouds.json")
	content := expect.Got(json.Marshal(map[string]any{"clouds": []clouds.Cloud{{
		Name: "Lab", ResourceManager: endpoint, Authority: endpoint, CABundle: string(ca),
	}}}))(t)
	expect.OK(t, os.WriteFile(file, content, 0o600))
	return expect.Got(clouds.Load(file))(t)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	return expect.Got(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

// newCertificate is PEM with the key behind the certificate.
func newCertificate(t *testing.T) []byte {
	t.Helper()
	// An RSA key, because Microsoft's library signs with nothing else.
	return expect.Got(pemPair())(t)
}

func newIssuer(t *testing.T, key *ecdsa.PublicKey) *httptest.Server {
	t.Helper()
	point := expect.Got(key.Bytes())(t)
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = map[string]string{"issuer": server.URL, "jwks_uri": server.URL + "/openid/v1/jwks"}
		if r.URL.Path == "/openid/v1/jwks" {
			answer = map[string]any{"keys": []any{map[string]string{
				"kty": "EC", "kid": "1", "crv": "P-256", "x": encoded(point[1:33]), "y": encoded(point[33:]),
			}}}
		}
		expect.Fine(t, json.NewEncoder(w).Encode(answer))
	}))
	t.Cleanup(server.Close)
	return server
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// tokenFile is a token of a service account, as the API server mounts it.
func (l *lab) tokenFile(t *testing.T, subject string, key crypto.Signer) string {
	t.Helper()
	claims := expect.Got(json.Marshal(map[string]any{
		"iss": l.issuer.URL, "sub": subject, "aud": []string{exchange}, "exp": time.Now().Add(time.Hour).Unix(),
	}))(t)
	signed := encoded([]byte(`{"alg":"ES256","kid":"1"}`)) + "." + encoded(claims)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), sum[:])
	expect.OK(t, err)
	file := filepath.Join(t.TempDir(), "token")
	token := signed + "." + encoded(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
	expect.OK(t, os.WriteFile(file, []byte(token), 0o600))
	return file
}

// node is where managed identities are: over http, on a loopback address.
func (l *lab) node(t *testing.T) {
	t.Helper()
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.cloud.Change(func(in *armsim.Inside) { in.Tokens.Serve(w, r) })
	}))
	t.Cleanup(node.Close)
	t.Setenv("IDENTITY_ENDPOINT", node.URL+"/msi/token")
	t.Setenv("IDENTITY_HEADER", "the node's header")
}

// chosen is a Secret with a cloud of its own.
func (l *lab) chosen(client string, more map[string]string) map[string][]byte {
	s := map[string][]byte{
		keyTenant: []byte(armsim.Tenant), keyClient: []byte(client), keyEndpoint: []byte(l.cloud.Endpoint()),
		keyAuthority: []byte(l.cloud.Endpoint()), keyCABundle: l.cloud.CA(),
	}
	for key, value := range more {
		s[key] = []byte(value)
	}
	return s
}

// list does the first call: it asks for a token, and then for VMs.
func list(t *testing.T, p *Principal) error {
	t.Helper()
	vms := expect.Got(armcompute.NewVirtualMachinesClient(armsim.Subscription, p.Credential, optionsOf(p)))(t)
	_, err := vms.NewListPager(armsim.Group, nil).NextPage(t.Context())
	return err
}

func (p *Principal) ask(t *testing.T) (string, error) {
	t.Helper()
	token, err := p.Credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{p.Cloud.Audience + "/.default"}})
	return token.Token, err
}

var byTeam = cloud.Asker{Namespace: "team"}

// use is the grant of an AzureClusterIdentity of a type.
func use(t *testing.T, kind, client string) placement.Grant {
	t.Helper()
	return expect.Got(placement.Use(byTeam, placement.Identity{
		Namespace: "identities", Name: "one", Type: kind, ClientID: client, TenantID: armsim.Tenant, SecretName: "proof",
		Allowed: &placement.Allowed{},
	}, placement.Loans{{ClientID: client, Namespace: byTeam.Namespace}}))(t)
}

func certificateOf(public crypto.PublicKey, signer crypto.Signer) ([]byte, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, signer)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, b := range []*pem.Block{{Type: "CERTIFICATE", Bytes: raw}, {Type: "PRIVATE KEY", Bytes: key}} {
		if err := pem.Encode(&text, b); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

var forARM = policy.TokenRequestOptions{Scopes: []string{"https://arm.test/.default"}}

func newPages(p *Principal) (*runtime.Pager[armcompute.VirtualMachinesClientListResponse], error) {
	vms, err := armcompute.NewVirtualMachinesClient(armsim.Subscription, p.Credential, optionsOf(p))
	if err != nil {
		return nil, err
	}
	return vms.NewListPager(armsim.Group, nil), nil
}

// optionsOf are those of a client that makes the calls of a principal.
func optionsOf(p *Principal) *arm.ClientOptions {
	return &arm.ClientOptions{DisableRPRegistration: true, ClientOptions: policy.ClientOptions{
		Cloud: p.Cloud.Configuration(), Transport: p.Transport, Retry: policy.RetryOptions{MaxRetries: -1},
	}}
}
