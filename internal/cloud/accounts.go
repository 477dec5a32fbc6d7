package cloud

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// Accounts keeps one connection for each account that is in use and runs its Watch. It is a manager.Runnable; set Changed
// before use.
type Accounts struct {
	// Changed receives the keys from all accounts.
	Changed chan<- Key

	mu      sync.Mutex
	open    map[string]*account // by Secret
	running sync.WaitGroup
	ctx     context.Context //nolint:containedctx // because a Runnable gets the context for what it starts only in Start
}

type account struct {
	cloud  Cloud
	digest [sha256.Size]byte
	stop   context.CancelFunc
}

// Start allows Get to connect. Once ctx ends, it closes all accounts.
func (a *Accounts) Start(ctx context.Context) error {
	a.mu.Lock()
	a.ctx = ctx
	a.mu.Unlock()
	<-ctx.Done()
	a.running.Wait()
	return nil
}

// Get returns the account of a Secret. It connects again when the credentials in the Secret have changed.
func (a *Accounts) Get(p Provider, secret Key, credentials map[string][]byte) (Cloud, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx == nil || a.ctx.Err() != nil {
		return nil, Errorf(Transient, "", "the manager is starting or stopping")
	}
	id, digest := fmt.Sprintf("%T %s", p, secret), sha256.Sum256(fmt.Appendf(nil, "%q", credentials)) // fmt sorts maps
	have := a.open[id]
	if have != nil && have.digest == digest {
		return have.cloud, nil
	}
	cloud, err := p.Connect(credentials)
	if err != nil {
		return nil, err
	}
	if have != nil {
		have.stop()
	}
	ctx, stop := context.WithCancel(a.ctx)
	if a.open == nil {
		a.open = map[string]*account{}
	}
	a.open[id] = &account{cloud: cloud, digest: digest, stop: stop}
	a.running.Go(func() { a.watch(ctx, cloud, secret) })
	return cloud, nil
}

// watch keeps the account's Watch running until ctx ends, and then closes the account. It only logs errors: each machine
// notices by itself when its account does not work.
func (a *Accounts) watch(ctx context.Context, cloud Cloud, secret Key) {
	log := logr.FromContextOrDiscard(ctx).WithValues("account", secret)
	defer func() {
		if err := cloud.Close(context.WithoutCancel(ctx)); err != nil {
			log.Info("The session of the account could not be ended", "error", err)
		}
	}()
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, 30*time.Second) {
		start := time.Now()
		err := cloud.Watch(ctx, a.Changed)
		if ctx.Err() != nil {
			return
		}
		log.Info("Watch of the account ended, starting it again", "error", err)
		if time.Since(start) > time.Minute {
			wait = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}
