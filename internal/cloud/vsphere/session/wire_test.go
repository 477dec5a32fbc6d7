package session

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

const noSuchServer = "00000000-0000-0000-0000-000000000000"

// wire is the way of a login to the server, which counts the connections that are open.
type wire struct {
	*http.Transport
	open atomic.Int32
	may  time.Duration // that the last request may take
}

type timed struct {
	http.RoundTripper
	by *wire
}

// RoundTrip is part of http.RoundTripper.
func (d timed) RoundTrip(r *http.Request) (*http.Response, error) {
	at, _ := r.Context().Deadline()
	d.by.may = time.Until(at)
	return d.RoundTripper.RoundTrip(r)
}

type connection struct {
	net.Conn
	over func()
}

func (c connection) Close() error {
	c.over()
	return c.Conn.Close()
}

func (w *wire) observe(way http.RoundTripper) http.RoundTripper {
	within, _ := way.(bounded)
	w.Transport, _ = within.RoundTripper.(*http.Transport)
	dial := w.DialContext
	w.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w.open.Add(1)
		return connection{conn, sync.OnceFunc(func() { w.open.Add(-1) })}, nil
	}
	return timed{way, w}
}

// enterAt opens a session at an endpoint, as enter does.
func enterAt(
	t *testing.T, to endpoint, server string, observe func(http.RoundTripper) http.RoundTripper,
) (*vim25.Client, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), loginTimeout)
	defer cancel()
	client, err := to.reach(ctx, server, observe)
	if err == nil {
		_, err = to.login(ctx, client)
	}
	if err != nil {
		return nil, err
	}
	return client, nil
}

