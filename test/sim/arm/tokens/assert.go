package tokens

import (
	"crypto/sha1" //nolint:gosec // because certificates are named by their SHA-1 thumbprint, which proves nothing
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const bearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// assertion checks an assertion: one that the app signed with its certificate, or one of a federated issuer.
func (t *Tokens) assertion(p *Principal, form url.Values) *refusal {
	a, err := parse(form.Get("client_assertion"))
	if err != nil || form.Get("client_assertion_type") != bearer {
		return refuse(http.StatusUnauthorized, "invalid_client", 50027, "JWT token is invalid or malformed.")
	}
	if float64(Wall().Unix()) >= a.claims.Expires || float64(Wall().Unix())+300 < a.claims.From {
		return refuse(http.StatusUnauthorized, "invalid_client", 700024, "Client assertion is not within its valid time range.")
	}
	if a.claims.Issuer == p.ClientID {
		return t.certificate(p, a)
	}
	return t.federated(p, a)
}

// certificate checks that one of the app's certificates signed [D].
func (t *Tokens) certificate(p *Principal, a *assertion) *refusal {
	for _, c := range p.Certificates {
		short, long := sha1.Sum(c.Raw), sha256.Sum256(c.Raw) //nolint:gosec // because this is the certificate's name
		named := names(a.header.SHA1, short[:]) || names(a.header.SHA256, long[:])
		if named && a.signedBy(c.PublicKey) && a.claims.Subject == p.ClientID && t.ours(p, a.claims.Audience) {
			return nil
		}
	}
	return refuse(http.StatusUnauthorized, "invalid_client", 700027, "The certificate with identifier used to sign the client "+
		"assertion is "+
		"not registered on application. [Reason - The key was not found.]")
}

// names compares thumbprints. Entra ID takes both encodings: Microsoft's own library for Go uses that of PEM [V].
func names(thumbprint string, sum []byte) bool {
	return thumbprint == base64.RawURLEncoding.EncodeToString(sum) || thumbprint == base64.StdEncoding.EncodeToString(sum)
}

// ours says whether an assertion is for this tenant's token endpoint.
func (t *Tokens) ours(p *Principal, audience []string) bool {
	return slices.ContainsFunc(audience, func(a string) bool {
		return strings.EqualFold(a, t.Endpoint+"/"+p.Tenant+"/oauth2/v2.0/token") ||
			strings.EqualFold(a, t.Endpoint+"/"+p.Tenant+"/v2.0")
	})
}

// federated looks for a credential with the assertion's issuer, subject and audience, then checks the signature with the issuer's
// keys [D].
func (t *Tokens) federated(p *Principal, a *assertion) *refusal {
	const see = "https://learn.microsoft.com/entra/workload-id/workload-identity-federation"
	no := func(number int, what, is string) *refusal {
		return refuse(http.StatusUnauthorized, "invalid_client", number, "No matching federated identity record found for presented "+
			"assertion "+
			"%s '%s'. Check your federated identity credential Subject, Audience and Issuer against the presented assertion. "+
			"%s", what, is, see)
	}
	if !slices.ContainsFunc(p.Federated, func(f Federated) bool { return f.Issuer == a.claims.Issuer }) {
		return no(700211, "issuer", a.claims.Issuer)
	}
	for _, f := range p.Federated {
		if f.Issuer != a.claims.Issuer || f.Subject != a.claims.Subject {
			continue
		}
		if !slices.Contains(a.claims.Audience, f.Audience) {
			return no(700212, "audience", strings.Join(a.claims.Audience, ","))
		}
		keys, err := f.keys()
		if err != nil {
			return refuse(http.StatusUnauthorized, "invalid_client", 50166, "Request to External OIDC endpoint failed: %v", err)
		}
		if !slices.ContainsFunc(keys, func(k jwk) bool { return k.ID == a.header.Key && a.signedBy(k.key()) }) {
			return refuse(http.StatusUnauthorized, "invalid_client", 7000272, "Unable to verify token signature. The signing key "+
				"identifier "+
				"does not match any valid registered keys.")
		}
		return nil
	}
	return no(700213, "subject", a.claims.Subject)
}

// keys asks the issuer, as Entra does.
func (f Federated) keys() ([]jwk, error) {
	var configuration struct {
		Keys string `json:"jwks_uri"`
	}
	if err := f.get(strings.TrimSuffix(f.Issuer, "/")+"/.well-known/openid-configuration", &configuration); err != nil {
		return nil, err
	}
	var set struct {
		Keys []jwk `json:"keys"`
	}
	err := f.get(configuration.Keys, &set)
	return set.Keys, err
}

func (f Federated) get(address string, into any) error {
	client := f.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Get(address)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(into)
}
