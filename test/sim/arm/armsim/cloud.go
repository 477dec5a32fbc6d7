// Package armsim simulates Azure Resource Manager for any ARM client, over TLS and with token endpoints, on a clock that tests
// move. It is not a stub: requests are checked as Azure checks them, each call needs its right and takes from its buckets, VMs
// live by themselves.
//
//	cloud := armsim.New(t)
//	cloud.Endpoint()              https://127.0.0.1:PORT: endpoint, audience and authority of the cloud
//	cloud.CA()                    the certificate to trust, as PEM; cloud.Client() trusts it
//	cloud.Advance(d)              moves the time; what is due on the way happens
//	cloud.Change(func(w *Inside)) sets faults and times, adds or looks at what there is, all under the lock
//	cloud.Counts(), cloud.Calls() what was asked, by class and resource; cloud.Forget() begins anew
//	cloud.Evict(id), cloud.Shutdown(id), cloud.Lock(scope), ...   what other people and the platform do
//
// New has a subscription with two resource groups, a vnet with subnets, images, and principals; their names are the constants of
// seed.go. Serve is the same for a process of its own (go run ./test/sim/arm), whose clock follows the time.
//
//	cloud.go    the cloud, its lock and its clock           serve.go    the way of a request through the front door
//	seed.go     what is there from the beginning            route.go    which resource and which call a path means
//	calls.go    what was asked                              compute.go  calls of the compute provider
//	owner.go    what others do                              network.go  calls of the network provider, and what is only read
//	answer.go   headers, operations, paging                 metadata.go metadata/endpoints, boot logs
//	tags.go     tags, a call of ARM itself                 move.go     moves to another group, which ARM serves, too
//	missing.go  404s of ARM and of proxies                  unique.go   what the platform calls a resource
//
// # What it plays
//
// Each row of the list of ARM's behaviour, with the file that plays it and the test that shows it, is in table.md beside this
// file.
package armsim

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/buckets"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/clock"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rights"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/tokens"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// Cloud is a running simulator.
type Cloud struct {
	server *httptest.Server
	mu     sync.Mutex
	inside *Inside
	// identities is the lock of the token endpoints, which ask federated issuers while the world goes on.
	identities sync.Mutex
}

// Inside is what is behind the lock of a Cloud.
type Inside struct {
	World   *world.World
	Compute *compute.Compute
	Network *network.Network
	Buckets *buckets.Buckets
	Rights  *rights.Rights
	Tokens  *tokens.Tokens
	Faults  Faults

	calls []Call
	locks []string
	// moving are the groups that a move locks.
	moving   []string
	notFound []NotFound
	pages    map[string]page
	logs     map[string]bootLog
}

// Faults are what goes wrong between the client and the providers.
type Faults struct {
	// Lose says which accepted calls get no answer: the connection is cut after the work was begun.
	Lose func(Call) bool
	// Refuse answers a call with an error instead of doing it; a status of 0 means silence until the client gives up.
	Refuse func(Call) *Refusal
	// PageSize is how many items a page of a list has, whatever the client asks for.
	PageSize int
	// Unregistered are resource providers that the subscription may not use yet.
	Unregistered []string
}

// Refusal is an answer of Faults.Refuse.
type Refusal struct {
	Status        int
	Code, Message string
	RetryAfter    time.Duration
}

// New starts a cloud for a test.
func New(t testing.TB) *Cloud {
	t.Helper()
	c := Start("127.0.0.1:0", Began)
	t.Cleanup(c.Close)
	return c
}

// Began is when the time of a test's cloud begins.
var Began = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

// Start starts a cloud whose clock shows start. address must be one of the loopback interface.
func Start(address string, start time.Time) *Cloud {
	c := &Cloud{inside: newInside(start)}
	c.inside.Compute.Enter = c.locked
	c.server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	if address != "127.0.0.1:0" {
		listen(c.server, address)
	}
	c.server.EnableHTTP2 = true
	c.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	c.server.StartTLS()
	c.inside.Tokens.Endpoint = c.server.URL
	c.inside.Tokens.Audiences = []string{c.server.URL, Audience}
	seed(c.inside)
	return c
}

func newInside(start time.Time) *Inside {
	now := clock.New(start)
	w := world.New(now, 1)
	n := network.New(w)
	return &Inside{
		World: w, Network: n, Compute: compute.New(w, n), Buckets: buckets.New(now.Now), Rights: rights.New(),
		Tokens: tokens.New(time.Now),
		Faults: Faults{PageSize: 50}, pages: map[string]page{}, logs: map[string]bootLog{},
	}
}

// Close stops the cloud.
func (c *Cloud) Close() {
	c.server.CloseClientConnections()
	c.server.Close()
}

// Endpoint is the address of ARM, and of the authority.
func (c *Cloud) Endpoint() string { return c.server.URL }

// CA is the certificate of the server, as PEM.
func (c *Cloud) CA() []byte { return certificate(c.server.Certificate()) }

// Client trusts the server.
func (c *Cloud) Client() *http.Client { return c.server.Client() }

// Advance moves the time.
func (c *Cloud) Advance(d time.Duration) {
	c.Change(func(w *Inside) { w.World.Clock.Advance(d) })
}

// KeepTime has the clock follow the time until ctx ends.
func (c *Cloud) KeepTime(ctx context.Context) { c.Run(ctx, 1) }

// Hurry is a cloud for a test with its own clients: its clock begins now and runs speed times as fast as the time.
func Hurry(t testing.TB, speed int) *Cloud {
	t.Helper()
	c := Start("127.0.0.1:0", time.Now())
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.Run(ctx, speed)
	}()
	t.Cleanup(func() {
		end()
		<-over
		c.Close()
	})
	return c
}

// Run has the clock run speed times as fast as the time until ctx ends.
func (c *Cloud) Run(ctx context.Context, speed int) {
	began, shown := time.Now(), c.Now()
	ticks, stop := Ticks()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			c.Advance(time.Since(began)*time.Duration(speed) - c.Now().Sub(shown))
		}
	}
}

// Ticks is when the clock moves, for a client that is to look then.
func Ticks() (<-chan time.Time, func()) {
	ticker := time.NewTicker(100 * time.Millisecond)
	return ticker.C, ticker.Stop
}

// Now is the time.
func (c *Cloud) Now() (now time.Time) {
	c.Change(func(w *Inside) { now = w.World.Clock.Now() })
	return now
}

// Change does something with the inside, while no request is served.
func (c *Cloud) Change(do func(*Inside)) {
	c.identities.Lock()
	defer c.identities.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.inside)
}

func (c *Cloud) locked(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}
