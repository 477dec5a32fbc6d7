package accounts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// stage is a register that runs, with a clock of its own.
type stage struct {
	*Register
	t     *testing.T
	world *fake.World
	keys  chan cloud.Key
	later atomic.Int64
	end   func()
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, world: &fake.World{}, keys: make(chan cloud.Key, 5000)}
	start := time.Now()
	s.Register = &Register{
		Changed: cloudtest.Into(s.keys), Now: func() time.Time { return start.Add(time.Duration(s.later.Load())) },
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	s.end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Start = %v", err)
		}
		ended <- nil
	}
	t.Cleanup(s.end)
	wait.Eventually(t, "the register to start", func(context.Context) error {
		_, err := s.Get(fake.Provider{World: s.world}, key("warm", "up"), password("secret"), false)
		s.Gone(fake.Provider{}, key("warm", "up"))
		return err
	})
	s.haveSessions(0)
	return s
}

func (s *stage) get(namespace, secret, p string) cloud.Cloud {
	s.t.Helper()
	return expect.Got(s.Get(fake.Provider{World: s.world}, key(namespace, secret), password(p), false))(s.t)
}

func (s *stage) gone(namespace, secret string) { s.Gone(fake.Provider{}, key(namespace, secret)) }

func (s *stage) pass(d time.Duration) { s.later.Add(int64(d)) }

func (s *stage) accounts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func (s *stage) haveSessions(want int) {
	s.t.Helper()
	wait.Until(s.t, "the sessions of accounts that are watched",
		func() (any, bool) { return s.world.Sessions(), s.world.Sessions() == want })
}

func key(namespace, name string) cloud.Key { return cloud.Key{Namespace: namespace, Name: name} }

func password(p string) map[string][]byte { return map[string][]byte{"clientSecret": []byte(p)} }

func TestBeforeStart(t *testing.T) {
	if c, err := new(Register).Get(fake.Provider{World: &fake.World{}}, cloud.Key{}, password("secret"), false); err == nil {
		t.Errorf("Get = %v before Start, want an error", c)
	}
}

// TestShared: what counts are the credentials, not who wrote them down.
func TestShared(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newStage(t)
	defer s.end()
	first := s.get("a", "secret", "secret")
	labelled := password("secret")
	labelled["note"] = []byte("of the platform team")
	same, err := s.Get(fake.Provider{World: s.world}, key("b", "other"), labelled, false)
	if err != nil || same != first || s.get("a", "third", "secret") != first {
		t.Errorf("equal credentials have other accounts (%v)", err)
	}
	if s.get("b", "wrong", "wrong") == first {
		t.Error("a wrong password has the account of the right one")
	}
	s.haveSessions(1)
	expect.Same(t, "accounts", 2, s.accounts())
	s.gone("a", "secret")
	s.get("a", "third", "another") // was changed
	if s.get("b", "other", "secret") != first {
		t.Error("the account was closed while a Secret uses it")
	}
	s.gone("b", "other")
	s.haveSessions(0)
	if _, err := s.Get(fake.Provider{World: s.world}, key("a", "third"), map[string][]byte{}, false); err == nil {
		t.Error("Get with no credentials is no error")
	}
	expect.Same(t, "accounts after the last Secret has changed", 1, s.accounts()) // that of the wrong password
}

func TestUnused(t *testing.T) {
	s := newStage(t)
	used := s.get("a", "used", "secret")
	s.get("a", "unused", "wrong")
	s.get("b", "unused", "secret")
	s.pass(KeepUnused - time.Second)
	s.get("a", "used", "secret")
	s.Sweep()
	expect.Same(t, "accounts", 2, s.accounts())
	s.pass(time.Second)
	s.Sweep()
	expect.Same(t, "accounts after the time", 1, s.accounts())
	if s.get("a", "used", "secret") != used {
		t.Error("the account that is used was closed")
	}
	expect.Same(t, "Secrets that are known", 1, len(s.secrets))
}

// defaultLimit is how many accounts a namespace may open where nothing is lifted.
var defaultLimit = tenants.Limits(nil).Allowed("any", tenants.Accounts)

// TestLimit: a namespace cannot open more than its share, and takes nothing from another.
func TestLimit(t *testing.T) {
	s := newStage(t)
	shared := s.get("other", "vcenter", "secret")
	for range 3 { // it stays the same ones
		for i := range 2 * defaultLimit {
			_, err := s.Get(fake.Provider{World: s.world}, key("greedy", fmt.Sprint(i)), password(fmt.Sprint(i)), false)
			if i < defaultLimit {
				expect.OK(t, err)
				continue
			}
			cloudtest.WantError(t, err, cloud.Exhausted, infrav1.TooManyAccountsReason)
			expect.Says(t, "one too many", err, "already use 16 cloud accounts")
			expect.Says(t, "one too many", err, "is closed after 30 minutes")
		}
	}
	if s.get("greedy", "shared", "secret") != shared {
		t.Error("an account of another namespace is not shared")
	}
	s.get("other", "second", "second")
	expect.Same(t, "accounts", defaultLimit+2, s.accounts())

	// A second namespace that holds the same ones makes no room.
	for i := range defaultLimit {
		s.get("helper", fmt.Sprint(i), fmt.Sprint(i))
	}
	_, err := s.Get(fake.Provider{World: s.world}, key("greedy", "more"), password("more"), false)
	cloudtest.WantError(t, err, cloud.Exhausted, infrav1.TooManyAccountsReason)
	s.gone("greedy", "0")
	s.get("greedy", "more", "more")

	s.Limits = expect.Got(tenants.Parse([]string{"greedy:accounts=17"}))(t)
	s.get("greedy", "lifted", "lifted")
	_, err = s.Get(fake.Provider{World: s.world}, key("greedy", "beyond"), password("beyond"), false)
	expect.Says(t, "one too many", err, "already use 17 cloud accounts")
}

