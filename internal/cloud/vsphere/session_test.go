package vsphere

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

func TestThumbprint(t *testing.T) {
	v := newStage(t)
	sum := sha256.Sum256(v.Certificate().Raw)
	plain := hex.EncodeToString(sum[:])
	var pairs []string
	for i := 0; i < len(plain); i += 2 {
		pairs = append(pairs, plain[i:i+2])
	}
	for _, thumbprint := range []string{plain, strings.ToUpper(plain) + "\n", strings.Join(pairs, ":")} {
		wantAbsent(t, connectTo(t, with(v.Credentials(), "thumbprint", thumbprint)), v.machine("m"))
	}
}

func wantAbsent(t *testing.T, a *account, m cloud.Machine) {
	t.Helper()
	if vm, err := a.Observe(t.Context(), m); err != cloud.ErrNotFound { //nolint:errorlint // because it is to be this one
		t.Errorf("Observe = %+v, %v, want ErrNotFound", vm, err)
	}
}

// TestOtherServer: no byte of the credentials goes to a server that is not the one of the Secret.
func TestOtherServer(t *testing.T) {
	v := newStage(t)
	var heard atomic.Int32
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.StartTLS()
	defer other.Close()
	wrong := hex.EncodeToString(make([]byte, sha256.Size))

	pinned := with(v.Credentials(), "thumbprint", wrong)
	for name, credentials := range map[string]map[string][]byte{
		"another name than the certificate's": with(v.credentials(), "server",
			"localhost:"+strings.Split(other.Listener.Addr().String(), ":")[1]),
		"another authority":  with(with(v.credentials(), "server", other.Listener.Addr().String()), "ca.crt", otherCA),
		"another thumbprint": with(pinned, "server", other.Listener.Addr().String()),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := connectTo(t, credentials).Observe(t.Context(), v.machine("m"))
			wantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
			if n := heard.Load(); n != 0 {
				t.Errorf("the other server got %d requests", n)
			}
		})
	}
}

// TestRedirect: a server that we trust does not send the password on to another one.
func TestRedirect(t *testing.T) {
	v := newStage(t)
	var heard atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	defer other.Close()
	v.Config.Handler = http.RedirectHandler(other.URL, http.StatusTemporaryRedirect)
	_, err := v.account().Observe(t.Context(), v.machine("m"))
	wantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	if n := heard.Load(); n != 0 {
		t.Errorf("the other server got %d requests", n)
	}
}

// TestRefusedPassword: many machines with a wrong password do not lock the user out of the vCenter.
func TestRefusedPassword(t *testing.T) {
	v := newStage(t)
	a := connectTo(t, with(v.credentials(), "password", "wrong"))
	var clock atomic.Int64
	a.connection.now = func() time.Time { return time.Unix(clock.Load(), 0) }
	try := func() {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, err := a.Ensure(t.Context(), v.machine("m"))
				wantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
			})
		}
		all.Wait()
	}
	try()
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
	v := newStage(t)
	var dialled atomic.Int32
	v.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		dialled.Add(1)
		panic(http.ErrAbortHandler)
	})
	a := v.account()
	for range 20 {
		_, err := a.Observe(t.Context(), v.machine("m"))
		wantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	}
	if n := dialled.Load(); n > 2 {
		t.Errorf("%d requests, want one try and perhaps one more after a second", n)
	}
}

// TestSessionEnds: vCenter ends sessions, for instance when it restarts; one login makes a new one for all.
func TestSessionEnds(t *testing.T) {
	v := newStage(t)
	a := v.account()
	m := v.machine("m")
	wantAbsent(t, a, m)
	v.Count()
	v.EndSessions()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { wantAbsent(t, a, m) })
	}
	all.Wait()
	if calls := v.Count(); calls["Login"] != 1 {
		t.Errorf("logins: %d, want 1", calls["Login"])
	}
	if n := len(v.Sessions()); n != 1 {
		t.Errorf("sessions: %d, want 1", n)
	}
}
