// Package session is the one session of an account at a vCenter. A caller may rely on this, and need not read how:
//
//   - Open reads the Secret with the credentials. The password goes only to the server that the Secret trusts.
//   - Do makes a call with a client that is logged in. Callers share one login; it is made when the first call needs it, and
//     again when the vCenter has ended the session. After a refused password or a missing right, calls fail at once until the
//     next login is due, so that wrong credentials never lock the user out.
//   - While the vCenter does not answer, the account is Broken: calls fail at once, with the same error, and one probe every
//     few seconds finds out when it is back; see breaker.go. InFlight callers are served at a time, and a caller without a place
//     gets the error Later at once; see limit.go. Both errors come before anything is sent, as Asked reports.
//   - A call ends after CallTimeout. The errors of Do state what people can do: each is a *cloud.Error, made by Classify, and
//     keeps the fault of the vCenter, which Is finds. Answered separates a refusal from a lost answer.
//   - Explain makes such an error fit for people: it names the vCenter and cites it, in words that stay the same from try to try.
//   - Read returns properties, or an error if the account may not see one of them; it never leaves such a property out.
//   - The server is not trusted beyond its certificate. An answer has at most 16 MiB unpacked, 4 MiB to keep, 128 KiB in one
//     text, the rest of which is cut off, 50,000 parts and a depth of 100; see answers.go. One that has more, or that no vCenter
//     gives, or that makes its reader panic, is a Transient error of this account: ErrTooLarge or ErrForeign is its cause.
//   - Answers, and what a call reads of them, take from the share of the account's namespace; ErrNoRoom is ErrTooLarge, too.
//   - A session is at one vCenter, by its instance UUID: if the address leads to another one later, it gets no call, and
//     cloud.ErrOtherServer is the cause of the error.
//   - After Close no call logs in again. Close does not wait for a vCenter that has not been sent the password yet.
package session

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/singleflight"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// CallTimeout is how long a call may take.
const CallTimeout = 30 * time.Second

// How long to wait for a login, and before the next one when it has failed.
const (
	loginTimeout = 15 * time.Second

	// The vCenter locks a user out after five refusals within three minutes, so we wait longer before we try a refused
	// password again. A new password in the Secret makes a new connection.
	afterRefusal = 5 * time.Minute

	// idle connections are kept for longer than the watch waits. One that the vCenter closes while it is used costs an answer.
	keepIdle = 4 * time.Minute
)

var errClosed = cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the vCenter account is no longer in use")

// Session logs in when it is first used, and again when the vCenter has ended the session.
type Session struct {
	// Freed is called when a caller has given back its place; nil if nothing waits for one. Set it before use.
	Freed func()

	endpoint   endpoint
	now        func() time.Time
	logins     singleflight.Group
	breaker    circuit
	placed     chan struct{} // has one of each caller with a place
	lastErrors lastErrors

	mu     sync.Mutex
	client *vim25.Client // nil until logged in
	server string        // its instance UUID, once logged in
	user   string        // as the vCenter calls it, once logged in
	err    error         // of the last login, if it was refused
	retry  time.Time     // when the next login may be tried
	closed bool
	trying sync.WaitGroup
	unsent context.CancelFunc // ends a login whose password is not sent yet; nil before the first one
}

// Open checks the form of the credentials. It asks the vCenter nothing: the first call logs in.
func Open(credentials map[string][]byte) (*Session, error) {
	target, err := parseEndpoint(credentials)
	if err != nil {
		return nil, err
	}
	return &Session{
		endpoint: target, now: time.Now, breaker: circuit{state: newBreaker()}, placed: make(chan struct{}, InFlight),
	}, nil
}

// Do makes a call, after a login if there is no session, and returns its answer. It may make the call twice: if the vCenter has
// ended the session, Do logs in again first.
func Do[T any](ctx context.Context, s *Session, call func(context.Context, *vim25.Client) (T, error)) (answer T, err error) {
	if ctx.Value(visitKey{}) == nil {
		var leave func()
		ctx, leave = s.Visit(ctx)
		defer leave()
	}
	if err := s.Enter(ctx); err != nil {
		return answer, s.withServer(err)
	}
	for retried := false; ; retried = true {
		client, err := s.login(ctx)
		if err != nil {
			return answer, s.withServer(err)
		}
		answer, err = attempt(ctx, s, client, call)
		if err == nil {
			return answer, nil
		}
		if retried || !Is[*types.NotAuthenticated](err) {
			return answer, s.withServer(Classify(err))
		}
		s.forget(client)
	}
}

func attempt[T any](
	ctx context.Context, s *Session, c *vim25.Client, call func(context.Context, *vim25.Client) (T, error),
) (answer T, err error) {
	defer Recover(&err)
	room := s.Loan()
	defer room.End()
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, loanKey{}, room), CallTimeout)
	defer cancel()
	return call(ctx, c)
}

// login returns the client of the session. All callers wait for the same login, each as long as its context lasts.
func (s *Session) login(ctx context.Context) (*vim25.Client, error) {
	s.mu.Lock()
	client, err := s.current()
	s.mu.Unlock()
	if client != nil || err != nil {
		return client, err
	}
	result := s.logins.DoChan("", func() (any, error) {
		return s.try(context.WithoutCancel(ctx))
	})
	select {
	case <-ctx.Done():
		return nil, Classify(ctx.Err())
	case r := <-result:
		client, _ := r.Val.(*vim25.Client)
		return client, r.Err
	}
}

