package calls

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestStatuses: what is below 300 is an answer, and from 500 on the request may have been carried out.
func TestStatuses(t *testing.T) {
	for status, c := range map[int]struct{ fails, lost bool }{
		200: {}, 299: {}, 300: {fails: true}, 400: {fails: true}, 499: {fails: true}, 500: {true, true}, 503: {true, true},
	} {
		client := blueCalls(t, blue.Says(func(*http.Request) (int, string) { return status, "{}" }))
		got := client.Send(t.Context(), Call{Method: http.MethodGet, Path: "/x", Class: limiter.GetVM})
		expect.Same(t, http.StatusText(status), status, got.Status)
		expect.Same(t, http.StatusText(status)+": fails", c.fails, got.Verdict != nil)
		expect.Same(t, http.StatusText(status)+": is lost", c.lost, got.Lost)
		expect.Same(t, http.StatusText(status)+": we are let in", !c.fails, client.Health().Sessions == 1)
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
		got := blueCalls(t, of).Send(t.Context(), Call{Method: http.MethodGet, Path: "/x", Class: limiter.GetVM})
		expect.Same(t, "fails", fails, got.Verdict != nil)
		expect.Same(t, "may have been carried out", fails, got.Lost)
		expect.Same(t, "bytes that are read", min(length, maxAnswer+1), of.read)
	}
	for length, fails := range map[int]bool{maxPage: false, maxPage + 1: true} {
		answer := &long{left: length}
		got := blueCalls(t, answer).Send(t.Context(), Call{Method: http.MethodGet, Path: "/x", Class: limiter.GetVM, Large: true})
		expect.Same(t, "a large one fails", fails, got.Verdict != nil)
	}
}

// TestWhatCannotBeSent is told, and no call is made.
func TestWhatCannotBeSent(t *testing.T) {
	calls := 0
	client := blueCalls(t, blue.Says(func(*http.Request) (int, string) { calls++; return http.StatusOK, "{}" }))
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
		got := client.Send(t.Context(), Call{Method: http.MethodPut, Path: c.path, Class: limiter.PutVM, Body: c.body})
		expect.Says(t, name, got.Err(), c.says)
		expect.Same(t, name+": another call may begin", true, client.circuit.begin() == nil)
		client.circuit.end()
	}
	expect.Same(t, "calls", 0, calls)
}

// TestNoJSON: what is no JSON is no answer, whatever was asked for.
func TestNoJSON(t *testing.T) {
	for name, ask := range map[string]func(*Client) Answer{
		"a VM":       func(c *Client) Answer { _, a := c.GetVM(t.Context(), blue.VM); return a },
		"a view":     func(c *Client) Answer { _, a := c.ViewVM(t.Context(), blue.VM); return a },
		"an address": func(c *Client) Answer { _, a := c.SignBootLog(t.Context(), blue.VM); return a },
		"a disk":     func(c *Client) Answer { _, a := c.GetResource(t.Context(), blue.Group.Disk("x")); return a },
		"a list":     func(c *Client) Answer { _, a := unchanged[VM](t.Context(), c, c.VMsIn(blue.Group), &Held{}); return a },
	} {
		client := blueCalls(t, blue.Says(func(*http.Request) (int, string) { return http.StatusOK, "<html>" }))
		expect.Says(t, name, ask(client).Err(), "Azure does not answer at "+blue.Endpoint)
	}
}

