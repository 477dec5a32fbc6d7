package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// account is one that is open. The lock of the register guards its holders.
type account struct {
	id      principal
	cloud   cloud.Cloud
	stop    context.CancelFunc
	opener  cloud.Key // the first Secret
	holders map[secretOf]hold

	broken     bool      // as the log has it
	nextOutage time.Time // when the next outage may be logged

	// mu guards namespaces alone: a cloud may send keys with its locks held, while the register calls it with its own.
	mu         sync.Mutex
	namespaces map[string]int // holders in each
}

// count notes that a namespace has more holders, or fewer.
func (a *account) count(namespace string, delta int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.namespaces[namespace] += delta
}

// served returns the keys of the namespaces that have a Secret of the account.
func (a *account) served(keys []cloud.Key) []cloud.Key {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(keys), func(key cloud.Key) bool { return a.namespaces[key.Namespace] == 0 })
}

// hold is the use of an account by a Secret.
type hold struct {
	order int // the first use has the lowest number
	used  time.Time
}

// namespace is the one that the account counts for: that of the Secret that has used it for the longest time.
func (a *account) namespace() string { return a.first().secret.Namespace }

// first is the Secret that has used the account for the longest time.
func (a *account) first() (first secretOf) {
	for holder, h := range a.holders {
		if first == (secretOf{}) || h.order < a.holders[first].order {
			first = holder
		}
	}
	return first
}

// used is when a Secret last used the account.
func (a *account) used() (used time.Time) {
	for _, h := range a.holders {
		if h.used.After(used) {
			used = h.used
		}
	}
	return used
}

// isOnlyOf reports whether no other namespace uses the account.
func (a *account) isOnlyOf(namespace string) bool {
	for holder := range a.holders {
		if holder.secret.Namespace != namespace {
			return false
		}
	}
	return true
}

// How long to wait before a watch that ended is started again. A server can end it as often as it likes.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// steady: a watch that ran for so long was a good one.
	steady = time.Minute
)

// run keeps the account's Watch running until ctx ends, and then closes the account. It only logs errors: each machine notices
// by itself when its account does not work.
func (r *Register) run(ctx context.Context, a *account) {
	changed := func(keys ...cloud.Key) { r.Changed(a.served(keys)...) }
	for next := firstPause; ctx.Err() == nil; {
		start, pause := time.Now(), next
		err := guard(func() error { return a.cloud.Watch(ctx, changed) })
		if ctx.Err() == nil {
			pause, next = rest(pause, time.Since(start))
			r.ended(ctx, a, err, pause)
		}
	}
	if err := guard(func() error { return a.cloud.Close(context.WithoutCancel(ctx)) }); err != nil {
		a.log(ctx).Info("The session of the account could not be ended", "error", err)
	}
	r.closed(a)
}

// ended waits for the pause after a Watch that has ended, before it is started again. While the account is broken, logOutages has
// logged that. One that leads to another server is closed.
func (r *Register) ended(ctx context.Context, a *account, err error, pause time.Duration) {
	if r.logOutages(ctx); !a.cloud.Health().Broken {
		a.log(ctx).Info("Watch of the account ended, starting it again", "error", err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
	if errors.Is(err, cloud.ErrOtherServer) {
		r.leave(a)
	}
}

func (a *account) log(ctx context.Context) logr.Logger {
	return logr.FromContextOrDiscard(ctx).WithValues("secret", a.opener.String())
}

// rest is how long to wait after a watch that ran for so long, and what to wait after the next one: longer each time, until one
// was good.
func rest(due, ran time.Duration) (pause, next time.Duration) {
	if ran > steady {
		due = firstPause
	}
	return due, min(2*due, lastPause)
}

// guard turns a panic into an error: what a server answers must not end the process.
func guard(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = cloud.Errorf(cloud.Transient, "", "%s", cloud.Clean(fmt.Sprintf("the account panicked: %v", r), 1024))
		}
	}()
	return call()
}

const (
	// healthEvery is how often we look whether accounts are broken.
	healthEvery = time.Second

	// quiet is the least time between two log lines about a broken account: a server can break and come back at any pace.
	quiet = time.Minute
)

// logOutages writes a line when an account breaks and one when it is back, for all of its machines.
func (r *Register) logOutages(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.open {
		if h := a.cloud.Health(); h.Broken != a.broken {
			a.logOutage(logr.FromContextOrDiscard(ctx), h, r.Now())
		}
	}
}

func (a *account) logOutage(log logr.Logger, h cloud.Health, now time.Time) {
	if h.Broken && now.Before(a.nextOutage) {
		return
	}
	log = log.WithValues("secret", a.first().secret.String(), "server", cloud.Clean(h.Server, maxServer))
	if a.broken = h.Broken; !h.Broken {
		log.Info("The cloud of the account answers again")
		return
	}
	a.nextOutage = now.Add(quiet)
	log.Info("The cloud of the account does not answer, or rejects its login; calls fail until it answers", "error", h.Cause)
}

// maxServer is longer than the name of a host and its port.
const maxServer = 260
