package session

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// authorized are credentials with a certificate authority instead of a thumbprint.
func authorized(v *vcenter.VCenter) map[string][]byte {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.Certificate().Raw})
	credentials := with(v.Credentials(), "ca.crt", string(authority))
	delete(credentials, "thumbprint")
	return credentials
}

func with(credentials map[string][]byte, key, value string) map[string][]byte {
	credentials[key] = []byte(value)
	return credentials
}

func open(t *testing.T, credentials map[string][]byte) *Session {
	t.Helper()
	s := expect.Got(Open(credentials))(t)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// ask makes a call that needs a session, once there is a place for it.
func ask(t *testing.T, s *Session) (err error) {
	t.Helper()
	wait.Until(t, "a place", func() (any, bool) {
		err = askOnce(t, s)
		return err, kindOf(err) != cloud.Later
	})
	return err
}

func kindOf(err error) cloud.Kind {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Kind
	}
	return ""
}

func askOnce(t *testing.T, s *Session) error {
	t.Helper()
	_, err := Do(t.Context(), s, func(ctx context.Context, c *vim25.Client) (*time.Time, error) {
		return methods.GetCurrentTime(ctx, c)
	})
	return err
}

func TestThumbprint(t *testing.T) {
	v := vcenter.New(t)
	sum := sha256.Sum256(v.Certificate().Raw)
	plain := hex.EncodeToString(sum[:])
	var pairs []string
	for i := 0; i < len(plain); i += 2 {
		pairs = append(pairs, plain[i:i+2])
	}
	for _, thumbprint := range []string{plain, strings.ToUpper(plain) + "\n", strings.Join(pairs, ":")} {
		expect.OK(t, ask(t, open(t, with(v.Credentials(), "thumbprint", thumbprint))))
	}
}

// TestOtherServer: no byte of the credentials goes to a server that is not the one of the Secret.
func TestOtherServer(t *testing.T) {
	v := vcenter.New(t)
	var heard atomic.Int32
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.StartTLS()
	defer other.Close()
	wrong := hex.EncodeToString(make([]byte, sha256.Size))

	pinned := with(v.Credentials(), "thumbprint", wrong)
	for name, credentials := range map[string]map[string][]byte{
		"another name than the certificate's": with(authorized(v), "server",
			"localhost:"+strings.Split(other.Listener.Addr().String(), ":")[1]),
		"another authority":  with(with(authorized(v), "server", other.Listener.Addr().String()), "ca.crt", otherCA),
		"another thumbprint": with(pinned, "server", other.Listener.Addr().String()),
	} {
		t.Run(name, func(t *testing.T) {
			cloudtest.WantError(t, ask(t, open(t, credentials)), cloud.Denied, infrav1.CredentialsRejectedReason)
			if n := heard.Load(); n != 0 {
				t.Errorf("the other server got %d requests", n)
			}
		})
	}
}

// TestRedirect: a server that we trust does not send us on to another one, neither before it has the password nor with it, nor
// with the cookie of the session; not even to one with the same certificate.
func TestRedirect(t *testing.T) {
	v := vcenter.New(t)
	var heard atomic.Int32
	hear := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) })
	plain, same := httptest.NewServer(hear), httptest.NewUnstartedServer(hear)
	defer plain.Close()
	same.TLS = &tls.Config{Certificates: v.TLS.Certificates, MinVersion: tls.VersionTLS12}
	same.StartTLS()
	defer same.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, method := range []string{"RetrieveServiceContent", "Login", "CurrentTime"} {
			for _, to := range []*httptest.Server{plain, same} {
				door := v.Open(func(asked string, next http.Handler, w http.ResponseWriter, r *http.Request) {
					if asked == method {
						next = http.RedirectHandler(to.URL+vim25.Path, status)
					}
					next.ServeHTTP(w, r)
				})
				s := open(t, door.Credentials())
				err := ask(t, s)
				cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
				expect.OK(t, s.Close(t.Context()))
				door.Close()
				if n := heard.Load(); n != 0 {
					t.Fatalf("%s with %d: the other server got %d requests", method, status, n)
				}
			}
		}
	}
}

