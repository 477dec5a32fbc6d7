package tenants

import (
	"fmt"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestNotices: a namespace gets a notice of three quarters of a count and of all of it, each once an hour, however often that
// comes and goes; and what is remembered is forgotten.
func TestNotices(t *testing.T) {
	var seen []string
	n := &Notices{
		Limits: expect.Got(Parse([]string{"lifted:accounts=32", "one:clusters=1"}))(t),
		Publish: func(n Notice) {
			seen = append(seen, fmt.Sprintf("%s %s %d/%d %t", n.Namespace, n.Kind, n.Count, n.Limit, n.Full))
		},
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	gives := func(what string, want ...string) {
		t.Helper()
		expect.Same(t, what, want, seen)
		seen = nil
	}
	count := func(namespace string, kind Kind, from, to int) {
		for i := from; i <= to; i++ {
			n.Counted(namespace, kind, i, now)
		}
	}
	count("team", Accounts, 1, 11)
	gives("below three quarters")
	count("team", Accounts, 12, 40)
	gives("growing", "team accounts 12/16 false", "team accounts 16/16 true")
	count("lifted", Accounts, 1, 24)
	gives("lifted", "lifted accounts 24/32 false")
	count("one", Clusters, 1, 1)
	gives("one of one", "one clusters 1/1 true")
	count("team", Clusters, 47, 48)
	gives("another kind", "team clusters 48/64 false")
	for range 59 {
		now = now.Add(time.Minute)
		count("team", Accounts, 1, 40)
	}
	gives("coming and going for an hour")
	now = now.Add(time.Minute)
	count("team", Accounts, 10, 40)
	gives("an hour later", "team accounts 12/16 false", "team accounts 16/16 true")
	for i := range 1000 {
		now = now.Add(10 * time.Second)
		count(fmt.Sprint("n", i), Accounts, 15, 16)
	}
	expect.Same(t, "kept of 1,000 namespaces that come and go in three hours", true, len(n.published) <= 2*360)
	(*Notices)(nil).Counted("team", Accounts, 16, now)
}
