// Package calls makes the calls of an account to Azure Resource Manager: one request each, in its turn, and judges the answers.
// requests.go has what we ask for, wire.go what we read of it, and pages.go reads lists to their end.
//
// A call is made once and never repeated here. An error with the kind Later means that it was not made yet; Answer.Lost means
// that Azure may have carried it out although no answer came. Several goroutines may use a Client.
package calls

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
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
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/internal/metrics"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// The api-versions of our calls. A cloud may have another one for compute.
const (
	computeVersion      = Tagged
	diskVersion         = "2024-03-02"
	networkVersion      = "2024-05-01"
	skuVersion          = "2021-07-01"
	subscriptionVersion = "2022-12-01"
)

const (
	callTimeout = 30 * time.Second
	maxPage     = 16 << 20 // a page of a list is far below
	// maxAnswer is what an answer about one thing may have. A hundred workers may wait for one each.
	maxAnswer = 1 << 20
)

// Client makes the calls of a principal: each waits for its turn at the limiter, is made once, and its answer is judged.
type Client struct {
	Principal *login.Principal
	Endpoint  string
	pipe      runtime.Pipeline
	Limit     *limiter.Limiter
	now       func() time.Time
	Timeout   time.Duration // of a call
	// Bounds are those of all accounts, which New makes for this one alone.
	Bounds *Bounds

	circuit    *circuit
	unfinished unfinished
}

// New makes the client of a principal. It makes no call.
func New(principal *login.Principal, now func() time.Time) (*Client, error) {
	azure := principal.Cloud.Configuration()
	options := &arm.ClientOptions{DisableRPRegistration: true, ClientOptions: policy.ClientOptions{
		Cloud: azure, Transport: principal.Transport, Retry: policy.RetryOptions{MaxRetries: -1},
	}}
	pipe, err := armruntime.NewPipeline("capwin", "v1", principal.Credential, runtime.PipelineOptions{}, options)
	if err != nil {
		return nil, err
	}
	endpoint := strings.TrimSuffix(azure.Services[azcloud.ResourceManager].Endpoint, "/")
	return &Client{
		Principal: principal, Endpoint: endpoint, pipe: pipe, Limit: &limiter.Limiter{Now: now}, now: now, Timeout: callTimeout,
		circuit: newCircuit(now), Bounds: NewBounds(&tenants.Bytes{}),
	}, nil
}

// Call is one request.
type Call struct {
	Method, Path, Version string
	Query                 url.Values
	Body                  func(context.Context) (any, error) // asked once it is our turn
	Create                bool                               // only if there is nothing of the name
	ByID                  bool                               // a look at one resource, or its deletion
	Class                 limiter.Class
	Subscription, Asker   string
	Large                 bool // the answer may be as large as a page
	Unread                bool // only the status of an answer counts

	enter func(context.Context) error // the place where a page is read; nil if it needs none
}

// Answer is what came back: a status and a body, or a verdict on why there is none.
type Answer struct {
	Status  int
	Body    []byte
	Verdict *fault.Verdict
	// Lost is true if the request may have been carried out.
	Lost bool
	// Unsent is why there was no body to send, as it is.
	Unsent error
	// Began is when the first page of a list was asked for, and Kept is how many bytes were taken for what is kept of it. Who drops
	// that gives them back.
	Began time.Time
	Kept  int
}

// Err is why there is no answer; nil if there is one.
func (a Answer) Err() error {
	if a.Verdict == nil {
		return a.Unsent
	}
	return a.Verdict.Error
}

// Effect is what the verdict means beyond its error.
func (a Answer) Effect() fault.Effect {
	if a.Verdict == nil {
		return fault.NoEffect
	}
	return a.Verdict.Effect
}

func failed(err *cloud.Error) Answer { return Answer{Verdict: &fault.Verdict{Error: err}} }

// Send makes a call, or returns why it was not made or did not succeed.
func (c *Client) Send(ctx context.Context, q Call) (a Answer) {
	if err := c.circuit.begin(); err != nil {
		return failed(err)
	}
	defer c.circuit.end()
	scope := limiter.Scope{Principal: c.Principal.Name(), Subscription: q.Subscription}
	if wait := c.Limit.Ask(scope, q.Class, q.Asker+"|"+q.Path); wait > 0 {
		return failed(cloud.LaterIn(wait, "waiting for this account's turn at Azure"))
	}
	allowance := limiter.Allowance{}
	defer func() { c.Limit.Settle(scope, q.Class, allowance) }()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var content any
	if q.Body != nil {
		var err error
		if content, err = q.Body(ctx); err != nil {
			return Answer{Unsent: err}
		}
	}
	began := time.Now()
	got, err := c.exchange(ctx, q, content)
	defer func() { metrics.Call(infrav1.CloudAzure, methodOf(q.Class, err), outcome(ctx, a), time.Since(began)) }()
	if err != nil {
		return c.unanswered(err)
	}
	allowance = limiter.ReadAllowance(got.header.Get)
	if got.status < http.StatusMultipleChoices {
		c.circuit.accepted()
		return Answer{Status: got.status, Body: got.body}
	}
	a = c.judge(q, got)
	if a.Effect() == fault.Silences {
		allowance.Silence = a.Verdict.Error.After
	}
	return a
}

