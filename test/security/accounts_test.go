package security

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// TestManySecrets: a tenant makes Secrets, each of which would be a session, a list of VMs and goroutines.
func TestManySecrets(t *testing.T) {
	b := newBystander(t)
	const secrets = 500
	// try asks for the accounts of all Secrets, some times over, and returns how many are refused.
	try := func(t *testing.T, namespaces []string, credentials func(n int) map[string][]byte) (refused int) {
		t.Helper()
		for range 2 {
			refused = 0
			for n := range secrets {
				for _, namespace := range namespaces {
					secret := cloud.Key{Namespace: namespace, Name: fmt.Sprint("s", n)}
					if _, err := b.Get(vsphere.Provider{}, secret, credentials(n)); err != nil {
						if !strings.HasPrefix(shown(t, err), infrav1.TooManyAccountsReason) {
							t.Errorf("error = %v", err)
						}
						refused++
					}
				}
			}
		}
		defer func() {
			for n := range secrets {
				for _, namespace := range namespaces {
					b.Gone(vsphere.Provider{}, cloud.Key{Namespace: namespace, Name: fmt.Sprint("s", n)})
				}
			}
		}()
		b.unharmed(t)
		return refused
	}
	var asked atomic.Int64
	_, dead := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	numbered := func(n int) map[string][]byte {
		c := map[string][]byte{"password": fmt.Appendf(nil, "p%d", n)}
		for _, key := range []string{"server", "username", "thumbprint"} {
			c[key] = dead[key]
		}
		return c
	}
	attempt(t,
		attack{"tenant", "makes 500 Secrets, each for an account of its own", func(t *testing.T) string {
			before := runtime.NumGoroutine()
			refused := try(t, []string{"tenant"}, numbered)
			if n := runtime.NumGoroutine() - before; n > 20*accounts.MaxAccounts {
				t.Errorf("%d goroutines more", n)
			}
			expect.Same(t, "refused", secrets-accounts.MaxAccounts, refused)
			return fmt.Sprintf("%d refused: %s", refused, infrav1.TooManyAccountsReason)
		}},
		attack{"tenant", "makes the same 500 Secrets in two namespaces, so that both share the accounts", func(t *testing.T) string {
			refused := try(t, []string{"tenant", "accomplice"}, numbered)
			if open := 2*secrets - refused; open > 4*accounts.MaxAccounts {
				t.Errorf("%d Secrets have an account", open)
			}
			return fmt.Sprintf("%d refused: %s", refused, infrav1.TooManyAccountsReason)
		}},
		attack{"tenant", "makes 500 Secrets with equal credentials", func(t *testing.T) string {
			v := vcenter.New(t)
			expect.Same(t, "refused", 0, try(t, []string{"tenant", "accomplice"}, func(n int) map[string][]byte {
				c := v.Credentials()
				c["note"] = fmt.Append(nil, n)
				return c
			}))
			if calls := v.Calls(); calls["Login"] != 1 {
				t.Errorf("logins: %d, want 1", calls["Login"])
			}
			return "all share one session"
		}},
	)
}

// TestOtherCredentials: a tenant names the server and user of another namespace, without knowing the password.
func TestOtherCredentials(t *testing.T) {
	b := newBystander(t)
	attempt(t, attack{"tenant", "logs in as the vCenter user of another namespace with a wrong password", func(t *testing.T) string {
		c := expect.Got(b.Get(vsphere.Provider{}, honestSecret, b.honest.Credentials()))(t)
		m := machineIn("honest", "seen")
		wait.Until(t, "the machine to run", func() (any, bool) {
			vm, err := c.Ensure(t.Context(), m)
			return err, err == nil && vm.State == cloud.Running
		})
		wrong := b.honest.Credentials()
		wrong["password"] = []byte("wrong")
		mine := b.account(t, wrong)
		_, err := mine.Observe(t.Context(), m)
		if server, err := mine.Server(t.Context(), cloud.Key{}); err == nil {
			t.Errorf("it is told the server %q", server)
		}
		if _, deleted := mine.Delete(t.Context(), m); deleted == nil || errors.Is(deleted, cloud.ErrNotFound) {
			t.Errorf("Delete = %v", deleted)
		}
		expect.Got(c.Observe(t.Context(), m))(t)
		b.unharmed(t)
		return shown(t, err)
	}})
}

// TestForeignMarks: a vCenter has VMs with the mark of machines of another namespace.
func TestForeignMarks(t *testing.T) {
	b := newBystander(t)
	attempt(t, attack{"vCenter", "marks a VM as that of another namespace's machine, to wake that", func(t *testing.T) string {
		v := vcenter.New(t)
		owner := v.Owner(t)
		owner.Occupy("foreign")
		owner.Occupy("own")
		b.account(t, v.Credentials())
		owner.SetExtra("foreign", "capwin.owner", "honest/m")
		owner.SetExtra("own", "capwin.owner", "tenant/m")
		expect.Same(t, "the first key", cloud.Key{Namespace: "tenant", Name: "m"}, <-b.keys)
		expect.Same(t, "more keys", 0, len(b.keys))
		return "only machines of its own namespace are woken"
	}})
}

