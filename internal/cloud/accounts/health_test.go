package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// ailing is a cloud whose health a test decides.
type ailing struct {
	cloud.Cloud
	mu     sync.Mutex
	health cloud.Health
}

func (a *ailing) Health() cloud.Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.health
}

func (a *ailing) breaks(is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.health.Broken = is
}

type ailingProvider struct {
	fake.Provider
	ailing *ailing
}

func (p ailingProvider) Connect(namespace string, credentials map[string][]byte) (c cloud.Cloud, err error) {
	p.ailing.Cloud, err = p.Provider.Connect(namespace, credentials)
	return p.ailing, err
}

// TestTold: the log has a line when an account breaks and one when it is back, with server and Secret.
func TestTold(t *testing.T) {
	r := &Register{Changed: func(...cloud.Key) {}}
	var later time.Duration
	start := time.Now()
	r.Now = func() time.Time { return start.Add(later) }
	ctx, end := context.WithCancel(t.Context())
	defer end()
	r.ctx, r.open, r.secrets, r.closing = ctx, map[principal]*account{}, map[secretOf]*account{}, map[string]int{}
	var lines []string
	log := logr.NewContext(ctx, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	look := func(want int, what string) {
		t.Helper()
		r.logOutages(log)
		r.logOutages(log)
		expect.Same(t, "lines "+what, want, len(lines))
	}
	a := &ailing{health: cloud.Health{Server: "vcenter.example.org\x1b", Cause: errors.New("no route")}}
	world := &fake.World{}
	for i := range 3 { // Secrets of the same account
		p := ailingProvider{fake.Provider{World: world}, a}
		expect.Got(r.Get(p, key("ns", fmt.Sprint("vcenter", i)), password("secret"), false))(t)
	}
	look(0, "while it is well")
	a.breaks(true)
	look(1, "when it breaks")
	for _, want := range []string{"ns/vcenter0", `"vcenter.example.org "`, "no route"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("line %s lacks %s", lines[0], want)
		}
	}
	a.breaks(false)
	look(2, "when it is back")
	for range 100 { // it comes and goes
		a.breaks(true)
		r.logOutages(log)
		a.breaks(false)
		r.logOutages(log)
	}
	look(2, "soon after that")
	a.breaks(true)
	later = quiet
	look(3, "when it breaks later")
	later += quiet / 2
	a.breaks(false)
	look(4, "when it is back again")
	later += quiet / 2
	a.breaks(true)
	look(5, "a minute after it was said to be broken")
}

// TestWrongPassword: a Secret that names the same server and user with another password sees none of the machines' keys, and
// holds none back.
func TestWrongPassword(t *testing.T) {
	s := newStage(t)
	for range 3 {
		s.get("b", "vcenter", "wrong")
	}
	s.get("a", "vcenter", "secret")
	s.haveSessions(1)
	s.world.Put(fake.VM{Name: "of-b", Owner: key("b", "m")})
	s.world.Put(fake.VM{Name: "of-a", Owner: key("a", "m")})
	expect.Same(t, "key", key("a", "m"), <-s.keys)
	expect.Same(t, "more keys", 0, len(s.keys))
	expect.Same(t, "accounts", 2, s.accounts())
}
