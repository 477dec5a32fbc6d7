package workload

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// answers is what a cluster answers to each call; a body is noted when it is closed.
type answers struct {
	status   int
	kind     string // of the body; JSON if empty
	encoding string
	body     string
	cut      bool // the connection breaks within the body
	closed   int
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	kind := a.kind
	if kind == "" {
		kind = "application/json; charset=utf-8"
	}
	header := http.Header{"Content-Type": {kind}, "Retry-After": {"3600"}, "Warning": {"299 - x"}}
	if a.encoding != "" {
		header.Set("Content-Encoding", a.encoding)
	}
	body := a.open(a.body)
	if a.cut {
		body = counted{io.MultiReader(body, iotest.ErrReader(io.ErrUnexpectedEOF)), &a.closed}
	}
	return &http.Response{Status: "a status", StatusCode: a.status, Header: header, Body: body}, nil
}

// counted is a body that notes when it is closed.
type counted struct {
	io.Reader
	closed *int
}

// Close implements io.Closer.
func (c counted) Close() error {
	*c.closed++
	return nil
}

func (a *answers) open(text string) io.ReadCloser { return counted{strings.NewReader(text), &a.closed} }

// call makes a call to a cluster that is not known yet.
func (a *answers) call(t *testing.T) (status int, body string, err error) {
	t.Helper()
	request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a/api/v1/nodes/n", http.NoBody))(t)
	response, err := guarded{next: a, line: newLine(), namespace: newGate(), clock: &clock{}}.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	expect.OK(t, response.Body.Close())
	expect.Same(t, "headers", 1, len(response.Header)) // the kind
	text := string(expect.Got(io.ReadAll(response.Body))(t))
	expect.Same(t, "length", int64(len(text)), response.ContentLength)
	return response.StatusCode, text, nil
}

// What an API server says goes on as it is, what it refuses in our words, and nothing of what another server says.
func TestAnswers(t *testing.T) {
	const html, good = "text/html", `{"kind":"Node"}`
	const no, said = `{"kind":"Status","code":403,"message":"no","details":{"name":"x"}}`,
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","code":403}`
	for name, c := range map[string]struct {
		answers
		body, why string
	}{
		"good":                {answers{status: 200, body: good}, good, ""},
		"made":                {answers{status: 201, body: good}, good, ""},
		"no JSON":             {answers{status: 200, body: "{"}, "", "answers with JSON that is not that of an API server"},
		"HTML":                {answers{status: 200, kind: html, body: good}, "", "answers with something that is not JSON"},
		"a broken kind":       {answers{status: 200, kind: "application/json; =", body: good}, "", "something that is not JSON"},
		"packed":              {answers{status: 200, encoding: "gzip"}, "", "answers in an encoding that was not requested"},
		"packed refusal":      {answers{status: 403, encoding: "gzip"}, "", "answers in an encoding that was not requested"},
		"no HTTP":             {answers{status: 199, body: good}, "", "answers with something that is not HTTP"},
		"a redirect":          {answers{status: 300, body: good}, "", "answers with a redirect"},
		"the last redirect":   {answers{status: 399, body: good}, "", "answers with a redirect"},
		"the first refusal":   {answers{status: 400, body: no}, said, ""},
		"a refusal":           {answers{status: 403, body: no}, said, ""},
		"refused in HTML":     {answers{status: 400, kind: html, body: "<h1>no</h1>"}, "", ""},
		"forbidden in HTML":   {answers{status: 403, kind: html, body: "<h1>no</h1>"}, "", ""},
		"not known":           {answers{status: 401, body: no}, "", "does not accept the credentials"},
		"an error":            {answers{status: 500, body: no}, said, ""},
		"a load balancer":     {answers{status: 500, kind: html, body: "<h1>no</h1>"}, "", "cannot be reached: a status"},
		"cut off":             {answers{status: 200, body: good, cut: true}, "", "cannot be reached: unexpected EOF"},
		"the longest object":  {answers{status: 200, body: long(maxObject)}, long(maxObject), ""},
		"too long an object":  {answers{status: 200, body: long(maxObject + 1)}, "", "answers with more than 256 KiB"},
		"too long a refusal":  {answers{status: 403, body: long(maxRefusal + 1)}, "", "answers with more than 16 KiB"},
		"the longest refusal": {answers{status: 403, body: long(maxRefusal)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, body, err := c.call(t)
			expect.Says(t, "answer", err, c.why)
			expect.Same(t, "body", c.body, body)
			if err == nil {
				expect.Same(t, "status", c.status, status)
			}
			expect.Same(t, "bodies closed", 1, c.closed)
		})
	}
}

// long is JSON with so many bytes.
func long(bytes int) string { return `"` + strings.Repeat("x", bytes-2) + `"` }

