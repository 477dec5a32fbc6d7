package login

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Caller is who the last token was for: the name of a person, or else the client id of an app or managed identity. What the token
// lacks is that of the principal. It is fit to be shown. Only Azure may rely on a token, so this is for people alone.
func (p *Principal) Caller() (name, tenant string) {
	name, tenant = p.ClientID, p.TenantID
	if c, ok := p.Credential.(*credential); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		inToken, itsTenant := claimed(c.token.Token)
		name, tenant = cmp.Or(inToken, name), cmp.Or(itsTenant, tenant)
	}
	return cloud.Clean(name, maxClaim), cloud.Clean(tenant, maxClaim)
}

// claimed reads who a token is for, as Entra ID calls it; empty is what it lacks.
func claimed(token string) (name, tenant string) {
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
		return "", ""
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return "", ""
	}
	person := cmp.Or(claims.Person, claims.Preferred, claims.Unique)
	if claims.Kind == "app" {
		person = ""
	}
	return cmp.Or(person, claims.App, claims.Client, claims.Object), claims.Tenant
}
