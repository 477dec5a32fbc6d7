// Package limiter keeps all calls of this process below what Azure allows, so that Azure seldom refuses one. It promises that a
// call may be made when Ask allows it, that the first caller to ask goes first, and that Azure's answer to one call holds for all
// of its class. It does not wait itself: it returns how long to wait.
//
// Azure counts twice: its front door counts the reads, writes and deletions of a principal, and each service counts its own
// classes for the whole subscription, so that strangers drain those. Its answers contain how much is left.
package limiter

import (
	"sync"
	"time"
)

// Scope is whose calls Azure counts together.
type Scope struct {
	Principal    string
	Subscription string
}

// Class of calls that a service counts together.
type Class string

// The classes of calls that we make.
const (
	PutVM         Class = "PutVM"
	DeleteVM      Class = "DeleteVM"
	GetVM         Class = "GetVM"
	ListVMs       Class = "ListVMs"
	ListNetwork   Class = "ListNetwork"
	WriteNetwork  Class = "WriteNetwork"
	DeleteNetwork Class = "DeleteNetwork"
	ListSizes     Class = "ListSizes"
)

// Limiter paces calls. The zero value is not ready: set Now.
type Limiter struct {
	Now func() time.Time

	mutex   sync.Mutex
	buckets map[string]*bucket
}

// Ask returns how long to wait before a call, or zero: then the call MUST be made, and Settle called with its answer. An asker
// that asks again under the same name keeps its place.
func (l *Limiter) Ask(s Scope, c Class, asker string) time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now, wait := l.Now(), time.Duration(0)
	buckets := l.bucketsOf(s, c)
	for _, b := range buckets {
		wait = max(wait, b.ask(asker, now))
	}
	if wait > 0 {
		return wait
	}
	for _, b := range buckets {
		b.take(asker)
	}
	return 0
}

// Settle takes over what the answer to a call allows. Without an answer it is the zero value.
func (l *Limiter) Settle(s Scope, c Class, allowance Allowance) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	buckets := l.bucketsOf(s, c)
	buckets[atDoor].settle(allowance.LeftAtDoor)
	buckets[atService].settle(allowance.LeftAtService)
	if allowance.Silence > 0 {
		for _, b := range buckets {
			b.silence(l.Now().Add(allowance.Silence))
		}
	}
}

// The places where Azure counts, in the order of Limiter.bucketsOf.
const (
	atDoor = iota
	atService
)

// bucketsOf are the buckets of a call.
func (l *Limiter) bucketsOf(s Scope, c Class) []*bucket {
	k := kinds[c]
	return []*bucket{
		l.bucket(s.Principal+"|"+s.Subscription+"|"+k.door, doors[k.door]),
		l.bucket(s.Subscription+"|"+k.service, services[k.service]),
	}
}

func (l *Limiter) bucket(key string, limit size) *bucket {
	if l.buckets == nil {
		l.buckets = map[string]*bucket{}
	}
	if l.buckets[key] == nil {
		l.buckets[key] = &bucket{size: limit, tokens: limit.capacity * share, refilled: l.Now(), turns: map[string]time.Time{}}
	}
	return l.buckets[key]
}
