// Package accounts keeps the accounts at clouds that machines use. A caller may rely on this, and need not read how:
//
//   - Get returns the account of a Secret. All Secrets whose credentials mean the same principal at the same endpoint share one,
//     in all namespaces: one session, one list of VMs, one back-off. Other keys of a Secret do not matter. A Secret that names
//     the same user with another password has another account, and sees nothing of the first.
//   - A namespace opens as many as it may have; an account that it shares counts where it was opened. One more is an error with
//     the reason TooManyAccounts, for as long as all of these are in use. A machine that may have a VM gets twice as many, and
//     beyond that a turn of a minute at least. No namespace can make another one lose an account. Those that are still being
//     closed count, too, so that none can be opened and left without end.
//   - An account is closed once no Secret uses it: a Secret stops when it has other credentials, when Gone reports that it does
//     not exist, and when it was not used for KeepUnused. Scrapes collect from the Register how the open ones fare.
//   - Each account is watched for as long as it is open. A key that it sends goes to Changed if its namespace has a Secret of the
//     account.
//   - A watch that ends or panics is started again, at a pace, and is logged. It never concerns another account. An account whose
//     address leads to another server is closed, and Get connects again.
//   - The log has one line when an account breaks and one when it is back, with its server and a Secret of it, however many
//     machines it has.
//   - Once the context of Start ends, all accounts are closed, and Get is an error.
package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"strconv"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

const (
	// KeepUnused is how long an unused Secret keeps its account. It is longer than the longest time between two
	// looks at a machine, the sync period of ten minutes.
	KeepUnused = 30 * time.Minute

	sweepEvery = time.Minute
)

// Register keeps one connection for each account that is in use and runs its Watch. It is a manager.Runnable; set Changed
// before use.
type Register struct {
	// Changed receives the keys from all accounts, and returns at once.
	Changed func(...cloud.Key)
	// Now is the clock; if it is nil, Start sets that of the computer.
	Now func() time.Time
	// Limits are how many accounts a namespace may open, and Notices get how many it has opened.
	Limits  tenants.Limits
	Notices *tenants.Notices

	mu      sync.Mutex
	open    map[principal]*account
	secrets map[secretOf]*account
	closing map[string]int // accounts whose session is being ended, by the namespace that opened them
	waiting tenants.Waiting
	held    int // uses so far
	running sync.WaitGroup
	ctx     context.Context //nolint:containedctx // because a Runnable gets the context for what it starts only in Start
}

// principal is a digest of the credentials that matter. The salt has it mean nothing outside of this process.
type principal [sha256.Size]byte

var salt = []byte(rand.Text())

// secretOf is a Secret with credentials for a kind of cloud.
type secretOf struct {
	kind   string
	secret cloud.Key
}

// Start allows Get to connect, and closes what is not used. Once ctx ends, it closes all accounts.
func (r *Register) Start(ctx context.Context) error {
	r.mu.Lock()
	if r.Now == nil {
		r.Now = time.Now
	}
	r.ctx = ctx
	r.open, r.secrets, r.closing = map[principal]*account{}, map[secretOf]*account{}, map[string]int{}
	r.mu.Unlock()
	sweep, look := time.Tick(sweepEvery), time.Tick(healthEvery)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-sweep:
			r.Sweep()
		case <-look:
			r.logOutages(ctx)
		}
	}
	r.mu.Lock() // so that a Get that has begun ends first
	r.open, r.secrets = nil, nil
	r.mu.Unlock()
	r.running.Wait()
	return nil
}

// Get returns the account of a Secret. It connects if this is the first Secret with these credentials. A namespace may have more
// accounts for machines that may have a VM, such as those that are being deleted.
func (r *Register) Get(p cloud.Provider, secret cloud.Key, credentials map[string][]byte, forVM bool) (cloud.Cloud, error) {
	text, err := p.Principal(credentials) // takes its time if the Secret is large, as does the hash
	sum := hmac.New(sha256.New, salt)
	_, _ = sum.Write([]byte(strconv.Quote(p.Name()) + text)) // a hash takes everything
	id := principal(sum.Sum(nil))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx == nil || r.ctx.Err() != nil {
		return nil, cloud.Errorf(cloud.Transient, "", "the manager is starting or stopping")
	}
	holder := secretOf{p.Name(), secret}
	if current := r.secrets[holder]; current != nil && (err != nil || current.id != id) {
		r.release(holder)
	}
	if err != nil {
		return nil, err
	}
	a := r.open[id]
	if a == nil {
		if err = r.room(secret.Namespace, forVM); err != nil {
			return nil, err
		}
		if a, err = r.connect(p, id, secret, credentials); err != nil {
			return nil, err
		}
	}
	r.hold(a, holder)
	return a.cloud, nil
}

// Gone notes that a Secret does not exist.
func (r *Register) Gone(p cloud.Provider, secret cloud.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(secretOf{p.Name(), secret})
}

// Sweep closes the accounts of Secrets that were not used for KeepUnused. Start calls it.
func (r *Register) Sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for holder, a := range r.secrets {
		if r.Now().Sub(a.holders[holder].used) >= KeepUnused {
			r.release(holder)
		}
	}
}

// connect opens an account for a Secret whose namespace has room for it.
func (r *Register) connect(p cloud.Provider, id principal, secret cloud.Key, credentials map[string][]byte) (*account, error) {
	c, err := p.Connect(secret.Namespace, credentials)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(r.ctx)
	a := &account{id: id, cloud: c, stop: stop, opener: secret, holders: map[secretOf]hold{}, namespaces: map[string]int{}}
	r.open[id] = a
	r.running.Go(func() { r.run(ctx, a) })
	return a, nil
}

func (r *Register) hold(a *account, holder secretOf) {
	h, held := a.holders[holder]
	if !held {
		r.held++
		h.order = r.held
		a.count(holder.secret.Namespace, 1)
	}
	h.used = r.Now()
	a.holders[holder] = h
	r.secrets[holder] = a
}

// release ends the use of an account by a Secret, and the account with its last one.
func (r *Register) release(holder secretOf) {
	a := r.secrets[holder]
	if a == nil {
		return
	}
	namespace := a.namespace()
	delete(r.secrets, holder)
	delete(a.holders, holder)
	a.count(holder.secret.Namespace, -1)
	if len(a.holders) == 0 {
		delete(r.open, a.id)
		r.closing[a.opener.Namespace]++
		a.stop()
	} else if heir := a.first(); r.countOf(heir.secret.Namespace) > r.Limits.Allowed(heir.secret.Namespace, tenants.Accounts) {
		// An account that counts for another namespace from now on must have room there: else two namespaces pass accounts on, and
		// one of them has any number.
		r.release(heir)
	}
	r.noteRoom(namespace)
}

// leave ends the use of an account by all of its Secrets: the next one that is asked for connects again.
func (r *Register) leave(a *account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for holder := range a.holders {
		r.release(holder)
	}
}

// closed notes that the session of an account has ended.
func (r *Register) closed(a *account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	namespace := a.opener.Namespace
	if r.closing[namespace]--; r.closing[namespace] <= 0 {
		delete(r.closing, namespace)
	}
}