// TestLoginLeavesNothing: a login that fails leaves no connection to a server that is of no use, and each has the same limits.
func TestLoginLeavesNothing(t *testing.T) {
	v := vcenter.New(t)
	search := regexp.MustCompile(`<searchIndex.*?</searchIndex>`)
	host := v.Open(func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		_, _ = io.WriteString(w, search.ReplaceAllString(answer.Body.String(), ""))
	})
	t.Cleanup(host.Close)
	hollow := v.Open(func(_ string, _ http.Handler, w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body/></s:Envelope>`)
	})
	t.Cleanup(hollow.Close)
	for name, c := range map[string]struct {
		credentials map[string][]byte
		server      string
		fails       func(error) bool
		most        time.Duration
	}{
		"it lets us in":    {v.Credentials(), "", func(err error) bool { return err == nil }, 15 * time.Second},
		"a wrong password": {with(v.Credentials(), "password", "wrong"), "", Is[types.BaseInvalidLogin], 15 * time.Second},
		"another server":   {v.Credentials(), noSuchServer, matches(cloud.ErrOtherServer), 5 * time.Second},
		"half a vCenter":   {host.Credentials(), "", matches(ErrForeign), 5 * time.Second},
		"a hollow answer":  {hollow.Credentials(), "", matches(ErrForeign), 5 * time.Second},
	} {
		to, w := expect.Got(parseEndpoint(c.credentials))(t), &wire{}
		client, err := enterAt(t, to, c.server, w.observe)
		expect.Same(t, name+": as it should", true, c.fails(err))
		expect.Same(t, name+": a client, which says who we are", err == nil, client != nil && client.UserAgent == "capwin")
		expect.Same(t, name+": open connections", err == nil, w.open.Load() == 1)
		expect.Same(t, name+": in time", true, w.may > c.most/2 && w.may <= c.most)
		w.CloseIdleConnections()
		expect.Same(t, name+": open connections after it", int32(0), w.open.Load())
		expect.Same(t, name+": limits", []int64{4, 4, 240, 64 << 10}, []int64{
			int64(w.MaxConnsPerHost), int64(w.MaxIdleConnsPerHost), int64(w.IdleConnTimeout.Seconds()), w.MaxResponseHeaderBytes,
		})
		expect.Same(t, name+": it dials by itself", true, w.DialTLSContext == nil)
	}
}

// TestEndLeavesNothing: a session that ends leaves no connection, whoever ends it. Otherwise a vCenter would count more of them
// than a session may have, and a manager keep one for each Secret it ever had.
func TestEndLeavesNothing(t *testing.T) {
	v := vcenter.New(t)
	for name, end := range map[string]func(*Session){
		"we end it": func(s *Session) { expect.OK(t, s.Close(t.Context())) },
		"the vCenter ends it": func(s *Session) {
			v.Owner(t).EndSessions()
			expect.OK(t, askOnce(t, s))
		},
	} {
		s, w := open(t, v.Credentials()), &wire{}
		s.client = expect.Got(enterAt(t, s.endpoint, "", w.observe))(t)
		expect.OK(t, askOnce(t, s))
		expect.Same(t, name+": open connections", int32(1), w.open.Load())
		end(s)
		expect.Same(t, name+": open connections after it", int32(0), w.open.Load())
	}
}

// inProcess is a vCenter that notes how long its last call may take.
type inProcess struct {
	fails error
	may   time.Duration
}

// RoundTrip is part of soap.RoundTripper.
func (p *inProcess) RoundTrip(ctx context.Context, _, answer soap.HasFault) error {
	at, _ := ctx.Deadline()
	p.may = time.Until(at).Round(time.Second)
	if now, ok := answer.(*methods.CurrentTimeBody); ok {
		now.Res = &types.CurrentTimeResponse{}
	}
	return p.fails
}

// loggedIn is a session at it.
func (p *inProcess) loggedIn() *Session {
	s := at("vc.example.com")
	s.now, s.breaker.state, s.client, s.placed = time.Now, newBreaker(), p.client(), make(chan struct{}, InFlight)
	return s
}

func (p *inProcess) client() *vim25.Client {
	return &vim25.Client{
		Client: soap.NewClient(&url.URL{}, true), RoundTripper: p,
		ServiceContent: types.ServiceContent{SessionManager: &types.ManagedObjectReference{}},
	}
}

// TestTimes: how long a probe, a call and the last one may take.
func TestTimes(t *testing.T) {
	p := &inProcess{}
	s := p.loggedIn()
	s.Check(t.Context())
	expect.Same(t, "a probe", 5*time.Second, p.may)
	expect.OK(t, askOnce(t, s))
	expect.Same(t, "a call", 30*time.Second, p.may)
	expect.OK(t, s.Close(t.Context()))
	expect.Same(t, "a logout", 15*time.Second, p.may)
	expect.Same(t, "who finds no place looks again", time.Second, errBusy.After)
	expect.Same(t, "sessions after it", 0, s.Health().Sessions)
	p.may = 0
	expect.OK(t, s.Close(t.Context()))
	expect.Same(t, "a second logout", time.Duration(0), p.may)
	silent := (&inProcess{fails: io.ErrUnexpectedEOF}).loggedIn()
	expect.Says(t, "a logout without an answer", silent.Close(t.Context()), "does not answer")
}

// last is the way of a request that ends there, and notes how long it may take.
type last struct{ may time.Duration }

// RoundTrip is part of http.RoundTripper.
func (l *last) RoundTrip(r *http.Request) (*http.Response, error) {
	at, _ := r.Context().Deadline()
	l.may = time.Until(at).Round(time.Second)
	return nil, io.ErrUnexpectedEOF
}

// TestTimeOfFirstCall: a server has as long as for a probe to say what it is.
func TestTimeOfFirstCall(t *testing.T) {
	to := expect.Got(parseEndpoint(vcenter.New(t).Credentials()))(t)
	var l last
	client, err := enterAt(t, to, "", func(http.RoundTripper) http.RoundTripper { return &l })
	expect.Same(t, "a client", true, client == nil && err != nil)
	expect.Same(t, "time", 5*time.Second, l.may)
}

// body is that of an answer with a status.
type body struct {
	io.Reader
	status int
	read   int
	closed bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += n
	return n, err
}

func (b *body) Close() error {
	b.closed = true
	return nil
}

// RoundTrip is part of http.RoundTripper.
func (b *body) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: b.status, Body: b}, nil
}

// TestBodies: an answer is read to its end and closed at once. Of one that is not a vCenter's a little is read, and nothing kept.
func TestBodies(t *testing.T) {
	text := strings.Repeat("x", 2*maxHeader)
	request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://vcenter", http.NoBody))(t)
	for status, want := range map[int][]int{
		http.StatusOK: {len(text), len(text)}, http.StatusServiceUnavailable: {maxHeader, 0},
	} {
		from := &body{Reader: strings.NewReader(text), status: status}
		answer, err := bounded{RoundTripper: from}.RoundTrip(request)
		expect.OK(t, err)
		kept := expect.Got(io.ReadAll(answer.Body))(t)
		expect.OK(t, answer.Body.Close())
		expect.Same(t, http.StatusText(status)+": bytes read, bytes kept", want, []int{from.read, len(kept)})
		expect.Same(t, http.StatusText(status)+": closed", true, from.closed)
	}
}

// TestTooLargeOnTheWire: what is too large is no answer.
func TestTooLargeOnTheWire(t *testing.T) {
	request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://vcenter", http.NoBody))(t)
	answer, err := bounded{RoundTripper: answers(strings.Repeat("<x>", maxDepth+1))}.RoundTrip(request)
	if answer != nil {
		expect.OK(t, answer.Body.Close())
	}
	expect.Same(t, "too large", true, answer == nil && matches(ErrTooLarge)(err))
}

// endless is a vCenter whose list has no end.
type endless struct{ calls []string }

// RoundTrip is part of soap.RoundTripper.
func (e *endless) RoundTrip(_ context.Context, request, answer soap.HasFault) error {
	e.calls = append(e.calls, methodOf(request))
	page := types.RetrieveResult{Token: "more", Objects: make([]types.ObjectContent, maxObjects/2)}
	switch a := answer.(type) {
	case *methods.RetrievePropertiesExBody:
		a.Res = &types.RetrievePropertiesExResponse{Returnval: &page}
	case *methods.ContinueRetrievePropertiesExBody:
		a.Res = &types.ContinueRetrievePropertiesExResponse{Returnval: page}
	}
	return nil
}

// TestListWithoutEnd: all pages of a list count, and what is left of it is given back.
func TestListWithoutEnd(t *testing.T) {
	var e endless
	_, err := Read(t.Context(), &vim25.Client{RoundTripper: &e}, Source{}, "VirtualMachine", "name")
	expect.Same(t, "too large", true, matches(ErrTooLarge)(err))
	const more = "ContinueRetrievePropertiesEx"
	expect.Same(t, "calls", []string{"RetrievePropertiesEx", more, more, "CancelRetrievePropertiesEx"}, e.calls)
}
