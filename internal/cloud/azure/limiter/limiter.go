// Package limiter keeps all calls of this process below what Azure allows, so that Azure seldom has to say no. It promises that a
// call may be made when Ask says so, that who asks first goes first, and that what Azure says of one call holds for all of its
// class. It waits for nothing itself: it says how long to wait.
//
// Azure counts twice: its front door counts the reads, writes and deletions of a principal, and each service counts its own
// classes for the whole subscription, so that strangers drain those. The answers say how much is left.
package limiter

import (
	"sync"
	"time"
)

// Scope is whose calls Azure counts together.
type Scope struct {
	Principal    string
	Subscription string
	Region       string
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

// Ask says how long to wait before a call, or zero: then the call MUST be made, and Done called with its answer. Who asks again
// under the same name keeps its place.
func (l *Limiter) Ask(s Scope, c Class, who string) time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now, wait := l.Now(), time.Duration(0)
	both := l.of(s, c)
	for _, b := range both {
		wait = max(wait, b.ask(who, now))
	}
	if wait > 0 {
		return wait
	}
	for _, b := range both {
		b.take(who)
	}
	return 0
}

// Done tells what the answer to a call said. Without an answer it is the zero value.
func (l *Limiter) Done(s Scope, c Class, said Said) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	both := l.of(s, c)
	both[atDoor].done(said.LeftAtDoor)
	both[atService].done(said.LeftAtService)
	if said.Silence > 0 {
		for _, b := range both {
			b.silence(l.Now().Add(said.Silence))
		}
	}
}

// The places where Azure counts, in the order of Limiter.of.
const (
	atDoor = iota
	atService
)

// of are the buckets of a call.
func (l *Limiter) of(s Scope, c Class) []*bucket {
	k := kinds[c]
	return []*bucket{
		l.bucket(s.Principal+"|"+s.Subscription+"|"+s.Region+"|"+k.door, doors[k.door]),
		l.bucket(s.Subscription+"|"+s.Region+"|"+k.service, services[k.service]),
	}
}

func (l *Limiter) bucket(key string, of size) *bucket {
	if l.buckets == nil {
		l.buckets = map[string]*bucket{}
	}
	if l.buckets[key] == nil {
		l.buckets[key] = &bucket{size: of, tokens: of.most * share, at: l.Now(), turns: map[string]time.Time{}}
	}
	return l.buckets[key]
}
