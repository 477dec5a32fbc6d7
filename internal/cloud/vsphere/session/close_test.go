package session

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestClosedBeforeLogin: who closes a session does not wait for a vCenter that does not say what it is, and sends it no password.
func TestClosedBeforeLogin(t *testing.T) {
	v, silent := vcenter.New(t), newSilentAt("RetrieveServiceContent")
	s := silent.open(t, v)
	failed := make(chan error, 1)
	go func() { failed <- askOnce(t, s) }()
	<-silent.asked
	begun := time.Now()
	expect.OK(t, s.Close(t.Context()))
	t.Logf("closed after %s; the vCenter has %s for its answer", time.Since(begun).Round(time.Millisecond), probeTimeout)
	expect.Same(t, "a call that fails", true, <-failed != nil)
	close(silent.answer)
	expect.Same(t, "what was asked", []string{"RetrieveServiceContent"}, silent.methods())
}

// TestClosedDuringLogin: a login that was sent is awaited, since it may open a session that nobody else would end.
func TestClosedDuringLogin(t *testing.T) {
	v, silent := vcenter.New(t), newSilentAt("Login")
	s := silent.open(t, v)
	called, closed := make(chan struct{}), make(chan error, 1)
	go func() {
		_ = askOnce(t, s) // before the end of the session, or after it
		close(called)
	}()
	<-silent.asked
	go func() { closed <- s.Close(t.Context()) }()
	wait.Until(t, "the session to be closing", func() (any, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, err := s.current()
		return err, errors.Is(err, errClosed)
	})
	close(silent.answer)
	<-called
	expect.OK(t, <-closed)
	all := silent.methods()
	expect.Same(t, "logins and logouts", []bool{true, true}, []bool{slices.Contains(all, "Login"), slices.Contains(all, "Logout")})
	expect.Same(t, "sessions", 0, len(v.Owner(t).Sessions()))
}

// silentAt is a door of a vCenter where one method, when it is asked for, waits for a word.
type silentAt struct {
	method        string
	asked, answer chan struct{}

	mu  sync.Mutex
	all []string // methods that were asked for
}

func newSilentAt(method string) *silentAt {
	return &silentAt{method: method, asked: make(chan struct{}), answer: make(chan struct{})}
}

func (s *silentAt) methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

func (s *silentAt) open(t *testing.T, v *vcenter.VCenter) *Session {
	t.Helper()
	door := v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.all = append(s.all, method)
		s.mu.Unlock()
		if method == s.method {
			close(s.asked)
			<-s.answer
		}
		next.ServeHTTP(w, r)
	})
	t.Cleanup(door.Close)
	return open(t, door.Credentials())
}
