// Package buckets is how Azure throttles: token buckets in two layers, refilled continuously.
//
// The front door has buckets per subscription and principal, for reads, writes and deletes, and larger ones for all principals of
// a subscription together [D request-limits-and-throttling]. Compute has buckets per subscription and region, which all
// principals share, and smaller ones per VM [D compute-throttling-limits]. The network provider has its own two [D].
package buckets

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// size is what a bucket holds, and what flows in per second.
type size struct{ holds, perSecond float64 }

// perMinute is how the documents of compute give their figures.
func perMinute(refill, holds float64) size { return size{holds: holds, perSecond: refill / 60} }

// The front door's classes [D].
const (
	Reads   = "reads"
	Writes  = "writes"
	Deletes = "deletes"
)

var frontDoor = map[string]size{Reads: {250, 25}, Writes: {200, 10}, Deletes: {200, 10}}

// ofAll is how much more all principals of a subscription have together [D].
const ofAll = 15

// The classes of the resource providers. The names of the buckets are those of the header x-ms-ratelimit-remaining-resource [D];
// those for one VM are [I].
const (
	PutVM        = "PutVM"
	UpdateVM     = "UpdateVM"
	DeleteVM     = "DeleteVM"
	LowCostGet   = "LowCostGet"
	HighCostGet  = "HighCostGet"
	GetOperation = "GetOperation"
	NetworkWrite = "NetworkWrite"
	NetworkRead  = "NetworkRead"
	Free         = ""
)

var ofSubscription = map[string]size{
	PutVM: perMinute(500, 1500), UpdateVM: perMinute(500, 1500), DeleteVM: perMinute(500, 1500), LowCostGet: perMinute(8000, 24000),
	HighCostGet: perMinute(300, 900), GetOperation: perMinute(5000, 15000),
	NetworkWrite: perMinute(200, 1000), NetworkRead: perMinute(2000, 10000),
}

var ofVM = map[string]size{
	PutVM: perMinute(4, 12), UpdateVM: perMinute(4, 12), DeleteVM: perMinute(4, 12), LowCostGet: perMinute(12, 36),
	GetOperation: perMinute(15, 45),
}

// Buckets are all buckets of the cloud.
type Buckets struct {
	// Off leaves throttling out; the headers are still sent.
	Off bool

	now     func() time.Time
	buckets map[string]*bucket
}

// New returns full buckets.
func New(now func() time.Time) *Buckets { return &Buckets{now: now, buckets: map[string]*bucket{}} }

// Request is what a request takes from.
type Request struct {
	Subscription, Principal, Region string
	// Door is reads, writes or deletes. Class is the resource provider's, VM the VM's id if it is about one.
	Door, Class, VM string
}

// Take takes what one request costs, and refuses it if a bucket is empty. A refused request costs nothing behind the bucket that
// refused it.
func (b *Buckets) Take(r Request, header http.Header) *reply.Error {
	if refused := b.enter(r, header); refused != nil {
		return refused
	}
	if r.Class == Free {
		return nil
	}
	for _, key := range r.keys() {
		limit, ok := ofSubscription[r.Class], true
		if key.vm {
			limit, ok = ofVM[r.Class]
		}
		if !ok {
			continue
		}
		wait := b.get(key.name, limit).take(b.now(), limit)
		if wait > 0 && !b.Off {
			return tooMany(r.Class, key.vm, limit, wait)
		}
	}
	for _, value := range b.remaining(r) {
		header.Add("X-Ms-Ratelimit-Remaining-Resource", value)
	}
	header.Set("X-Ms-Request-Charge", "1")
	return nil
}

// enter is the front door.
func (b *Buckets) enter(r Request, header http.Header) *reply.Error {
	one, all := frontDoor[r.Door], frontDoor[r.Door]
	all.holds, all.perSecond = all.holds*ofAll, all.perSecond*ofAll
	mine := b.get(r.doorKey(), one)
	wait := mine.take(b.now(), one)
	if wait == 0 {
		wait = b.get("all "+r.Door+" "+strings.ToLower(r.Subscription), all).take(b.now(), all)
	}
	header.Set("X-Ms-Ratelimit-Remaining-Subscription-"+strings.ToUpper(r.Door[:1])+r.Door[1:], strconv.Itoa(int(mine.left)))
	if wait == 0 || b.Off {
		return nil
	}
	verb := map[string]string{Reads: "read", Writes: "write", Deletes: "delete"}[r.Door]
	// [V] from a report of 2026; the documents have the same code.
	e := reply.New(http.StatusTooManyRequests, "SubscriptionRequestsThrottled", "Number of '%s' requests for subscription '%s' "+
		"actor '%s' "+
		"exceeded. Please try again after '%d' seconds after additional tokens are available. Refer to "+
		"https://aka.ms/arm-throttling for additional information.", verb, r.Subscription, r.Principal, seconds(wait))
	e.RetryAfter = wait
	return e
}