// TestObjectOfAGuest: what a guest has made too large ends the call for it, and no other call waits for that. All else that goes
// wrong with such a call is as with any other.
func TestObjectOfAGuest(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	for name, c := range map[string]struct {
		answers
		others bool // may go on
	}{
		"too long":   {answers{status: 200, body: long(maxObject + 1)}, true},
		"too deep":   {answers{status: 200, body: deep}, true},
		"good":       {answers{status: 200, body: "{}"}, true},
		"no answer":  {answers{status: 502, body: "<html>"}, false},
		"cut off":    {answers{status: 200, body: "{}", cut: true}, false},
		"a redirect": {answers{status: 302, body: "{}"}, false},
	} {
		for _, ctx := range []context.Context{t.Context(), OfGuest(t.Context())} {
			guard := guarded{next: &c.answers, line: newLine(), namespace: newGate(), clock: &clock{}}
			request := expect.Got(http.NewRequestWithContext(ctx, http.MethodGet, "https://a", http.NoBody))(t)
			response, err := guard.RoundTrip(request)
			if err == nil {
				expect.OK(t, response.Body.Close())
			}
			expect.Same(t, name+": an error", name != "good", OutOfReach(err))
			wanted := name == "good" || c.others && ctx != t.Context()
			expect.Same(t, name+": others may go on", wanted, guard.line.open() == nil)
			expect.Same(t, name+": no call is under way", true, idle(guard.line))
		}
	}
}

// idle says that no call is under way: after a retry one call passes, and only if none is.
func idle(l *line) bool {
	l.retry()
	wait, err := l.tryEnter(true)
	return wait == nil && err == nil
}

// A call that is not made closes its body, as one that is made does.
func TestCallThatIsNotMade(t *testing.T) {
	var a answers
	failed, full := newLine(), newGate()
	pass(t, failed, errAway)
	for range 2 * mostOfNamespace {
		select {
		case full.passing <- struct{}{}:
		default:
			full.waiting <- struct{}{}
		}
	}
	free := newLine()
	for _, g := range []guarded{{line: failed, namespace: newGate()}, {line: free, namespace: full}} {
		request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://a", a.open("x")))(t)
		response, err := g.RoundTrip(request)
		expect.Same(t, "out of reach", true, OutOfReach(err))
		if err == nil {
			expect.OK(t, response.Body.Close())
		}
	}
	expect.Same(t, "bodies closed", 2, a.closed)
	expect.Same(t, "no call is under way", true, idle(free))
}

// A call that has ended makes room for the next one of its namespace.
func TestCallsOneAfterTheOther(t *testing.T) {
	g := guarded{next: &answers{status: 200, body: "{}"}, line: newLine(), namespace: newGate(), clock: &clock{}}
	for range mostOfNamespace + 1 {
		request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a", http.NoBody))(t)
		response, err := g.RoundTrip(request)
		expect.OK(t, err)
		expect.OK(t, response.Body.Close())
	}
	expect.Same(t, "calls under way", 0, len(g.namespace.passing))
}

// hangs never answers.
type hangs struct{}

// RoundTrip implements http.RoundTripper.
func (hangs) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// A cluster that takes calls and does not answer is out of reach, and is not asked again at once. client-go and http.Client have
// limits of their own, whose errors do not say so.
func TestHangs(t *testing.T) {
	for range 20 { // what is wrong here is wrong in some runs alone
		synctest.Test(t, func(t *testing.T) {
			known := &cluster{line: newLine(), namespace: newGate()}
			web, _ := (&Clusters{}).httpClient(access{}, known)
			guard, _ := web.Transport.(guarded)
			guard.next = hangs{}
			web.Transport = guard
			api, _, err := newClients("https://a", web, 1, 1)
			expect.OK(t, err)
			began := time.Now()
			err = api.Get(t.Context(), client.ObjectKey{Name: "n"}, &corev1.Node{})
			expect.Says(t, "the answer", err, "the API server cannot be reached")
			expect.Same(t, "it is out of reach", true, OutOfReach(err))
			expect.Same(t, "time", callTime, time.Since(began))
			expect.Says(t, "the next call", known.line.open(), cannotReach)
		})
	}
}

// Connections are few, and those that are idle do not stay.
func TestTransport(t *testing.T) {
	wire := transport(access{})
	expect.Same(t, "connections", []int{mostCalls, 2}, []int{wire.MaxConnsPerHost, wire.MaxIdleConnsPerHost})
	expect.Same(t, "time of an idle one", time.Minute, wire.IdleConnTimeout)
	expect.Same(t, "packed answers, HTTP/2", []bool{false, false}, []bool{!wire.DisableCompression, wire.ForceAttemptHTTP2})
	expect.Same(t, "time to make one", 3*time.Second, wire.TLSHandshakeTimeout)
	expect.Same(t, "bytes of headers", int64(64<<10), wire.MaxResponseHeaderBytes)
}
