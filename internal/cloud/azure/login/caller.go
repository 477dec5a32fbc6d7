package login

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Caller is who a token is for, as Entra ID calls it. It is fit to be shown.
type Caller struct{ Name, TenantID string }

// Caller is who the last token was for: the name of a person, or else the client id of an app or managed identity. What the token
// lacks is empty. Only Azure may rely on a token, so this is for people alone.
func (p *Principal) Caller() Caller {
	found := Caller{Name: p.ClientID, TenantID: p.TenantID}
	if c, ok := p.Credential.(*credential); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		found = claimed(c.token.Token, found)
	}
	return Caller{Name: cloud.Clean(found.Name, maxClaim), TenantID: cloud.Clean(found.TenantID, maxClaim)}
}

func claimed(token string, otherwise Caller) Caller {
	var claims struct {
		Tenant    string `json:"tid"`
		Person    string `json:"upn"`
		Preferred string `json:"preferred_username"`
		Unique    string `json:"unique_name"`
		App       string `json:"appid"`
		Client    string `json:"azp"`
		Object    string `json:"oid"`
		Kind      string `json:"idtyp"`
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return otherwise
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return otherwise
	}
	person := cmp.Or(claims.Person, claims.Preferred, claims.Unique)
	if claims.Kind == "app" {
		person = ""
	}
	return Caller{
		Name:     cmp.Or(person, claims.App, claims.Client, claims.Object, otherwise.Name),
		TenantID: cmp.Or(claims.Tenant, otherwise.TenantID),
	}
}
