package vsphere

import (
	"context"
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

// How long to wait for an answer, and before the next login when one has failed.
const (
	callTimeout  = 30 * time.Second
	loginTimeout = 15 * time.Second

	// The vCenter locks a user out after five refusals within three minutes, so we wait longer before we try a refused
	// password again. A new password in the Secret makes a new connection.
	afterRefusal = 5 * time.Minute

	// After a failure we wait, so that a vCenter that does not answer cannot hold all workers in its login, one by one.
	afterFailure    = time.Second
	maxAfterFailure = 30 * time.Second

	// HTTP connections that stay open for the next call.
	idleConnections = 16
)

var errClosed = cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the vCenter account is no longer in use")

// connection is the session of an account. It logs in when it is first used, and again when the vCenter has ended the session.
type connection struct {
	to     endpoint
	now    func() time.Time
	logins singleflight.Group

	mu       sync.Mutex
	client   *vim25.Client // nil until logged in
	err      error         // of the last login, if it failed
	failures int
	retry    time.Time // when the next login may be tried
	closed   bool
	trying   sync.WaitGroup
}

// do makes a call, after a login if there is no session, and classifies its error.
func (c *connection) do(ctx context.Context, call func(context.Context, *vim25.Client) error) error {
	for again := false; ; again = true {
		client, err := c.login(ctx)
		if err != nil {
			return err
		}
		timed, cancel := context.WithTimeout(ctx, callTimeout)
		err = call(timed, client)
		cancel()
		if again || !is[*types.NotAuthenticated](err) {
			return classify(err)
		}
		c.forget(client)
	}
}

// login returns the client of the session. All callers wait for the same login, each as long as its context lasts.
func (c *connection) login(ctx context.Context) (*vim25.Client, error) {
	client, err := c.current()
	if client != nil || err != nil {
		return client, err
	}
	done := c.logins.DoChan("", func() (any, error) {
		if client, err := c.current(); client != nil || err != nil {
			return client, err
		}
		return c.try(context.WithoutCancel(ctx))
	})
	select {
	case <-ctx.Done():
		return nil, classify(ctx.Err())
	case r := <-done:
		client, _ := r.Val.(*vim25.Client)
		return client, r.Err
	}
}

// current returns the client, or the reason why we must not log in now, or neither.
func (c *connection) current() (*vim25.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, errClosed
	case c.client != nil:
		return c.client, nil
	case c.err != nil && c.now().Before(c.retry):
		return nil, c.err
	}
	return nil, nil
}

func (c *connection) try(ctx context.Context) (*vim25.Client, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errClosed
	}
	c.trying.Add(1)
	c.mu.Unlock()
	defer c.trying.Done()

	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	client, err := c.to.login(ctx)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.client, c.err = client, classify(err)
	if err == nil {
		c.failures = 0
		return client, nil
	}
	c.retry = c.now().Add(c.pause(err))
	c.failures++
	return nil, c.err
}

func (c *connection) pause(err error) time.Duration {
	if answered(err) {
		return afterRefusal
	}
	return min(afterFailure<<min(c.failures, 10), maxAfterFailure)
}

// forget drops a client whose session has ended, unless there is already a new client.
func (c *connection) forget(client *vim25.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == client {
		c.client = nil
		client.CloseIdleConnections()
	}
}

// close ends the session for good: a late call must not log in again and leave a session behind. If the vCenter does not
// answer, the session ends by itself after half an hour.
func (c *connection) close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.trying.Wait()
	c.mu.Lock()
	client := c.client
	c.client = nil
	c.mu.Unlock()
	if client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	defer client.CloseIdleConnections()
	return classify(session.NewManager(client).Logout(ctx))
}

// login opens a session. It sends the password only to the server that the endpoint trusts.
func (e endpoint) login(ctx context.Context) (*vim25.Client, error) {
	transport := soap.NewClient(&url.URL{Scheme: "https", Host: e.server, Path: vim25.Path}, false)
	http1 := transport.DefaultTransport()
	http1.TLSClientConfig = e.tls.Clone()
	// govmomi's own dialer ignores the context, accepts SHA-1 thumbprints, and is not used behind a proxy.
	http1.DialTLSContext = nil
	http1.DialContext = (&net.Dialer{Timeout: loginTimeout, KeepAlive: callTimeout}).DialContext
	http1.MaxIdleConnsPerHost = idleConnections
	// A redirect would take the password to another server.
	transport.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	transport.UserAgent = "capwin"

	client, err := vim25.NewClient(ctx, transport)
	if err != nil {
		transport.CloseIdleConnections()
		return nil, err
	}
	_, err = methods.Login(ctx, client, &types.Login{
		This: *client.ServiceContent.SessionManager, UserName: e.username, Password: e.password(), Locale: session.Locale,
	})
	if err != nil {
		transport.CloseIdleConnections()
		return nil, err
	}
	return client, nil
}
