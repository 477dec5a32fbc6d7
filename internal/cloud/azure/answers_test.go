package azure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// says is what answers in the place of Azure, for what no simulator answers: a status and a body. As Azure does, it gives an id.
type says func(*http.Request) (int, string)

// Do implements policy.Transporter.
func (s says) Do(r *http.Request) (*http.Response, error) {
	status, text := s(r)
	header := http.Header{"X-Ms-Request-Id": {"1"}}
	return &http.Response{StatusCode: status, Header: header, Request: r, Body: io.NopCloser(strings.NewReader(text))}, nil
}

type anyToken struct{}

func (anyToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

const blueEndpoint = "https://azure.example"

// bluePrincipal is one of a cloud that is a transport.
func bluePrincipal(through policy.Transporter) principal {
	return principal{credential: anyToken{}, transport: through, name: "blue", tenant: armsim.Tenant, cloud: azcloud.Configuration{
		ActiveDirectoryAuthorityHost: blueEndpoint,
		Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
			azcloud.ResourceManager: {Endpoint: blueEndpoint + "/", Audience: blueEndpoint},
		},
	}}
}

// blueAccount is one at noon.
func blueAccount(t *testing.T, through policy.Transporter) *account {
	t.Helper()
	a := expect.Got(open(bluePrincipal(through), func() time.Time { return blueNoon }))(t)
	a.watching.Store(true)
	a.manager = manager
	return a
}

// faultBody is the body of one of Azure's errors.
func faultBody(code string) string { return `{"error":{"code":"` + code + `","message":"no"}}` }

var (
	gone   = faultBody("ResourceNotFound")
	denied = faultBody("Other")
)

// TestStatuses: what is below 300 is an answer, and from 500 on the request may have been carried out.
func TestStatuses(t *testing.T) {
	for status, c := range map[int]struct{ fails, lost bool }{
		200: {}, 299: {}, 300: {fails: true}, 400: {fails: true}, 499: {fails: true}, 500: {true, true}, 503: {true, true},
	} {
		a := blueAccount(t, says(func(*http.Request) (int, string) { return status, "{}" }))
		got := a.calls.send(t.Context(), call{method: http.MethodGet, path: "/x", class: limiter.GetVM})
		expect.Same(t, http.StatusText(status), status, got.status)
		expect.Same(t, http.StatusText(status)+": fails", c.fails, got.verdict != nil)
		expect.Same(t, http.StatusText(status)+": is lost", c.lost, got.lost)
		expect.Same(t, http.StatusText(status)+": we are let in", !c.fails, a.calls.health().Sessions == 1)
	}
}

// long is an answer of so many bytes. It counts those that are read.
type long struct{ left, read int }

func (l *long) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: l}, nil
}

func (l *long) Read(into []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	n := copy(into, bytes.Repeat([]byte(" "), min(l.left, len(into))))
	l.left, l.read = l.left-n, l.read+n
	return n, nil
}

func (*long) Close() error { return nil }

// TestLengthOfAnAnswer: an answer is read up to a length, to the byte, and one that is longer is none.
func TestLengthOfAnAnswer(t *testing.T) {
	for length, fails := range map[int]bool{maxAnswer: false, maxAnswer + 1: true, 2 * maxAnswer: true} {
		of := &long{left: length}
		got := blueAccount(t, of).calls.send(t.Context(), call{method: http.MethodGet, path: "/x", class: limiter.GetVM})
		expect.Same(t, "fails", fails, got.verdict != nil)
		expect.Same(t, "may have been carried out", fails, got.lost)
		expect.Same(t, "bytes that are read", min(length, maxAnswer+1), of.read)
	}
}

// TestWhatCannotBeSent is told, and no call is made.
func TestWhatCannotBeSent(t *testing.T) {
	calls := 0
	a := blueAccount(t, says(func(*http.Request) (int, string) { calls++; return http.StatusOK, "{}" }))
	unwritten := errors.New("no user data")
	body := func(content any, err error) func(context.Context) (any, error) {
		return func(context.Context) (any, error) { return content, err }
	}
	for name, c := range map[string]struct {
		path string
		body func(context.Context) (any, error)
		says string
	}{
		"an address that is none":   {"/%zz", nil, "Azure does not answer"},
		"a body that is no JSON":    {"/x", body(func() {}, nil), "Azure does not answer"},
		"a body that there is none": {"/x", body(nil, unwritten), unwritten.Error()},
	} {
		got := a.calls.send(t.Context(), call{method: http.MethodPut, path: c.path, class: limiter.PutVM, body: c.body})
		expect.Says(t, name, got.err(), c.says)
		expect.Same(t, name+": calls under way", 0, a.calls.count)
	}
	expect.Same(t, "calls", 0, calls)
}