// TestRefusedPassword: many machines with a wrong password do not lock the user out of the vCenter.
func TestRefusedPassword(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, with(authorized(v), "password", "wrong"))
	var clock atomic.Int64
	s.now = func() time.Time { return time.Unix(clock.Load(), 0) }
	try := func() {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { cloudtest.WantError(t, ask(t, s), cloud.Denied, infrav1.CredentialsRejectedReason) })
		}
		all.Wait()
	}
	try()
	expect.Says(t, "a call", askOnce(t, s), s.endpoint.server) // so that people know which one
	if h := s.Health(); !h.Broken || h.Cause == nil {
		t.Errorf("Health = %+v, want the refusal as its cause", h)
	}
	refused, _ := errors.AsType[*cloud.Error](ask(t, s))
	expect.Same(t, "time of the next try", 300*time.Second, refused.After)
	clock.Add(int64(afterRefusal.Seconds()) - 1)
	try()
	if calls := v.Count(); calls["Login"] != 1 {
		t.Errorf("logins: %d, want 1", calls["Login"])
	}
	clock.Add(1)
	try()
	if calls := v.Count(); calls["Login"] != 1 {
		t.Errorf("logins after %s: %d, want 1", afterRefusal, calls["Login"])
	}
}

// TestDeadVCenter: one that does not answer is not dialled by each call.
func TestDeadVCenter(t *testing.T) {
	v := vcenter.New(t)
	var dialled atomic.Int32
	v.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		dialled.Add(1)
		panic(http.ErrAbortHandler)
	})
	s := open(t, authorized(v))
	for range 20 {
		cloudtest.WantError(t, ask(t, s), cloud.Transient, infrav1.CloudUnreachableReason)
	}
	if n := dialled.Load(); n > 2 {
		t.Errorf("%d requests, want one try and perhaps one more after a second", n)
	}
}

// TestSessionEnds: vCenter ends sessions, for instance when it restarts; one login makes a new one for all.
func TestSessionEnds(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, v.Credentials())
	expect.OK(t, ask(t, s))
	v.Count()
	v.Owner(t).EndSessions()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { expect.Fine(t, ask(t, s)) })
	}
	all.Wait()
	if calls := v.Count(); calls["Login"] != 1 {
		t.Errorf("logins: %d, want 1", calls["Login"])
	}
	if n := len(v.Owner(t).Sessions()); n != 1 {
		t.Errorf("sessions: %d, want 1", n)
	}
}

// TestClosedForGood: a login that begins as the session is closed is none, and holds nothing back.
func TestClosedForGood(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, v.Credentials())
	expect.OK(t, s.Close(t.Context()))
	for range 2 {
		if client, err := s.try(t.Context()); client != nil || !errors.Is(err, errClosed) {
			t.Errorf("try = %v, %v", client, err)
		}
	}
	expect.Same(t, "logins", 0, v.Calls()["Login"])
}

// TestLoggedInBefore: who comes to log in when another caller has just done so takes its client.
func TestLoggedInBefore(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, v.Credentials())
	first := expect.Got(s.try(t.Context()))(t)
	if second := expect.Got(s.try(t.Context()))(t); first == nil || second != first {
		t.Error("a second client was made")
	}
	expect.Same(t, "logins", 1, v.Calls()["Login"])
}

// TestServer: which vCenter it is, a login says, once; until then a caller may take it for any.
func TestServer(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, v.Credentials())
	const other = "00000000-0000-0000-0000-000000000000"
	expect.OK(t, s.Verify(other))
	expect.Same(t, "sessions", 0, s.Health().Sessions)
	id := expect.Got(s.Server(t.Context()))(t)
	expect.Same(t, "server", v.Owner(t).Client.ServiceContent.About.InstanceUuid, id)
	expect.Same(t, "sessions", 1, s.Health().Sessions)
	v.Count()
	expect.Same(t, "server, again", id, expect.Got(s.Server(t.Context()))(t))
	expect.Same(t, "calls", 0, len(v.Count()))
	for server, text := range map[string]string{"": "", id: "", other: "another vCenter answers"} {
		expect.Says(t, "Is", s.Verify(server), text)
	}
	expect.OK(t, s.Close(t.Context()))
	_, err := s.Server(t.Context())
	expect.Says(t, "Server after Close", err, "no longer in use")
}

// TestAnotherAtTheAddress: a vCenter that is not the first one gets no password, and is looked at again after a while.
func TestAnotherAtTheAddress(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, v.Credentials())
	s.server = "00000000-0000-0000-0000-000000000000"
	var clock atomic.Int64
	s.now = func() time.Time { return time.Unix(clock.Load(), 0) }
	minute := int64(lookAgain.Seconds())
	for _, c := range []struct{ after, looks int64 }{{0, 1}, {minute - 1, 1}, {1, 2}} {
		clock.Add(c.after)
		err := ask(t, s)
		known, ok := errors.AsType[*cloud.Error](err)
		if !ok || !errors.Is(err, cloud.ErrOtherServer) || known.After != lookAgain {
			t.Errorf("error = %v, %+v", err, known)
		}
		expect.Same(t, "looks", int(c.looks), v.Calls()["RetrieveServiceContent"])
	}
	expect.Same(t, "logins", 0, v.Calls()["Login"])
	expect.Same(t, "silent", false, s.Broken())
}