// judge is the answer of a call that Azure refused.
func (c *Client) judge(q Call, got received) Answer {
	c.circuit.answered()
	answer := fault.Read(got.status, got.header, got.body)
	answer.ByID = q.ByID
	verdict := fault.Judge(answer)
	return Answer{Status: got.status, Verdict: &verdict, Lost: got.status >= http.StatusInternalServerError}
}

// received is an answer as it came.
type received struct {
	status int
	header http.Header
	body   []byte
}

func (c *Client) exchange(ctx context.Context, q Call, content any) (got received, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := runtime.NewRequest(ctx, q.Method, c.address(q))
	if err != nil {
		return got, err
	}
	request.Raw().Header.Set("Accept", "application/json")
	if q.Create {
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
	if q.enter != nil {
		waiting, stop := context.WithTimeout(ctx, c.Timeout/2)
		defer stop()
		if err := q.enter(waiting); err != nil {
			return got, err
		}
		defer time.AfterFunc(pageTime, cancel).Stop()
	}
	body, err := q.read(response)
	return received{response.StatusCode, response.Header, body}, err
}

// read reads an answer to its end, if it is not too large.
func (q Call) read(answer *http.Response) (content []byte, err error) {
	body := &io.LimitedReader{R: answer.Body, N: maxAnswer + 1}
	if q.Large || q.Unread || q.enter != nil {
		body.N = maxPage + 1
	}
	if q.Unread && answer.StatusCode < http.StatusMultipleChoices {
		_, err = io.Copy(io.Discard, body)
	} else {
		content, err = io.ReadAll(body)
	}
	if err == nil && body.N == 0 {
		err = errLarge
	}
	return content, err
}

func (c *Client) address(q Call) string {
	query := url.Values{"api-version": {q.Version}}
	maps.Copy(query, q.Query)
	return c.Endpoint + q.Path + "?" + query.Encode()
}

// unanswered is the answer of a call that waits for a place, whose token was refused, or whose answer did not come.
func (c *Client) unanswered(err error) Answer {
	if refused, ok := errors.AsType[*cloud.Error](err); ok {
		if refused.Kind != cloud.Later {
			c.circuit.failed(refused)
		}
		return failed(refused)
	}
	endpoint := cloud.Clean(c.Endpoint, 256)
	silent := cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
		"Azure does not answer at %s: check the network, proxy and firewall of the management cluster", endpoint)
	if errors.Is(err, errEndless) {
		silent.Message = "what answers at " + endpoint + " is not Azure: its lists do not end; " +
			"check the endpoint and the proxy of the management cluster"
	}
	silent.Err = err
	c.circuit.failed(silent)
	return Answer{Verdict: &fault.Verdict{Error: silent}, Lost: true}
}

// Health returns whether Azure answers, and why not.
func (c *Client) Health() cloud.Health {
	h := c.circuit.health()
	h.Server = c.Endpoint
	return h
}

// Close ends all connections, for good.
func (c *Client) Close() {
	c.circuit.close()
	c.unfinished.giveUp()
	if idle, ok := c.Principal.Transport.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// noToken is the method of a call that was not sent, because there was no token for it.
const noToken = "Login"

// methodOf is the label of a call: the class in which Azure counts it, too.
func methodOf(class limiter.Class, err error) string {
	if refused, ok := errors.AsType[*cloud.Error](err); ok && refused.Kind != cloud.Later {
		return noToken
	}
	return string(class)
}

// outcome is how a call ended: well, as a kind of error, or because we needed it no longer. That a thing is gone is a good end,
// because many calls check for that.
func outcome(ctx context.Context, a Answer) string {
	switch {
	case a.Verdict == nil, a.Effect() == fault.Gone:
		return metrics.OK
	case errors.Is(ctx.Err(), context.Canceled):
		return metrics.Canceled
	}
	return strings.ToLower(string(a.Verdict.Error.Kind))
}
