package azure

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	armruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/metrics"
)

// The api-versions of our calls. A cloud may have another one for compute.
const (
	computeVersion      = tagged
	diskVersion         = "2024-03-02"
	networkVersion      = "2024-05-01"
	skuVersion          = "2021-07-01"
	subscriptionVersion = "2022-12-01"
)

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 16 << 20 // a page of a list is far below
	// silences in a row mean that Azure does not answer, so that nothing but a try now and then is worth its time.
	silences = 3
	brokenAt = 15 * time.Second
	deniedAt = 30 * time.Second
	// atOnce calls of an account may be under way, so that one that hangs leaves workers to others.
	atOnce = 32
)

// calls are how we talk to Azure Resource Manager: each call waits for its turn at the limiter, is made once, and its answer is
// judged. Nothing here retries.
type calls struct {
	who      principal
	endpoint string
	pipe     runtime.Pipeline
	limit    *limiter.Limiter
	now      func() time.Time
	timeout  time.Duration // of a call

	mu     sync.Mutex
	heard  time.Time // zero before an answer that accepted the credentials
	silent int
	broken *cloud.Error
	until  time.Time // when the next try is due, while it is broken
	closed bool
	under  sync.WaitGroup
	count  int            // of calls under way
	begun  map[string]any // lists whose next page has to wait, by what was asked for; each is a *begun
}

func newCalls(who principal, now func() time.Time) (*calls, error) {
	options := &arm.ClientOptions{DisableRPRegistration: true, ClientOptions: policy.ClientOptions{
		Cloud: who.cloud, Transport: who.transport, Retry: policy.RetryOptions{MaxRetries: -1},
	}}
	pipe, err := armruntime.NewPipeline("capwin", "v1", who.credential, runtime.PipelineOptions{}, options)
	if err != nil {
		return nil, err
	}
	endpoint := strings.TrimSuffix(who.cloud.Services[azcloud.ResourceManager].Endpoint, "/")
	return &calls{who: who, endpoint: endpoint, pipe: pipe, limit: &limiter.Limiter{Now: now}, now: now, timeout: callTimeout}, nil
}

// call is one request.
type call struct {
	method, path, version string
	query                 url.Values
	body                  func(context.Context) (any, error) // asked once it is our turn
	create                bool                               // only if there is nothing of the name
	byID                  bool                               // a look at one resource, or its deletion
	class                 limiter.Class
	subscription, asker   string
}

// answer is what came back: a status and a body, or a verdict on why there is none.
type answer struct {
	status  int
	body    []byte
	verdict *fault.Verdict
	// lost says that the request may have been carried out.
	lost bool
	// unsent is why there was no body to send, as it is.
	unsent error
	// began is when the first page of a list was asked for.
	began time.Time
}

func (a answer) err() error {
	if a.verdict == nil {
		return a.unsent
	}
	return a.verdict.Error
}

func (a answer) effect() fault.Effect {
	if a.verdict == nil {
		return fault.None
	}
	return a.verdict.Effect
}

func failed(err *cloud.Error) answer { return answer{verdict: &fault.Verdict{Error: err}} }

// send makes a call, or says why it was not made or did not succeed.
func (c *calls) send(ctx context.Context, q call) (a answer) {
	if err := c.open(); err != nil {
		return failed(err)
	}
	defer c.done()
	scope := limiter.Scope{Principal: c.who.name, Subscription: q.subscription}
	if wait := c.limit.Ask(scope, q.class, q.asker+"|"+q.path); wait > 0 {
		return failed(&cloud.Error{Kind: cloud.Later, Message: "waiting for this account's turn at Azure", After: wait})
	}
	said := limiter.Said{}
	defer func() { c.limit.Done(scope, q.class, said) }()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var content any
	if q.body != nil {
		var err error
		if content, err = q.body(ctx); err != nil {
			return answer{unsent: err}
		}
	}
	began := time.Now()
	got, err := c.exchange(ctx, q, content)
	defer func() { metrics.Call("azure", methodOf(q.class, err), outcome(ctx, a), time.Since(began)) }()
	if err != nil {
		return c.unanswered(err)
	}
	if got.status < http.StatusMultipleChoices {
		c.accepted()
		said = limiter.Listen(got.header.Get, 0)
		return answer{status: got.status, body: got.body}
	}
	told := fault.Read(got.status, got.header, got.body)
	told.ByID = q.byID
	verdict := fault.Judge(told)
	silence := time.Duration(0)
	if verdict.Effect == fault.Silences {
		silence = verdict.Error.After
	}
	said = limiter.Listen(got.header.Get, silence)
	c.answered()
	return answer{status: got.status, verdict: &verdict, lost: got.status >= http.StatusInternalServerError}
}