// TestCrowdedAccount: a tenant has so many VMs marked in a vCenter that all use by one account that their keys come without end.
func TestCrowdedAccount(t *testing.T) {
	b := newBystander(t)
	attempt(t, attack{"tenant", "marks 12,000 VMs of a shared account, to hold back another namespace", func(t *testing.T) string {
		v := vcenter.New(t)
		owner := v.Owner(t)
		owner.Occupy("late")
		door := v.Open(vcenter.Crowd(12_000, func(n int) string { return vcenter.Extra("capwin.owner", fmt.Sprint("tenant/", n)) }))
		t.Cleanup(door.Close)
		b.account(t, door.Credentials())
		expect.Got(b.Get(vsphere.Provider{}, cloud.Key{Namespace: "honest", Name: "shared"}, door.Credentials()))(t)
		wait.Until(t, "the keys of the tenant", func() (any, bool) { return len(b.keys), len(b.keys) >= accounts.Burst })
		owner.SetExtra("late", "capwin.owner", "honest/m")
		before := 0
		for (<-b.keys).Namespace != "honest" {
			before++
		}
		if before > 2*accounts.Burst {
			t.Errorf("%d keys of the tenant came first", before)
		}
		return "the other key passes at once"
	}})
}

// TestClosed: the session and password of a Secret do not outlive it.
func TestClosed(t *testing.T) {
	b := newBystander(t)
	for tries, end := range map[string]func(t *testing.T, credentials map[string][]byte){
		"keeps a session open after its Secret is deleted": func(*testing.T, map[string][]byte) {
			b.Gone(vsphere.Provider{}, tenantSecret)
		},
		"keeps a session open after its Secret has another password": func(t *testing.T, credentials map[string][]byte) {
			credentials["password"] = []byte("another")
			b.account(t, credentials)
		},
		"keeps a session open after its Secret is broken": func(t *testing.T, _ map[string][]byte) {
			if _, err := b.Get(vsphere.Provider{}, tenantSecret, nil); err == nil {
				t.Error("a Secret without credentials has an account")
			}
		},
		"keeps a session open that no machine uses": func(*testing.T, map[string][]byte) {
			b.later.Add(int64(accounts.KeepUnused))
			b.Sweep()
		},
	} {
		attempt(t, attack{"tenant", tries, func(t *testing.T) string {
			v := vcenter.New(t)
			expect.Got(b.account(t, v.Credentials()).Server(t.Context(), cloud.Key{}))(t)
			end(t, v.Credentials())
			wait.Until(t, "the logout", func() (any, bool) { return v.Calls(), v.Calls()["Logout"] == 1 })
			b.Gone(vsphere.Provider{}, tenantSecret)
			b.unharmed(t)
			return "logged out"
		}})
	}
}

// TestProbing: a tenant names a server inside the network of the management cluster, to learn what is there. Whether something
// speaks TLS is told, because users need to know if a certificate is the wrong one; nothing else is.
func TestProbing(t *testing.T) {
	b := newBystander(t)
	banner := "SSH-2.0-internal-secret\r\n"
	var heard atomic.Value
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	defer func() { expect.Fine(t, plain.Close()) }()
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, banner)
			read := make([]byte, 4096)
			n, _ := conn.Read(read)
			heard.Store(string(read[:n]))
			_ = conn.Close()
		}
	}()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	expect.OK(t, closed.Close())
	inside, known := serve(t, func(w http.ResponseWriter, r *http.Request) {
		heard.Store(r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, banner)
	})
	pinned := string(known["thumbprint"])
	for tries, c := range map[string]struct{ server, thumbprint string }{
		"asks what answers at a port with TLS":               {inside.Listener.Addr().String(), strings.Repeat("00", 32)},
		"probes a port with TLS whose certificate they know": {inside.Listener.Addr().String(), pinned},
		"probes a port without TLS":                          {plain.Addr().String(), pinned},
		"probes a closed port":                               {closed.Addr().String(), pinned},
		"probes a name that does not exist":                  {"no-such-host.invalid", pinned},
		"probes a privileged port of the manager's host":     {"127.0.0.1:1", pinned},
	} {
		attempt(t, attack{"tenant", tries, func(t *testing.T) string {
			heard.Store("")
			_, err := b.account(t, map[string][]byte{
				"server": []byte(c.server), "username": []byte("u"), "password": []byte("password-of-the-tenant"),
				"thumbprint": []byte(c.thumbprint),
			}).Observe(t.Context(), machineIn("tenant", "m"))
			verdict := shown(t, err)
			told := (*cloud.Error)(nil)
			if errors.As(err, &told) && strings.Contains(told.Message, "internal-secret") {
				t.Errorf("the answer is told: %s", told.Message)
			}
			if text, _ := heard.Load().(string); strings.Contains(text, "password-of-the-tenant") {
				t.Errorf("the server was sent the password: %q", text)
			}
			return verdict
		}})
	}
	for _, wrong := range []string{"http://x", "x/path", "u:p@x", "x?y", "x#y", ""} {
		attempt(t, attack{"tenant", fmt.Sprintf("names the server %q", wrong), func(t *testing.T) string {
			_, err := b.Get(vsphere.Provider{}, tenantSecret, map[string][]byte{
				"server": []byte(wrong), "username": []byte("u"), "password": []byte("p"), "thumbprint": []byte(pinned),
			})
			return shown(t, err)
		}})
	}
}