// current returns the client, or the reason why we must not log in now, or neither; s.mu is held.
func (s *Session) current() (*vim25.Client, error) {
	switch {
	case s.closed:
		return nil, errClosed
	case s.client != nil:
		return s.client, nil
	case s.err != nil && s.now().Before(s.retry):
		return nil, s.err
	}
	return nil, nil
}

// try logs in, unless another caller has done so by now, at the server of the login before, or at any if this is the first.
// Close ends it as long as the password is not sent. From then on the answer is awaited: it may be a session, which only its
// client can end.
func (s *Session) try(ctx context.Context) (*vim25.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	unsent, end := context.WithCancel(ctx)
	defer end()
	s.mu.Lock()
	if client, err := s.current(); client != nil || err != nil {
		s.mu.Unlock()
		return client, err
	}
	server := s.server
	s.unsent = end
	s.trying.Add(1)
	s.mu.Unlock()
	defer s.trying.Done()

	observe := func(t http.RoundTripper) http.RoundTripper { return observed{t, &s.breaker, s.now} }
	client, err := s.endpoint.reach(unsent, server, observe)
	if err == nil && unsent.Err() != nil {
		client.CloseIdleConnections()
		err = errClosed
	}
	user := ""
	if err == nil {
		user, err = s.endpoint.login(ctx, client)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err = nil; err != nil {
		return nil, s.failed(err)
	}
	s.client, s.server, s.user = client, client.ServiceContent.About.InstanceUuid, user
	s.breaker.restore()
	return client, nil
}

// failed notes why a login failed, and returns the error until the next one; s.mu is held.
func (s *Session) failed(err error) error {
	pause := lookAgain
	switch {
	case refused(err):
		pause = afterRefusal
	case !errors.Is(err, cloud.ErrOtherServer):
		s.breaker.trip(s.now(), err)
		return s.breaker.refusal()
	}
	s.breaker.restore()
	s.err, s.retry = notBefore(pause, errUnasked, err), s.now().Add(pause)
	return s.err
}

// Health returns the state of the session.
func (s *Session) Health() cloud.Health {
	h := cloud.Health{Server: s.endpoint.server}
	s.mu.Lock()
	if s.client != nil {
		h.Sessions = 1
	}
	h.Cause = s.err
	s.mu.Unlock()
	s.breaker.mu.Lock()
	defer s.breaker.mu.Unlock()
	if h.Heard = s.breaker.heard; s.breaker.state.Cause() != nil {
		h.Cause = quoted{s.breaker.state.Cause()}
	}
	h.Broken = h.Cause != nil
	return h
}

// forget drops a client whose session has ended, unless there is already a new client.
func (s *Session) forget(client *vim25.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == client {
		s.client = nil
		client.CloseIdleConnections()
	}
}

// Close ends the session for good: a late call must not log in again and leave a session behind. If the vCenter does not
// answer, the session ends by itself after half an hour.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed = true; s.unsent != nil {
		s.unsent()
	}
	s.mu.Unlock()
	s.trying.Wait()
	s.mu.Lock()
	client := s.client
	s.client = nil
	s.mu.Unlock()
	if client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	defer client.CloseIdleConnections()
	return Classify(session.NewManager(client).Logout(ctx))
}

// reach returns a client of a server, or of any if it is empty, without a session: nothing secret is sent, and only to the server
// that the endpoint trusts.
func (e endpoint) reach(
	ctx context.Context, server string, observe func(http.RoundTripper) http.RoundTripper,
) (*vim25.Client, error) {
	transport := soap.NewClient(&url.URL{Scheme: "https", Host: e.server, Path: vim25.Path}, false)
	http1 := transport.DefaultTransport()
	http1.TLSClientConfig = e.tls.Clone()
	// govmomi's own dialer ignores the context, accepts SHA-1 thumbprints, and is not used behind a proxy.
	http1.DialTLSContext = nil
	http1.DialContext = (&net.Dialer{Timeout: loginTimeout, KeepAlive: CallTimeout}).DialContext
	http1.MaxConnsPerHost, http1.MaxIdleConnsPerHost, http1.IdleConnTimeout = connections, connections, keepIdle
	http1.MaxResponseHeaderBytes = maxHeader
	transport.Transport, transport.Jar = observe(bounded{http1, e.share}), &cookie{}
	// A redirect would take the password to another server.
	transport.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	transport.UserAgent = "capwin"

	transport.Namespace, transport.Version = "urn:"+vim25.Namespace, vim25.Version

	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client, err := vim25.NewClient(ctx, counted{careful{transport}})
	if err == nil {
		client.Client = transport
		err = complete(client.ServiceContent)
	}
	if err == nil && server != "" && server != client.ServiceContent.About.InstanceUuid {
		err = errOtherServer
	}
	if err != nil {
		transport.CloseIdleConnections()
		return nil, err
	}
	return client, nil
}

// login opens a session at a server that was reached, and returns its name for the user. Its
// connections are closed if it does not let us in.
func (e endpoint) login(ctx context.Context, client *vim25.Client) (user string, err error) {
	answer, err := methods.Login(ctx, client, &types.Login{
		This: *client.ServiceContent.SessionManager, UserName: e.username, Password: e.password(), Locale: session.Locale,
	})
	if err != nil {
		client.CloseIdleConnections()
		return "", err
	}
	return answer.Returnval.UserName, nil
}
