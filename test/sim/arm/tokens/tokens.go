// Package tokens is the part of Entra ID that gives tokens to programs: client secrets, certificates, federated credentials, and
// managed identities over the endpoints of App Service and of a VM.
//
//	tokens.go   who there is, and tokens
//	oauth.go    /TENANT/oauth2/v2.0/token, and what clients look up before it
//	assert.go   signed assertions: a certificate's, or a federated issuer's
//	jwt.go      reading and checking JWTs
//	managed.go  managed identities
package tokens

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Principal is an app or a managed identity.
type Principal struct {
	Tenant, ClientID, ObjectID string
	// What proves that a caller is the app.
	Secrets      []string
	Expired      []string // secrets that were good once
	Certificates []*x509.Certificate
	Federated    []Federated
	// ResourceID is that of a user assigned managed identity. System is the machine's own identity, which is asked for without an
	// id.
	ResourceID string
	System     bool
}

// Federated is a federated credential: whose word counts as the app's.
type Federated struct {
	Issuer, Subject, Audience string
	// Client fetches the issuer's keys; nil is http.DefaultClient.
	Client *http.Client
}

// Tokens gives and checks tokens. Give and Check may be called at any time; who sets fields or serves holds a lock.
type Tokens struct {
	// Audiences are what a token may be for.
	Audiences []string
	// Life is how long tokens hold.
	Life time.Duration
	// Endpoint is the address of the authority: https://HOST.
	Endpoint string
	// Header is the secret of App Service's endpoint, which comes in X-IDENTITY-HEADER.
	Header string
	// Down has all token endpoints answer with this status.
	Down int

	now func() time.Time
	key []byte

	mu         sync.Mutex
	principals []*Principal
	revoked    map[string]bool
}

// New returns an Entra ID in which there is nobody yet.
func New(now func() time.Time) *Tokens {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails since Go 1.24
	return &Tokens{Life: time.Hour, now: now, key: key, revoked: map[string]bool{}}
}

// Add adds a principal.
func (t *Tokens) Add(p *Principal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.principals = append(t.principals, p)
}

// Revoke has ARM refuse all tokens of a principal from now on, as after a conditional access policy; new ones are given out as
// before.
func (t *Tokens) Revoke(clientID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, revoked := range t.revoked {
		if !revoked && strings.HasPrefix(id, clientID+" ") {
			t.revoked[id] = true
		}
	}
}

// Wall is the time of those who sign assertions: clients and issuers do not know the clock that tests move.
func Wall() time.Time { return time.Now() }

func (t *Tokens) principal(is func(*Principal) bool) *Principal {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.IndexFunc(t.principals, is); at >= 0 {
		return t.principals[at]
	}
	return nil
}

// claims are those of an access token that ARM looks at.
type claims struct {
	Audience string `json:"aud"`
	Issuer   string `json:"iss"`
	Expires  int64  `json:"exp"`
	From     int64  `json:"nbf"`
	App      string `json:"appid"`
	Object   string `json:"oid"`
	Tenant   string `json:"tid"`
	ID       string `json:"uti"`
}

// Give makes an access token. Its signature is ours alone: nobody but ARM may look into an access token.
func (t *Tokens) Give(p *Principal, audience string) string {
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	c := claims{
		Audience: audience, Issuer: "https://sts.windows.net/" + p.Tenant + "/", From: t.now().Unix(),
		Expires: t.now().Add(t.Life).Unix(),
		App:     p.ClientID, Object: p.ObjectID, Tenant: p.Tenant, ID: p.ClientID + " " + base64.RawURLEncoding.EncodeToString(id),
	}
	t.mu.Lock()
	t.revoked[c.ID] = false
	t.mu.Unlock()
	body, _ := json.Marshal(c) // strings and numbers only
	signed := base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"JWT","alg":"HS256"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(body)
	return signed + "." + base64.RawURLEncoding.EncodeToString(t.sign(signed))
}

func (t *Tokens) sign(s string) []byte {
	mac := hmac.New(sha256.New, t.key)
	mac.Write([]byte(s))
	return mac.Sum(nil)
}

// Check returns whose token an Authorization header has, or what is wrong with it in ARM's words [V].
func (t *Tokens) Check(header string) (p *Principal, code, message string) {
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return nil, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing."
	}
	at := strings.LastIndex(token, ".")
	signature, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	if at < 0 || err != nil || !hmac.Equal(signature, t.sign(token[:at])) {
		return nil, "InvalidAuthenticationToken", "The access token is invalid."
	}
	var c claims
	_, middle, _ := strings.Cut(token[:at], ".")
	body, _ := base64.RawURLEncoding.DecodeString(middle)
	if json.Unmarshal(body, &c) != nil {
		return nil, "InvalidAuthenticationToken", "The access token is invalid."
	}
	p = t.principal(func(p *Principal) bool { return p.ClientID == c.App && p.Tenant == c.Tenant })
	switch {
	case t.now().Unix() >= c.Expires:
		return nil, "ExpiredAuthenticationToken", "The access token expiry UTC time '" +
			time.Unix(c.Expires, 0).UTC().Format("1/2/2006 3:04:05 PM") + "' is earlier than current UTC time '" +
			t.now().UTC().Format("1/2/2006 3:04:05 PM") + "'."
	case !t.audience(c.Audience):
		return nil, "InvalidAuthenticationTokenAudience", "The access token has been obtained for wrong audience or resource '" +
			c.Audience +
			"'. It should exactly match with one of the allowed audiences '" + strings.Join(t.Audiences, "','") + "'."
	case p == nil || t.isRevoked(c.ID):
		return nil, "InvalidAuthenticationToken", "The access token has been revoked."
	}
	return p, "", ""
}

func (t *Tokens) isRevoked(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.revoked[id]
}

// audience compares as ARM does: with and without the slash at the end.
func (t *Tokens) audience(a string) bool {
	return slices.ContainsFunc(t.Audiences, func(known string) bool {
		return strings.TrimSuffix(known, "/") == strings.TrimSuffix(a, "/")
	})
}
