package cloud_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/fake"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// started returns accounts that run, the keys that they send, and what ends them.
func started(t *testing.T) (*cloud.Accounts, <-chan cloud.Key, func()) {
	t.Helper()
	changed := make(chan cloud.Key, 100)
	accounts := &cloud.Accounts{Changed: changed}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- accounts.Start(ctx) }()
	stop := func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Start = %v", err)
		}
	}
	wait.Eventually(t, "the accounts to start", func(context.Context) error {
		_, err := accounts.Get(fake.Provider{World: &fake.World{}}, cloud.Key{Name: "warm up"}, password("secret"))
		return err
	})
	return accounts, changed, stop
}

func password(p string) map[string][]byte { return map[string][]byte{"password": []byte(p)} }

func haveSessions(t *testing.T, world *fake.World, want int) {
	t.Helper()
	wait.Until(t, "the sessions of accounts that are watched",
		func() (any, bool) { return world.Sessions(), world.Sessions() == want })
}

func TestAccountsBeforeStart(t *testing.T) {
	accounts := &cloud.Accounts{}
	if c, err := accounts.Get(fake.Provider{World: &fake.World{}}, cloud.Key{}, password("secret")); err == nil {
		t.Errorf("Get = %v before Start, want an error", c)
	}
}

func TestAccounts(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	world := &fake.World{}
	accounts, changed, stop := started(t)
	defer stop()
	get := func(secret, p string) cloud.Cloud {
		t.Helper()
		c, err := accounts.Get(fake.Provider{World: world}, cloud.Key{Namespace: "default", Name: secret}, password(p))
		expect.OK(t, err)
		return c
	}
	first := get("a", "secret")
	if get("a", "secret") != first {
		t.Error("the same Secret makes another account")
	}
	if get("b", "secret") == first {
		t.Error("another Secret has the same account")
	}
	haveSessions(t, world, 2)

	key := cloud.Key{Namespace: "default", Name: "m"}
	world.Put(fake.VM{Name: "vm", Owner: key})
	if got := <-changed; got != key {
		t.Errorf("key = %v, want %v", got, key)
	}
	world.Cut()
	for range 2 {
		if got := <-changed; got != key {
			t.Errorf("key after a lost connection = %v, want %v", got, key)
		}
	}

	if get("a", "another") == first {
		t.Error("other credentials have the same account")
	}
	haveSessions(t, world, 1) // that of the old credentials ends
	if _, err := accounts.Get(fake.Provider{World: world}, key, map[string][]byte{}); err == nil {
		t.Error("Get with no credentials is no error")
	}
}

func TestAccountsEnd(t *testing.T) {
	world := &fake.World{}
	accounts, _, stop := started(t)
	if _, err := accounts.Get(fake.Provider{World: world}, cloud.Key{Name: "a"}, password("secret")); err != nil {
		t.Fatal(err)
	}
	haveSessions(t, world, 1)
	stop()
	if n := world.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	if c, err := accounts.Get(fake.Provider{World: world}, cloud.Key{Name: "a"}, password("secret")); err == nil {
		t.Errorf("Get = %v after the end, want an error", c)
	}
}
