package security

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/drip"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestDrippingARM: an Azure that a tenant brings answers a byte at a time. One call waits for it, and all other machines of the
// account leave their workers to others.
func TestDrippingARM(t *testing.T) {
	for _, part := range []string{"token", "call"} {
		attempt(t, attack{"tenant", "brings an Azure that answers each " + part + " one byte at a time", func(t *testing.T) string {
			asked := make(chan struct{}, 100)
			slow := func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				drip.Forever(w, r)
			}
			e := newEvilARM(t, func(_ *evilARM, w http.ResponseWriter, r *http.Request) { slow(w, r) })
			if part == "token" {
				e.dripping = slow
			}
			account, _ := e.connect(t, time.Now, "")
			defer func() { expect.OK(t, account.Close(t.Context())) }()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			const machines = 40
			ended := make(chan error, machines)
			for n := range machines {
				m := tenantsMachine(t, fmt.Sprint("m", n))
				go func() {
					_, err := account.Ensure(ctx, m)
					ended <- err
				}()
			}
			<-asked
			for range machines - 1 {
				if err := <-ended; err == nil {
					t.Error("there is a VM")
				}
			}
			if n := len(asked); n > 0 {
				t.Errorf("%d calls hang, want one for all", n+1)
			}
			leave()
			return shown(t, <-ended)
		}})
	}
}

// TestTokenLives: the authority that a tenant brings says strange things of how long its tokens hold. Machines that look without
// a pause have it asked once, or, if it gives none that can be used, seldom.
func TestTokenLives(t *testing.T) {
	for says, life := range map[string]string{
		"for no time": `"expires_in":0,`, "for less": `"expires_in":-1,`,
		"for longer than there is": `"expires_in":1000000000000000000,`,
		"for a word":               `"expires_in":"soon",`, "without an end": " ",
	} {
		attempt(t, attack{"tenant", "brings an authority whose tokens hold " + says, func(t *testing.T) string {
			e := newEvilARM(t, func(_ *evilARM, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"value":[]}`) })
			e.life = life
			now := time.Now()
			account, m := e.connect(t, func() time.Time { return now }, "")
			defer func() { expect.OK(t, account.Close(t.Context())) }()
			for range 200 {
				_, _ = account.Observe(t.Context(), m)
				now = now.Add(time.Second)
			}
			n := e.given.Load()
			if n < 1 || n > 20 {
				t.Errorf("%d tokens were asked for in 200 s", n)
			}
			return "it is asked seldom"
		}})
	}
}
