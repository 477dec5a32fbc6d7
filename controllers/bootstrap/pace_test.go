package bootstrap

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestPace: a thousand configs of a namespace with 64 sources each wait in their order, and one of another namespace does not.
func TestPace(t *testing.T) {
	var p pace
	config := func(namespace string, n int) *bootstrapv1.WindowsBootstrapConfig {
		c := &bootstrapv1.WindowsBootstrapConfig{}
		c.Namespace, c.UID = namespace, types.UID(fmt.Sprint(namespace, n))
		return c
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ask := func(namespace string, n int, after time.Duration) time.Duration {
		return p.rest(config(namespace, n), 64, begin.Add(after)).Round(time.Millisecond)
	}
	ms := time.Millisecond
	for n := range 1000 {
		want := time.Duration(max(0, (n+1)*64-tenants.Sources.AtOnce)) * 50 * ms
		expect.Same(t, fmt.Sprint("rest of config ", n), want, ask("a", n, 0))
	}
	expect.Same(t, "rest in another namespace", 0*ms, ask("b", 0, 0))
	expect.Same(t, "rest of one that waits, a second later", 1800*ms, ask("a", 3, time.Second))
	expect.Same(t, "rest when its turn comes", 0*ms, ask("a", 3, 2800*ms))
	expect.Same(t, "another look is behind the others", true, ask("a", 3, 2800*ms) > 50*time.Minute)
	expect.Same(t, "rest of one with more sources than are read at once", 0*ms, p.rest(config("c", 0), 500, begin).Round(ms))

	expect.Same(t, "rest after a day", 0*ms, ask("d", 0, 24*time.Hour))
	p.forgetGone(begin.Add(24 * time.Hour))
	expect.Same(t, "turns that are kept", 0, len(p.turns))
}
