package tokens

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// managed gives tokens of managed identities: over App Service's endpoint (IDENTITY_ENDPOINT, IDENTITY_HEADER), or over a VM's
// metadata service with the header Metadata [D].
func (t *Tokens) managed(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	appService := r.URL.Path == "/msi/token"
	switch {
	case t.Down != 0:
		reply.JSON(w, t.Down, map[string]any{"error": "temporarily_unavailable", "error_description": "try again"})
		return
	case appService && (t.Header == "" || r.Header.Get("X-Identity-Header") != t.Header):
		reply.JSON(w, http.StatusUnauthorized, map[string]any{"statusCode": 401, "message": "Invalid X-IDENTITY-HEADER."})
		return
	case !appService && r.Header.Get("Metadata") != "true":
		reply.JSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": "Required metadata " +
			"header not specified"})
		return
	case !t.audience(query.Get("resource")):
		refuse(http.StatusBadRequest, "invalid_resource", 500011, "The resource principal named %s was not found in the tenant.",
			query.Get("resource")).write(w)
		return
	}
	p := t.identity(query)
	if p == nil {
		reply.JSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": "Identity not found"})
		return
	}
	expires := t.now().Add(t.Life).Unix()
	reply.JSON(w, http.StatusOK, map[string]any{
		"access_token": t.Give(p, query.Get("resource")), "client_id": p.ClientID, "token_type": "Bearer",
		"resource":   query.Get("resource"),
		"expires_on": strconv.FormatInt(expires, 10), "expires_in": strconv.Itoa(int(t.Life.Seconds())),
	})
}

// identity finds the identity that the query names, by its client id, its resource id or its object id.
func (t *Tokens) identity(query url.Values) *Principal {
	return t.principal(func(p *Principal) bool {
		for _, name := range []string{"client_id", "clientid"} {
			if id := query.Get(name); id != "" {
				return p.ClientID == id && (p.System || p.ResourceID != "")
			}
		}
		for _, name := range []string{"mi_res_id", "msi_res_id"} {
			if id := query.Get(name); id != "" {
				return strings.EqualFold(p.ResourceID, id)
			}
		}
		for _, name := range []string{"object_id", "principal_id"} {
			if id := query.Get(name); id != "" {
				return p.ObjectID == id && (p.System || p.ResourceID != "")
			}
		}
		return p.System
	})
}