type key struct {
	name string
	vm   bool
}

func (r Request) doorKey() string {
	return "door " + r.Door + " " + strings.ToLower(r.Subscription) + " " + r.Principal
}

func (r Request) keys() []key {
	all := []key{{name: r.Class + " " + strings.ToLower(r.Subscription+" "+r.Region)}}
	if r.VM != "" {
		all = append(all, key{name: r.Class + " " + strings.ToLower(r.VM), vm: true})
	}
	return all
}

// remaining is one value per bucket [D].
func (b *Buckets) remaining(r Request) []string {
	if strings.HasPrefix(r.Class, "Network") {
		return nil // the network provider does not send the header
	}
	var all []string
	for _, k := range r.keys() {
		if left := b.buckets[k.name]; left != nil {
			all = append(all, fmt.Sprintf("Microsoft.Compute/%s;%d", title(r.Class, k.vm), int(left.left)))
		}
	}
	slices.Sort(all)
	return all
}

// title is a bucket's name. The ones of a subscription hold what three minutes bring [D].
func title(class string, vm bool) string {
	if vm {
		return class + "Resource3Min"
	}
	return class + "3Min"
}

// tooMany is the 429 of a resource provider [D troubleshooting-throttling-errors].
func tooMany(class string, vm bool, limit size, wait time.Duration) *reply.Error {
	if strings.HasPrefix(class, "Network") {
		e := reply.New(http.StatusTooManyRequests, "TooManyRequests", "The request is being throttled as the limit has been reached "+
			"for "+
			"operation type - %s. For more information, see - https://aka.ms/srpthrottlinglimits", class)
		e.RetryAfter = wait
		return e
	}
	group := title(class, vm)
	e := reply.New(http.StatusTooManyRequests, "OperationNotAllowed",
		"The server rejected the request because too many requests have been received for this subscription.")
	e.Details = []reply.Error{{Code: "TooManyRequests", Target: group, Message: fmt.Sprintf(
		`{"operationGroup":%q,"allowedRequestCount":%d,"measuredRequestCount":%d}`, group, int(limit.holds), int(limit.holds)+1)}}
	e.RetryAfter = wait
	return e
}

// Drain takes a share of a class's tokens away, as strangers do who use the same subscription and region: 1 empties the bucket.
// Strangers cannot drain our front door.
func (b *Buckets) Drain(class, subscription, region string, share float64) {
	limit := ofSubscription[class]
	r := Request{Subscription: subscription, Region: region, Class: class}
	bucket := b.get(r.keys()[0].name, limit)
	bucket.fill(b.now(), limit)
	bucket.left = max(0, bucket.left-share*limit.holds)
}

// DrainDoor empties one principal's bucket of the front door.
func (b *Buckets) DrainDoor(door, subscription, principal string) {
	r := Request{Subscription: subscription, Principal: principal, Door: door}
	bucket := b.get(r.doorKey(), frontDoor[door])
	bucket.fill(b.now(), frontDoor[door])
	bucket.left = 0
}

func (b *Buckets) get(name string, limit size) *bucket {
	if b.buckets[name] == nil {
		b.buckets[name] = &bucket{left: limit.holds, filled: b.now()}
	}
	return b.buckets[name]
}

// bucket holds tokens.
type bucket struct {
	left   float64
	filled time.Time
}

func (b *bucket) fill(now time.Time, limit size) {
	b.left = min(limit.holds, b.left+now.Sub(b.filled).Seconds()*limit.perSecond)
	b.filled = now
}

// take takes one token, or says how long it is until there is one.
func (b *bucket) take(now time.Time, limit size) time.Duration {
	b.fill(now, limit)
	// A token that has come in all but rounding is one: else a client that waits exactly as told is refused again.
	if b.left < 1-1e-6 {
		return time.Duration(math.Ceil((1-b.left)/limit.perSecond*1000)) * time.Millisecond
	}
	b.left = max(0, b.left-1)
	return 0
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
