package tokens_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/tokens"
)

const (
	endpoint = "https://login.test"
	subject  = "system:serviceaccount:capwin-system:capwin"
)

// issuer signs tokens of service accounts, as an API server does, and shows its keys.
type issuer struct {
	server *httptest.Server
	key    *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{key: expect.Got(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
	i.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			point := expect.Got(i.key.PublicKey.Bytes())(t)
			expect.Fine(t, json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{
				"kty": "EC", "kid": "1", "crv": "P-256", "x": text(point[1:33]), "y": text(point[33:]),
			}}}))
			return
		}
		expect.Fine(t, json.NewEncoder(w).Encode(map[string]string{"jwks_uri": i.server.URL + "/keys"}))
	}))
	t.Cleanup(i.server.Close)
	return i
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func sign(t *testing.T, key *ecdsa.PrivateKey, header, claims map[string]any) string {
	t.Helper()
	header["alg"] = "ES256"
	signed := text(expect.Got(json.Marshal(header))(t)) + "." + text(expect.Got(json.Marshal(claims))(t))
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	expect.OK(t, err)
	return signed + "." + text(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// ask asks for a token and returns the error's description, "" for none.
func ask(t *testing.T, entra *tokens.Tokens, assertion string) string {
	t.Helper()
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"app"}, "scope": {"https://arm.test/.default"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {assertion},
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, endpoint+"/tenant/oauth2/v2.0/token",
		strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	if !entra.Serve(answer, request) {
		t.Fatal("the path is not the token endpoint's")
	}
	var got struct {
		Token       string `json:"access_token"`
		Description string `json:"error_description"`
	}
	expect.OK(t, json.Unmarshal(answer.Body.Bytes(), &got))
	if (got.Token == "") == (got.Description == "") {
		t.Errorf("an answer with both or neither: %s", answer.Body)
	}
	return got.Description
}

func newEntra(p *tokens.Principal) *tokens.Tokens {
	entra := tokens.New(time.Now)
	entra.Endpoint, entra.Audiences = endpoint, []string{"https://arm.test"}
	p.Tenant, p.ClientID = "tenant", "app"
	entra.Add(p)
	return entra
}

// A federated token counts if issuer, subject and audience are those of the credential and the issuer's key signed it.
func TestFederatedTokens(t *testing.T) {
	i := newIssuer(t)
	entra := newEntra(&tokens.Principal{Federated: []tokens.Federated{{
		Issuer: i.server.URL, Subject: subject, Audience: "api://AzureADTokenExchange", Client: i.server.Client(),
	}}})
	claims := func(change func(map[string]any)) map[string]any {
		all := map[string]any{
			"iss": i.server.URL, "sub": subject, "aud": []string{"api://AzureADTokenExchange"},
			"exp": time.Now().Add(time.Hour).Unix(),
		}
		change(all)
		return all
	}
	other := expect.Got(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	for _, c := range []struct {
		name, says string
		key        *ecdsa.PrivateKey
		change     func(map[string]any)
	}{
		{"good", "", i.key, func(map[string]any) {}},
		{
			"other subject", "AADSTS700213: No matching federated identity record found for presented assertion subject", i.key,
			func(c map[string]any) { c["sub"] = "system:serviceaccount:default:default" },
		},
		{"other issuer", "AADSTS700211", i.key, func(c map[string]any) { c["iss"] = "https://other.test" }},
		{"other audience", "AADSTS700212", i.key, func(c map[string]any) { c["aud"] = "other" }},
		{"expired", "AADSTS700024", i.key, func(c map[string]any) { c["exp"] = 1 }},
		{"other key", "AADSTS7000272", other, func(map[string]any) {}},
	} {
		got := ask(t, entra, sign(t, c.key, map[string]any{"kid": "1"}, claims(c.change)))
		if (c.says == "") != (got == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.says)
		}
	}
}

// A certificate counts if it is the app's and its key signed the assertion for this tenant.
func TestCertificates(t *testing.T) {
	key := expect.Got(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	raw := expect.Got(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	entra := newEntra(&tokens.Principal{Certificates: []*x509.Certificate{expect.Got(x509.ParseCertificate(raw))(t)}})
	sum := sha256.Sum256(raw)
	for audience, says := range map[string]string{
		endpoint + "/tenant/oauth2/v2.0/token": "", endpoint + "/other/oauth2/v2.0/token": "AADSTS700027",
	} {
		got := ask(t, entra, sign(t, key, map[string]any{"x5t#S256": text(sum[:])}, map[string]any{
			"iss": "app", "sub": "app", "aud": audience, "exp": time.Now().Add(time.Minute).Unix(),
		}))
		if (says == "") != (got == "") || !strings.Contains(got, says) {
			t.Errorf("%s: got %q, want %q", audience, got, says)
		}
	}
}
