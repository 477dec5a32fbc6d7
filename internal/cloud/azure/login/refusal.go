package login

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

// credential gives tokens, and errors in our words.
type credential struct {
	inner    azcore.TokenCredential
	refusals refusals

	mu      sync.Mutex
	token   azcore.AccessToken
	purpose string // it was given for
	granted time.Time
}

// String hides the token.
func (*credential) String() string { return "[hidden]" }

// GoString hides the token.
func (*credential) GoString() string { return "[hidden]" }

// reused is how long a token is used even if its own life is shorter: else each call would ask for one that has expired already.
const reused = 30 * time.Second

// maxToken is more than Entra ID's tokens have; ARM would not take the header of a longer one.
const maxToken = 32 << 10

// GetToken is part of azcore.TokenCredential.
func (c *credential) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	purpose := fmt.Sprint(options)
	if token, ok := c.reuse(purpose); ok {
		return token, nil
	}
	ctx, l := remember(ctx)
	token, err := c.inner.GetToken(ctx, options)
	switch {
	case err != nil && ctx.Err() != nil:
		return azcore.AccessToken{}, ctx.Err()
	case err != nil:
		return azcore.AccessToken{}, final{c.refusals.cause(err, l)}
	case len(token.Token) > maxToken || strings.ContainsFunc(token.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return azcore.AccessToken{}, final{c.refusals.error(&outcome{err: errTooLarge})}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token, c.purpose, c.granted = token, purpose, time.Now()
	return token, nil
}

// reuse is the token that was given a moment ago for the same.
func (c *credential) reuse(purpose string) (azcore.AccessToken, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token, c.purpose == purpose && time.Since(c.granted) < reused
}

// final is an error after which the SDK does not try again.
type final struct{ err *cloud.Error }

// NonRetriable marks it for the SDK.
func (final) NonRetriable() {}

// Error is that of the seam.
func (f final) Error() string { return f.err.Error() }

// Unwrap is the error of the seam.
func (f final) Unwrap() error { return f.err }

// refusals explains errors for one principal.
type refusals struct {
	proof             placement.Proof
	client, tenant    string
	cloud             string
	source, tokenFile string
}

func (p *Principal) refusals(tokenFile string) refusals {
	return refusals{
		proof: p.Proof, client: p.ClientID, tenant: p.TenantID, cloud: p.Cloud.String(), source: p.Source, tokenFile: tokenFile,
	}
}

// When to ask again.
const (
	briefly = 15 * time.Second
	slowly  = 5 * time.Minute
	late    = time.Hour
)

// cause is why there is no token.
func (r refusals) cause(err error, l *outcome) *cloud.Error {
	if r.proof == placement.OwnComputer {
		return r.ofComputer(err, l)
	}
	return r.error(l)
}

// error explains what became of a request for a token.
func (r refusals) error(l *outcome) *cloud.Error {
	number := l.number()
	switch {
	case l.err != nil || l.status == 0:
		return r.unanswered(l.err)
	case r.tokenFile != "" && l.status < http.StatusBadRequest && !readable(r.tokenFile):
		return r.transient("%s cannot be read: check that it is mounted; the controller tries again", r.source)
	case l.status == http.StatusTooManyRequests:
		e := cloud.Errorf(cloud.Throttled, infrav1.CloudThrottledReason,
			"Entra ID limits the requests for tokens of client %s: the controller waits as long as it asks", r.client)
		e.After = retryAfter(l.header)
		return e
	case l.status >= http.StatusInternalServerError:
		return r.transient("Entra ID of %s cannot give tokens at the moment%s: the controller tries again", r.cloud, code(number))
	case number == 0 && r.proof == placement.ManagedIdentity && l.status < http.StatusInternalServerError:
		return r.denied("the manager's node has no managed identity %s: assign the identity to the nodes that the manager runs on",
			r.client)
	case number == 0:
		return r.transient("the answer to the request for a token is not one of Entra ID: check the cloud %s and its authority; the "+
			"controller tries again", r.cloud)
	}
	text, ok := advice[number]
	if !ok {
		text = "Entra ID refuses client {client} of tenant {tenant}: look up the number in https://login.microsoftonline.com/error " +
			"and correct the app or {source}"
	}
	return r.denied("%s%s", r.fill(text), code(number))
}

func readable(file string) bool {
	_, err := os.ReadFile(file)
	return err == nil
}

// advice is what to do about Entra ID's errors, by their numbers.
var advice = map[int]string{
	7000215: "Entra ID rejects the client secret of client {client}: write the secret's value, not its id, into {source}",
	7000222: "the client secret of client {client} has expired: make a new one and write it into {source}",
	7000218: "Entra ID got no proof of client {client}: write a client secret or a certificate into {source}",
	7000216: "Entra ID rejects the proof of client {client}: correct {source}",
	7000112: "client {client} is disabled in tenant {tenant}: enable the app",
	7000229: "client {client} has no service principal in tenant {tenant}: create one, or correct the tenant in {source}",
	700016: "client {client} does not exist in tenant {tenant}: correct the client and the tenant in {source}, or their cloud " +
		"({cloud})",
	90002:  "tenant {tenant} does not exist in the cloud {cloud}: correct the tenant in {source}, or the cloud",
	900023: "tenant {tenant} is not a valid tenant: correct it in {source}",
	50034:  "the account of client {client} does not exist in tenant {tenant}: correct the client and the tenant in {source}",
	500011: "tenant {tenant} does not have the audience of the cloud {cloud}: correct the audience, or the tenant in {source}",
	53003:  "a conditional access policy of tenant {tenant} blocks client {client}: exempt the app",

	700027:  "the certificate in {source} is not one of client {client}: upload it to the app, or correct {source}",
	700024:  "the proof of client {client} is not valid now: check the clock of the manager's node, and {source}",
	700023:  "the proof of client {client} is for another authority: check the authority of the cloud {cloud}",
	50027:   "Entra ID cannot read the proof of client {client}: correct {source}",
	70021:   federated,
	700211:  federated,
	700212:  federated,
	700213:  federated,
	7000272: "Entra ID does not find the key of the manager's token at its issuer {issuer}: publish the key set of the API server",
	50166: "Entra ID cannot read the keys of the manager's issuer {issuer}: make its openid-configuration and its keys public " +
		"over https",
}

const federated = "client {client} does not trust the manager's service account: add a federated credential with the issuer " +
	"{issuer}, the subject {subject} and the audience {audience} to the app or identity"

func (r refusals) fill(text string) string {
	issuer, subject, audience := r.federated()
	return strings.NewReplacer("{client}", r.client, "{tenant}", r.tenant, "{source}", r.source, "{cloud}", r.cloud,
		"{issuer}", issuer, "{subject}", subject, "{audience}", audience).Replace(text)
}

const maxClaim = 128

// federated are the issuer, the subject and the audience of the manager's own token: not those that an answer names.
func (r refusals) federated() (issuer, subject, audience string) {
	content, _ := os.ReadFile(r.tokenFile)
	var claims struct {
		Issuer   string   `json:"iss"`
		Subject  string   `json:"sub"`
		Audience []string `json:"aud"`
	}
	if parts := strings.Split(strings.TrimSpace(string(content)), "."); len(parts) == 3 {
		text, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(text, &claims)
	}
	orUnknown := func(text string) string {
		if text == "" {
			return "(unknown)"
		}
		return cloud.Clean(text, maxClaim)
	}
	return orUnknown(claims.Issuer), orUnknown(claims.Subject), orUnknown(strings.Join(claims.Audience, ","))
}

// unanswered is the error for a request without an answer, or for an answer that is of no use.
func (r refusals) unanswered(cause error) *cloud.Error {
	var e *cloud.Error
	switch {
	case errors.Is(cause, errElsewhere):
		e = r.transient("Entra ID of %s names an address outside of the cloud for tokens, so nothing was sent there: check the "+
			"authority", r.cloud)
	case errors.Is(cause, errRedirect):
		e = r.transient("Entra ID of %s answers with a redirect, which is not followed: check the authority", r.cloud)
	case errors.Is(cause, errTooLarge):
		e = r.transient("the answer of Entra ID of %s is larger than any token: check the authority", r.cloud)
	case r.proof == placement.ManagedIdentity:
		e = r.transient("the endpoint for managed identities does not answer: run the manager on a node in Azure with a managed " +
			"identity, or use another type of identity; the controller tries again")
	default:
		e = r.transient("Entra ID of %s does not answer: check the network of the manager, and the cloud's authority and "+
			"certificate; the controller tries again", r.cloud)
	}
	e.Err = cause
	return e
}

func (r refusals) transient(format string, args ...any) *cloud.Error {
	e := cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, format, args...)
	e.After = briefly
	return e
}

func (r refusals) denied(format string, args ...any) *cloud.Error {
	e := cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, format, args...)
	e.After = slowly
	return e
}

var aadsts = regexp.MustCompile(`^AADSTS(\d{4,8})\b`)

// number is that of Entra ID's error; zero if the answer has none.
func (l *outcome) number() int {
	var answer struct {
		Description string `json:"error_description"`
		Codes       []int  `json:"error_codes"`
	}
	if json.Unmarshal(l.content, &answer) != nil {
		return 0
	}
	if found := aadsts.FindStringSubmatch(answer.Description); found != nil {
		number, _ := strconv.Atoi(found[1]) // digits alone
		return number
	}
	if len(answer.Codes) > 0 && answer.Codes[0] > 0 && answer.Codes[0] < 1e8 {
		return answer.Codes[0]
	}
	return 0
}

func code(number int) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf(" (AADSTS%d)", number)
}

// retryAfter is how long to wait, within bounds.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return briefly
	}
	return min(max(time.Duration(min(seconds, int(late/time.Second)))*time.Second, time.Second), late)
}