// TestRequests pins what is asked of Azure.
func TestRequests(t *testing.T) {
	none := func(context.Context) (any, error) { return map[string]any{}, nil }
	adapter, disk := blue.Group.Adapter("n"), blue.Group.Disk("d")
	inCompute := func(rest string) string { return blue.Group.String() + "/providers/Microsoft.Compute" + rest }
	inNetwork := func(rest string) string { return blue.Group.String() + "/providers/Microsoft.Network" + rest }
	whole := "/subscriptions/" + armsim.Subscription
	for name, c := range map[string]struct {
		ask        func(context.Context, *Client)
		method, at string
		version    string
		query      url.Values
		create     bool
	}{
		"createVM": {
			func(ctx context.Context, c *Client) { c.CreateVM(ctx, blue.VM, none) }, http.MethodPut, blue.VM.String(), computeVersion,
			nil, true,
		},
		"deleteVM": {
			func(ctx context.Context, c *Client) { c.DeleteVM(ctx, blue.VM) }, http.MethodDelete, blue.VM.String(), computeVersion,
			url.Values{"forceDeletion": {"true"}},
			false,
		},
		"getVM": {
			func(ctx context.Context, c *Client) { c.GetVM(ctx, blue.VM) }, http.MethodGet, blue.VM.String(), computeVersion, nil, false,
		},
		"viewVM": {
			func(ctx context.Context, c *Client) { c.ViewVM(ctx, blue.VM) }, http.MethodGet, blue.VM.String() + "/instanceView",
			computeVersion, nil, false,
		},
		"signBootLog": {
			func(ctx context.Context, c *Client) { c.SignBootLog(ctx, blue.VM) }, http.MethodPost,
			blue.VM.String() + "/retrieveBootDiagnosticsData", computeVersion,
			url.Values{"sasUriExpirationTimeInMinutes": {"1"}},
			false,
		},
		"listVMs": {
			func(ctx context.Context, c *Client) { unchanged[VM](ctx, c, c.VMsIn(blue.Group), &Held{}) }, http.MethodGet,
			inCompute("/virtualMachines"), computeVersion, nil, false,
		},
		"listStatus": {
			func(ctx context.Context, c *Client) { unchanged[VM](ctx, c, c.StatesIn(armsim.Subscription), &Held{}) }, http.MethodGet,
			whole + "/providers/Microsoft.Compute/virtualMachines", computeVersion,
			url.Values{"statusOnly": {"true"}},
			false,
		},
		"listAdapters": {
			func(ctx context.Context, c *Client) {
				unchanged[Resource](ctx, c, ResourcesIn(blue.Group, arm.AdapterType), &Held{})
			},
			http.MethodGet, inNetwork("/networkInterfaces"),
			networkVersion, nil, false,
		},
		"listDisks": {
			func(ctx context.Context, c *Client) {
				unchanged[Resource](ctx, c, ResourcesIn(blue.Group, arm.DiskType), &Held{})
			},
			http.MethodGet, inCompute("/disks"), diskVersion,
			nil, false,
		},
		"listPublic": {
			func(ctx context.Context, c *Client) {
				unchanged[Resource](ctx, c, ResourcesIn(blue.Group, arm.PublicIPType), &Held{})
			},
			http.MethodGet, inNetwork("/publicIPAddresses"),
			networkVersion, nil, false,
		},
		"listSKUs": {
			func(ctx context.Context, c *Client) {
				unchanged[skus.Listed](ctx, c, SizesIn(armsim.Subscription, "eastus"), &Held{})
			}, http.MethodGet,
			whole + "/providers/Microsoft.Compute/skus", skuVersion,
			url.Values{"$filter": {"location eq 'eastus'"}},
			false,
		},
		"getResource": {
			func(ctx context.Context, c *Client) { c.GetResource(ctx, disk) }, http.MethodGet, disk.String(), diskVersion, nil, false,
		},
		"deleteResource": {
			func(ctx context.Context, c *Client) { c.DeleteResource(ctx, adapter) }, http.MethodDelete, adapter.String(), networkVersion,
			nil, false,
		},
		"putAdapter, a new one": {
			func(ctx context.Context, c *Client) { c.PutAdapter(ctx, adapter, true, 1) }, http.MethodPut, adapter.String(),
			networkVersion, nil, true,
		},
		"putAdapter, again": {
			func(ctx context.Context, c *Client) { c.PutAdapter(ctx, adapter, false, 1) }, http.MethodPut, adapter.String(),
			networkVersion, nil, false,
		},
		"welcome": {
			func(ctx context.Context, c *Client) { c.Welcome(ctx, cloud.Key{}) }, http.MethodGet, "/subscriptions", subscriptionVersion,
			nil, false,
		},
	} {
		var sent []*http.Request
		client := blueCalls(t, blue.Says(func(r *http.Request) (int, string) { sent = append(sent, r); return http.StatusOK, "{}" }))
		c.ask(t.Context(), client)
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

// TestIsVisible: a subscription is visible if Azure lists it, in small letters or capitals.
func TestIsVisible(t *testing.T) {
	upper := strings.ToUpper(armsim.Subscription)
	for name, c := range map[string]struct {
		Status int
		text   string
		want   bool
	}{
		"shown":      {http.StatusOK, `{"value":[{"subscriptionId":"x"},{"subscriptionId":"` + upper + `"}]}`, true},
		"not shown":  {http.StatusOK, `{"value":[{"subscriptionId":"x"}]}`, false},
		"no answer":  {http.StatusForbidden, blue.Fault("Other"), false},
		"shows none": {http.StatusOK, `{}`, false},
	} {
		client := blueCalls(t, blue.Says(func(*http.Request) (int, string) { return c.Status, c.text }))
		expect.Same(t, name, c.want, client.IsVisible(t.Context(), armsim.Subscription, "team"))
	}
}

// TestEachKindIsItsOwn: what a deletion may leave is asked for with its own provider's api-version.
func TestEachKindIsItsOwn(t *testing.T) {
	group := arm.GroupID(armsim.Subscription, armsim.Group)
	public, _ := arm.Parse(group.String() + "/providers/Microsoft.Network/publicIPAddresses/x")
	for _, test := range []struct {
		id      arm.ID
		version string
	}{
		{group.Disk("x"), diskVersion},
		{group.Adapter("x"), networkVersion},
		{public, networkVersion},
	} {
		expect.Same(t, test.id.String(), test.version, ofResource(http.MethodGet, test.id, "").Version)
	}
}