// TestNoJSON: what is no JSON is no answer, whatever was asked for.
func TestNoJSON(t *testing.T) {
	for name, ask := range map[string]func(*calls) answer{
		"a VM":       func(c *calls) answer { _, a := c.getVM(t.Context(), blueVM); return a },
		"a view":     func(c *calls) answer { _, a := c.viewVM(t.Context(), blueVM); return a },
		"an address": func(c *calls) answer { _, a := c.signBootLog(t.Context(), blueVM); return a },
		"a disk":     func(c *calls) answer { _, a := c.getResource(t.Context(), blueGroup.Disk("x")); return a },
		"a list":     func(c *calls) answer { _, a := c.listVMs(t.Context(), blueGroup); return a },
	} {
		a := blueAccount(t, says(func(*http.Request) (int, string) { return http.StatusOK, "<html>" }))
		expect.Says(t, name, ask(a.calls).err(), "Azure does not answer at "+blueEndpoint)
	}
	a := blueAccount(t, says(func(*http.Request) (int, string) { return http.StatusOK, "<html>" }))
	got := inspector{a.calls, armsim.Subscription}.Get(t.Context(), "/x", "1", &struct{}{})
	expect.Same(t, "a check: "+got.Problem, true, strings.HasPrefix(got.Problem, "Azure does not answer at "+blueEndpoint))
}

