package login

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestCaller: people read the name of a person, or else the id of an app, of whatever Entra ID or somebody else put into a token.
func TestCaller(t *testing.T) {
	token := func(claims string) string {
		return "x." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".x"
	}
	type caller struct{ Name, Tenant string }
	otherwise := caller{app, "tenant"}
	for name, c := range map[string]struct {
		token string
		want  caller
	}{
		"a person":           {token(`{"upn":"a@b.test","appid":"az","oid":"o","tid":"t"}`), caller{"a@b.test", "t"}},
		"a guest":            {token(`{"unique_name":"live.com#a@b.test","appid":"az","tid":"t"}`), caller{"live.com#a@b.test", "t"}},
		"of version 2":       {token(`{"preferred_username":"a@b.test","azp":"az"}`), caller{"a@b.test", "tenant"}},
		"an app":             {token(`{"appid":"one","oid":"o","tid":"t"}`), caller{"one", "t"}},
		"an app with a name": {token(`{"idtyp":"app","upn":"alice","appid":"one"}`), caller{"one", "tenant"}},
		"an object":          {token(`{"oid":"o"}`), caller{"o", "tenant"}},
		"with escapes":       {token(`{"upn":"a\u001b[2J\u0007"}`), caller{"a [2J ", "tenant"}},
		"a long one":         {token(`{"upn":"` + strings.Repeat("a", 999) + `"}`), caller{strings.Repeat("a", 125) + "...", "tenant"}},
		"no claims":          {token(`{}`), otherwise},
		"no object":          {token(`[]`), otherwise},
		"other types":        {token(`{"upn":7}`), otherwise},
		"not JSON":           {token(`<`), otherwise},
		"not encoded":        {"a.!.c", otherwise},
		"no token":           {"", otherwise},
	} {
		p := &Principal{
			ClientID: otherwise.Name, TenantID: otherwise.Tenant,
			Credential: &credential{token: azcore.AccessToken{Token: c.token}},
		}
		gotName, gotTenant := p.Caller()
		expect.Same(t, name, c.want, caller{gotName, gotTenant})
	}
}
