package tokens

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// Serve answers requests to the authority, and says whether the path was one of its.
func (t *Tokens) Serve(w http.ResponseWriter, r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	tenant, rest := parts[0], strings.Join(parts[1:], "/")
	switch {
	case r.URL.Path == "/common/discovery/instance":
		t.instance(w)
	case rest == "v2.0/.well-known/openid-configuration":
		t.configuration(w, tenant)
	case rest == "oauth2/v2.0/token" && r.Method == http.MethodPost:
		t.token(w, r, tenant)
	case r.URL.Path == "/msi/token", r.URL.Path == "/metadata/identity/oauth2/token":
		t.managed(w, r)
	default:
		return false
	}
	return true
}

// instance is what clients ask to know whether an authority is one of Microsoft's.
func (t *Tokens) instance(w http.ResponseWriter) {
	host := strings.TrimPrefix(t.Endpoint, "https://")
	reply.JSON(w, http.StatusOK, map[string]any{
		"tenant_discovery_endpoint": t.Endpoint + "/common/v2.0/.well-known/openid-configuration", "api-version": "1.1",
		"metadata": []any{map[string]any{"preferred_network": host, "preferred_cache": host, "aliases": []string{host}}},
	})
}

func (t *Tokens) configuration(w http.ResponseWriter, tenant string) {
	if refused := t.tenant(tenant); refused != nil {
		refused.write(w)
		return
	}
	base := t.Endpoint + "/" + tenant
	reply.JSON(w, http.StatusOK, map[string]any{
		"token_endpoint": base + "/oauth2/v2.0/token", "authorization_endpoint": base + "/oauth2/v2.0/authorize",
		"issuer": base + "/v2.0", "jwks_uri": base + "/discovery/v2.0/keys", "tenant_region_scope": nil,
		"device_authorization_endpoint": base + "/oauth2/v2.0/devicecode",
	})
}

// refusal is an OAuth error with Entra's number [D aadsts-error-codes].
type refusal struct {
	status int
	code   string // of OAuth
	number int
	text   string
}

func refuse(status int, code string, number int, format string, args ...any) *refusal {
	return &refusal{status: status, code: code, number: number, text: fmt.Sprintf(format, args...)}
}

func (e *refusal) write(w http.ResponseWriter) {
	trace, correlation, at := uuid.NewString(), uuid.NewString(), Wall().UTC().Format("2006-01-02 15:04:05Z")
	reply.JSON(w, e.status, map[string]any{
		"error": e.code, "error_codes": []int{e.number}, "timestamp": at, "trace_id": trace, "correlation_id": correlation,
		"error_description": fmt.Sprintf("AADSTS%d: %s Trace ID: %s Correlation ID: %s Timestamp: %s", e.number, e.text, trace,
			correlation, at),
		"error_uri": fmt.Sprintf("https://login.microsoftonline.com/error?code=%d", e.number),
	})
}

func (t *Tokens) tenant(tenant string) *refusal {
	if t.principal(func(p *Principal) bool { return strings.EqualFold(p.Tenant, tenant) }) != nil ||
		slices.Contains([]string{"common", "organizations"}, tenant) {
		return nil
	}
	return refuse(http.StatusBadRequest, "invalid_request", 90002, "Tenant '%s' not found. Check to make sure you have the "+
		"correct tenant ID "+
		"and are signing into the correct cloud. Check with your subscription administrator, this may happen if there are no active "+
		"subscriptions for the tenant.", tenant)
}

func (t *Tokens) token(w http.ResponseWriter, r *http.Request, tenant string) {
	if t.Down != 0 {
		reply.JSON(w, t.Down, map[string]any{"error": "temporarily_unavailable", "error_description": "AADSTS90033: A transient " +
			"error has occurred. Please try again.", "error_codes": []int{90033}})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		refuse(http.StatusBadRequest, "invalid_request", 900144, "The request body must be a form.").write(w)
		return
	}
	p, refused := t.caller(r.PostForm, tenant)
	if refused == nil {
		refused = t.scope(resourceScope(r.PostForm))
	}
	if refused != nil {
		refused.write(w)
		return
	}
	seconds := int(t.Life.Seconds())
	reply.JSON(w, http.StatusOK, map[string]any{
		"token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds,
		"access_token": t.Give(p, strings.TrimSuffix(resourceScope(r.PostForm), "/.default")),
	})
}

// resourceScope is the scope without those of OpenID Connect, which Microsoft's library always adds [V].
func resourceScope(form url.Values) string {
	var left []string
	for scope := range strings.FieldsSeq(form.Get("scope")) {
		if !slices.Contains([]string{"openid", "offline_access", "profile"}, scope) {
			left = append(left, scope)
		}
	}
	return strings.Join(left, " ")
}

// scope refuses what is no resource of this directory.
func (t *Tokens) scope(scope string) *refusal {
	resource, ok := strings.CutSuffix(scope, "/.default")
	if !ok {
		return refuse(http.StatusBadRequest, "invalid_scope", 1002012, "The provided value for scope %s is not valid. Client "+
			"credential flows "+
			"must have a scope value with /.default suffixed to the resource identifier (application ID URI).", scope)
	}
	if !t.audience(resource) {
		return refuse(http.StatusBadRequest, "invalid_resource", 500011, "The resource principal named %s was not found in the "+
			"tenant. This "+
			"can happen if the application has not been installed by the administrator of the tenant or consented to by any user in the "+
			"tenant. You might have sent your authentication request to the wrong tenant.", resource)
	}
	return nil
}

// caller finds the app and checks its proof.
func (t *Tokens) caller(form url.Values, tenant string) (*Principal, *refusal) {
	if refused := t.tenant(tenant); refused != nil {
		return nil, refused
	}
	if grant := form.Get("grant_type"); grant != "client_credentials" {
		return nil, refuse(http.StatusBadRequest, "unsupported_grant_type", 70003, "The app requested an unsupported grant type "+
			"'%s'.", grant)
	}
	id := form.Get("client_id")
	p := t.principal(func(p *Principal) bool { return p.ClientID == id && strings.EqualFold(p.Tenant, tenant) })
	switch {
	case p == nil:
		return nil, refuse(http.StatusBadRequest, "unauthorized_client", 700016, "Application with identifier '%s' was not found in "+
			"the "+
			"directory '%s'. This can happen if the application has not been installed by the administrator of the tenant or consented "+
			"to by "+
			"any user in the tenant. You may have sent your authentication request to the wrong tenant.", id, tenant)
	case form.Get("client_assertion") != "":
		return p, t.assertion(p, form)
	case form.Get("client_secret") == "":
		return nil, refuse(http.StatusUnauthorized, "invalid_client", 7000218, "The request body must contain the following "+
			"parameter: "+
			"'client_assertion' or 'client_secret'.")
	}
	for _, secret := range p.Secrets {
		if subtle.ConstantTimeCompare([]byte(secret), []byte(form.Get("client_secret"))) == 1 {
			return p, nil
		}
	}
	if slices.Contains(p.Expired, form.Get("client_secret")) {
		return nil, refuse(http.StatusUnauthorized, "invalid_client", 7000222, "The provided client secret keys for app '%s' are "+
			"expired. Visit the Azure portal to create new keys for your app: https://aka.ms/NewClientSecret, or consider using "+
			"certificate credentials for added security: https://aka.ms/certCreds.", id)
	}
	return nil, refuse(http.StatusUnauthorized, "invalid_client", 7000215, "Invalid client secret provided. Ensure the secret "+
		"being sent in "+
		"the request is the client secret value, not the client secret ID, for a secret added to app '%s'.", id)
}