// TestRequests pins what is asked of Azure.
func TestRequests(t *testing.T) {
	none := func(context.Context) (any, error) { return map[string]any{}, nil }
	adapter, disk := blueGroup.Adapter("n"), blueGroup.Disk("d")
	inCompute := func(rest string) string { return blueGroup.String() + "/providers/Microsoft.Compute" + rest }
	inNetwork := func(rest string) string { return blueGroup.String() + "/providers/Microsoft.Network" + rest }
	whole := "/subscriptions/" + armsim.Subscription
	for name, c := range map[string]struct {
		ask        func(context.Context, *calls)
		method, at string
		version    string
		query      url.Values
		create     bool
	}{
		"createVM": {
			func(ctx context.Context, c *calls) { c.createVM(ctx, blueVM, none) }, http.MethodPut, blueVM.String(), computeVersion,
			nil, true,
		},
		"deleteVM": {
			func(ctx context.Context, c *calls) { c.deleteVM(ctx, blueVM) }, http.MethodDelete, blueVM.String(), computeVersion,
			url.Values{"forceDeletion": {"true"}},
			false,
		},
		"getVM": {
			func(ctx context.Context, c *calls) { c.getVM(ctx, blueVM) }, http.MethodGet, blueVM.String(), computeVersion, nil, false,
		},
		"viewVM": {
			func(ctx context.Context, c *calls) { c.viewVM(ctx, blueVM) }, http.MethodGet, blueVM.String() + "/instanceView",
			computeVersion, nil, false,
		},
		"signBootLog": {
			func(ctx context.Context, c *calls) { c.signBootLog(ctx, blueVM) }, http.MethodPost,
			blueVM.String() + "/retrieveBootDiagnosticsData", computeVersion,
			url.Values{"sasUriExpirationTimeInMinutes": {"1"}},
			false,
		},
		"listVMs": {
			func(ctx context.Context, c *calls) { c.listVMs(ctx, blueGroup) }, http.MethodGet, inCompute("/virtualMachines"),
			computeVersion, nil, false,
		},
		"listStatus": {
			func(ctx context.Context, c *calls) { c.listStatus(ctx, armsim.Subscription) }, http.MethodGet,
			whole + "/providers/Microsoft.Compute/virtualMachines", computeVersion,
			url.Values{"statusOnly": {"true"}},
			false,
		},
		"listAdapters": {
			func(ctx context.Context, c *calls) { c.listAdapters(ctx, blueGroup) }, http.MethodGet, inNetwork("/networkInterfaces"),
			networkVersion, nil, false,
		},
		"listDisks": {
			func(ctx context.Context, c *calls) { c.listDisks(ctx, blueGroup) }, http.MethodGet, inCompute("/disks"), diskVersion,
			nil, false,
		},
		"listPublic": {
			func(ctx context.Context, c *calls) { c.listPublic(ctx, blueGroup) }, http.MethodGet, inNetwork("/publicIPAddresses"),
			networkVersion, nil, false,
		},
		"listSKUs": {
			func(ctx context.Context, c *calls) { c.listSKUs(ctx, armsim.Subscription, "eastus") }, http.MethodGet,
			whole + "/providers/Microsoft.Compute/skus", skuVersion,
			url.Values{"$filter": {"location eq 'eastus'"}},
			false,
		},
		"getResource": {
			func(ctx context.Context, c *calls) { c.getResource(ctx, disk) }, http.MethodGet, disk.String(), diskVersion, nil, false,
		},
		"deleteResource": {
			func(ctx context.Context, c *calls) { c.deleteResource(ctx, adapter) }, http.MethodDelete, adapter.String(), networkVersion,
			nil, false,
		},
		"putAdapter, a new one": {
			func(ctx context.Context, c *calls) { c.putAdapter(ctx, adapter, true, 1) }, http.MethodPut, adapter.String(),
			networkVersion, nil, true,
		},
		"putAdapter, again": {
			func(ctx context.Context, c *calls) { c.putAdapter(ctx, adapter, false, 1) }, http.MethodPut, adapter.String(),
			networkVersion, nil, false,
		},
		"welcome": {
			func(ctx context.Context, c *calls) { c.welcome(ctx, cloud.Key{}) }, http.MethodGet, "/subscriptions", subscriptionVersion,
			nil, false,
		},
	} {
		var sent []*http.Request
		a := blueAccount(t, says(func(r *http.Request) (int, string) { sent = append(sent, r); return http.StatusOK, "{}" }))
		c.ask(t.Context(), a.calls)
		if len(sent) != 1 {
			t.Fatalf("%s makes %d calls", name, len(sent))
		}
		if c.query == nil {
			c.query = url.Values{}
		}
		c.query.Set("api-version", c.version)
		expect.Same(t, name, c.method+" "+c.at, sent[0].Method+" "+sent[0].URL.Path)
		expect.Same(t, name+": query", c.query, sent[0].URL.Query())
		expect.Same(t, name+": only if there is none", c.create, sent[0].Header.Get("If-None-Match") == "*")
		expect.Same(t, name+": wants", "application/json", sent[0].Header.Get("Accept"))
	}
}

// TestCloudWithoutServices: a cloud that does not say where its Resource Manager is opens no account.
func TestCloudWithoutServices(t *testing.T) {
	p := Provider{
		Ticks: everySecond,
		login: func(map[string][]byte) (principal, error) {
			return principal{credential: anyToken{}, cloud: azcloud.Configuration{ActiveDirectoryAuthorityHost: blueEndpoint}}, nil
		},
	}
	const why = "provided Cloud field is missing Azure Resource Manager configuration"
	_, err := p.Connect(nil)
	expect.Says(t, "an account", err, why)
	spec := (&stage{}).spec().Azure
	_, err = p.Inspect(t.Context(), nil, Pool{Spec: spec})
	expect.Says(t, "a check", err, why)
	_, err = Provider{}.Inspect(t.Context(), nil, Pool{Spec: spec})
	expect.Says(t, "a check without credentials", err, "tenantID")
}

// TestKnows: a subscription is known if Azure shows it, in any case.
func TestKnows(t *testing.T) {
	upper := strings.ToUpper(armsim.Subscription)
	for name, c := range map[string]struct {
		status int
		text   string
		want   bool
	}{
		"shown":      {http.StatusOK, `{"value":[{"subscriptionId":"x"},{"subscriptionId":"` + upper + `"}]}`, true},
		"not shown":  {http.StatusOK, `{"value":[{"subscriptionId":"x"}]}`, false},
		"no answer":  {http.StatusForbidden, denied, false},
		"shows none": {http.StatusOK, `{}`, false},
	} {
		a := blueAccount(t, says(func(*http.Request) (int, string) { return c.status, c.text }))
		expect.Same(t, name, c.want, a.calls.knows(t.Context(), armsim.Subscription))
	}
}
