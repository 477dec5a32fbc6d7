package tenants

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestPasses: a namespace runs as many at a time as it may have, the rest follow in their order, and other namespaces do not
// wait for them. After Close none begins, and nothing is kept.
func TestPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Passes{Kind: Guests, Limits: expect.Got(Parse([]string{"a:guests=2"}))(t)}
		began := make(chan string, 100)
		begins := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			got := map[string]bool{}
			for len(began) > 0 {
				got[<-began] = true
			}
			expect.Same(t, what, len(want), len(got))
			for _, name := range want {
				expect.Same(t, what+": "+name, true, got[name])
			}
		}
		add := func(namespace string, count int) {
			for i := range count {
				p.Go(namespace, func() {
					began <- fmt.Sprint(namespace, i)
					<-time.After(time.Second)
				})
			}
		}
		add("a", 7)
		add("b", 3)
		begins("at once", "a0", "a1", "b0", "b1", "b2")
		<-time.After(time.Second)
		begins("after a turn", "a2", "a3")
		<-time.After(time.Second)
		begins("after two", "a4", "a5")
		<-time.After(time.Millisecond)
		p.Close()
		begins("once it is closed")
		add("a", 1)
		begins("what comes later")
		expect.Same(t, "namespaces that are kept", 0, len(p.namespaces))
	})
}
