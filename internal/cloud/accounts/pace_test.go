package accounts

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// TestRest: a watch that ends at once is started at a slower pace each time, and a good one begins anew.
func TestRest(t *testing.T) {
	var paused []time.Duration
	due := firstPause
	for _, ran := range []time.Duration{0, 0, 0, 0, 0, 0, 0, steady, steady + 1, 0} {
		var pause time.Duration
		pause, due = rest(due, ran)
		paused = append(paused, pause)
	}
	s := time.Second
	expect.Same(t, "pauses", []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s, 30 * s, s, 2 * s}, paused)
}

// refusing is a provider that takes no credentials.
type refusing struct{ fake.Provider }

var errRefusing = errors.New("there is no such server")

// Connect is part of cloud.Provider.
func (refusing) Connect(string, map[string][]byte) (cloud.Cloud, error) { return nil, errRefusing }

// TestRefusedConnection: credentials that are no account open none.
func TestRefusedConnection(t *testing.T) {
	s := newStage(t)
	_, err := s.Get(refusing{fake.Provider{World: s.world}}, key("a", "secret"), password("secret"), false)
	if !errors.Is(err, errRefusing) {
		t.Errorf("Get = %v", err)
	}
	expect.Same(t, "accounts", 0, s.accounts())
}

// spoilt is a provider that finds fault with credentials once they are bad.
type spoilt struct {
	fake.Provider
	bad *bool
}

// Principal is part of cloud.Provider.
func (s spoilt) Principal(credentials map[string][]byte) (text string, err error) {
	if text, err = s.Provider.Principal(credentials); *s.bad {
		err = errRefusing
	}
	return text, err
}

// TestSpoiltSecret: a Secret whose credentials are bad by now has no account any more, whichever user they name.
func TestSpoiltSecret(t *testing.T) {
	s := newStage(t)
	p := spoilt{fake.Provider{World: s.world}, new(false)}
	expect.Got(s.Get(p, key("a", "secret"), password("secret"), false))(t)
	expect.Same(t, "accounts", 1, s.accounts())
	*p.bad = true
	for range 2 {
		_, err := s.Get(p, key("a", "secret"), password("secret"), false)
		expect.Same(t, "why there is none", true, errors.Is(err, errRefusing))
		expect.Same(t, "accounts", 0, s.accounts())
	}
}

// TestClosedIsForgotten: nothing is left of an account whose session has ended.
func TestClosedIsForgotten(t *testing.T) {
	s := newStage(t)
	s.get("a", "secret", "secret")
	s.gone("a", "secret")
	wait.Until(t, "nothing to be closing", func() (any, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return maps.Clone(s.closing), len(s.closing) == 0
	})
}

// TestLeft: a namespace whose Secrets are gone has no part in an account any more, and another one keeps its own.
func TestLeft(t *testing.T) {
	s := newStage(t)
	s.get("a", "secret", "secret")
	s.get("b", "secret", "secret")
	s.gone("b", "secret")
	s.mu.Lock()
	a := s.secrets[secretOf{fake.Provider{}.Name(), key("a", "secret")}]
	s.mu.Unlock()
	expect.Same(t, "a has the account", true, len(a.served([]cloud.Key{key("a", "m"), {}})) == 1)
	expect.Same(t, "b has it", false, len(a.served([]cloud.Key{key("b", "m")})) == 1)
	expect.Same(t, "its name", "a/secret", a.opener.String())
	s.get("c", "wrong", "wrong")
	expect.Same(t, "a wrong Secret is blind", true, s.Marked(func(Marked) {})[key("c", "wrong")])
}