// received is an answer as it came.
type received struct {
	status int
	header http.Header
	body   []byte
}

func (c *calls) exchange(ctx context.Context, q call, content any) (got received, err error) {
	request, err := runtime.NewRequest(ctx, q.method, c.address(q))
	if err != nil {
		return got, err
	}
	request.Raw().Header.Set("Accept", "application/json")
	if q.create {
		request.Raw().Header.Set("If-None-Match", "*")
	}
	if content != nil {
		if err := runtime.MarshalAsJSON(request, content); err != nil {
			return got, err
		}
	}
	runtime.SkipBodyDownload(request)
	response, err := c.pipe.Do(request)
	if err != nil {
		return got, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errors.New("the answer is larger than any of Azure's")
	}
	return received{response.StatusCode, response.Header, body}, err
}

func (c *calls) address(q call) string {
	query := url.Values{"api-version": {q.version}}
	maps.Copy(query, q.query)
	return c.endpoint + q.path + "?" + query.Encode()
}

// unanswered is a call whose token was refused, or whose answer did not come.
func (c *calls) unanswered(err error) answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if refused, ok := errors.AsType[*cloud.Error](err); ok {
		switch refused.Kind {
		case cloud.Denied:
			c.rest(refused, deniedAt)
		case cloud.Throttled:
			c.rest(refused, max(refused.After, brokenAt))
		default:
			c.silence(refused)
		}
		return failed(refused)
	}
	at := cloud.Clean(c.endpoint, 256)
	silent := cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
		"Azure does not answer at %s: check the network, proxy and firewall of the management cluster", at)
	if errors.Is(err, errEndless) {
		silent.Message = "what answers at " + at + " is not Azure: its lists do not end; " +
			"check the endpoint and the proxy of the management cluster"
	}
	silent.Err = err
	c.silence(silent)
	return answer{verdict: &fault.Verdict{Error: silent}, lost: true}
}

// silence counts a call without an answer, be it Azure's or that of who gives the tokens.
func (c *calls) silence(err *cloud.Error) {
	if c.silent++; c.silent >= silences {
		c.rest(err, brokenAt)
	}
}

func (c *calls) rest(because *cloud.Error, so time.Duration) {
	c.broken, c.until = because, c.now().Add(so)
}

// open says why no call may be made now. Without an error a call has begun. While Azure has not answered yet, or not lately, one
// call tries for all machines.
func (c *calls) open() *cloud.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := atOnce
	if c.heard.IsZero() || c.silent > 0 {
		most = 1
	}
	switch {
	case c.closed:
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the account is closed")
	case c.broken != nil && (c.now().Before(c.until) || c.count >= most):
		return c.broken
	case c.count >= most:
		return &cloud.Error{Kind: cloud.Later, Message: "waiting for the other calls of this account", After: time.Second}
	}
	c.count++
	c.under.Add(1)
	return nil
}

func (c *calls) done() {
	c.mu.Lock()
	c.count--
	c.mu.Unlock()
	c.under.Done()
}

// answered notes that Azure answers, and accepted that it let us in.
func (c *calls) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent, c.broken = 0, nil
}

func (c *calls) accepted() {
	c.answered()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = c.now()
}

func (c *calls) health() cloud.Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := cloud.Health{Server: c.endpoint, Heard: c.heard, Broken: c.broken != nil}
	if c.broken != nil {
		h.Cause = c.broken
	}
	if !c.closed && !c.heard.IsZero() {
		h.Sessions = 1
	}
	return h
}

// close ends all connections, for good.
func (c *calls) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.under.Wait()
	if idle, ok := c.who.transport.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// noToken is the method of a call that was not sent, because there was no token for it.
const noToken = "Login"

// methodOf is the label of a call: the class in which Azure counts it, too.
func methodOf(class limiter.Class, err error) string {
	if _, refused := errors.AsType[*cloud.Error](err); refused {
		return noToken
	}
	return string(class)
}

// outcome is how a call ended: well, as a kind of error, or because we needed it no longer. That something is gone is what many
// calls ask for.
func outcome(ctx context.Context, a answer) string {
	switch {
	case a.verdict == nil, a.effect() == fault.Gone:
		return metrics.OK
	case errors.Is(ctx.Err(), context.Canceled):
		return metrics.Canceled
	}
	return strings.ToLower(string(a.verdict.Error.Kind))
}