// TestPassedOn: accounts that one namespace opens and another one goes on to use count for that one, which gets no more by it
// than it may have. A third namespace keeps the one that it uses.
func TestPassedOn(t *testing.T) {
	s := newStage(t)
	for round := range 3 {
		name := func(i int) string { return fmt.Sprint(round, "-", i) }
		for i := range defaultLimit {
			s.get("opener", name(i), name(i))
			s.get("heir", name(i), name(i))
		}
		s.get("third", name(0), name(0))
		for i := range defaultLimit {
			s.gone("opener", name(i))
		}
		expect.Same(t, "accounts", defaultLimit+round, s.accounts())
		wait.Until(t, "the accounts to be closed", func() (any, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return maps.Clone(s.closing), len(s.closing) == 0
		})
	}
	_, err := s.Get(fake.Provider{World: s.world}, key("heir", "more"), password("more"), false)
	cloudtest.WantError(t, err, cloud.Exhausted, infrav1.TooManyAccountsReason)
}

// slow is a cloud whose session does not end before it may.
type slow struct {
	cloud.Cloud
	end <-chan struct{}
}

func (s slow) Close(ctx context.Context) error {
	<-s.end
	return s.Cloud.Close(ctx)
}

type slowProvider struct {
	fake.Provider
	end <-chan struct{}
}

func (p slowProvider) Connect(namespace string, credentials map[string][]byte) (cloud.Cloud, error) {
	c, err := p.Provider.Connect(namespace, credentials)
	return slow{c, p.end}, err
}

// TestRotation: a Secret that changes all the time does not open accounts faster than their servers let them go.
func TestRotation(t *testing.T) {
	s := newStage(t)
	end := make(chan struct{})
	p := slowProvider{fake.Provider{World: s.world}, end}
	for i := range 10 * defaultLimit {
		_, err := s.Get(p, key("a", "secret"), password(fmt.Sprint(i)), false)
		if i < 2*defaultLimit {
			expect.OK(t, err)
			continue
		}
		cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	}
	s.get("b", "secret", "secret")
	close(end)
	wait.Eventually(t, "the accounts to be closed", func(context.Context) error {
		_, err := s.Get(p, key("a", "secret"), password("secret"), false)
		return err
	})
}

// TestKeys: a key wakes machines of the namespaces that have a Secret of the account, and is sent again after a lost connection.
func TestKeys(t *testing.T) {
	s := newStage(t)
	s.get("a", "secret", "secret")
	s.haveSessions(1)
	for _, namespace := range []string{"b", "a"} {
		s.world.Put(fake.VM{Name: "vm-" + namespace, Owner: key(namespace, "m")})
	}
	expect.Same(t, "key", key("a", "m"), <-s.keys)
	s.get("b", "secret", "secret")
	s.world.Cut()
	got := map[cloud.Key]bool{<-s.keys: true, <-s.keys: true}
	if !got[key("a", "m")] || !got[key("b", "m")] {
		t.Errorf("keys after a lost connection = %v", got)
	}
}

// hostile is a cloud with a Watch of its own.
type hostile struct {
	cloud.Cloud
	watch func(ctx context.Context, changed func(...cloud.Key)) error
}

func (h hostile) Watch(ctx context.Context, changed func(...cloud.Key)) error {
	return h.watch(ctx, changed)
}

type provider struct {
	fake.Provider
	watch func(ctx context.Context, changed func(...cloud.Key)) error
}

func (p provider) Connect(namespace string, credentials map[string][]byte) (cloud.Cloud, error) {
	c, err := p.Provider.Connect(namespace, credentials)
	return hostile{c, p.watch}, err
}

// TestPanic: what panics in the watch of an account ends neither the process nor another account.
func TestPanic(t *testing.T) {
	s := newStage(t)
	var times atomic.Int64
	p := provider{fake.Provider{World: s.world}, func(context.Context, func(...cloud.Key)) error {
		times.Add(1)
		panic("an answer")
	}}
	expect.Got(s.Get(p, key("bad", "secret"), password("bad"), false))(t)
	s.get("good", "secret", "secret")
	s.haveSessions(1)
	s.world.Put(fake.VM{Name: "vm", Owner: key("good", "m")})
	expect.Same(t, "key", key("good", "m"), <-s.keys)
	wait.Until(t, "the watch to be tried again", func() (any, bool) { return times.Load(), times.Load() == 2 })
}

func TestGuard(t *testing.T) {
	err := guard(func() error { panic("x\x1b[31m") })
	expect.Says(t, "guard", err, "the account panicked: x [31m")
	if e, ok := errors.AsType[*cloud.Error](err); !ok || e.Kind != cloud.Transient {
		t.Errorf("error = %v, want a transient one", err)
	}
}

func TestEnd(t *testing.T) {
	s := newStage(t)
	s.get("a", "secret", "secret")
	s.haveSessions(1)
	s.end()
	expect.Same(t, "sessions", 0, s.world.Sessions())
	_, err := s.Get(fake.Provider{World: s.world}, key("a", "secret"), password("secret"), false)
	cloudtest.WantError(t, err, cloud.Transient, "")
}
