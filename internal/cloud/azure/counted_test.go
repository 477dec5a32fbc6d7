package azure

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/scrape"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestCallsAreCounted: the metrics have each call of a machine's life, as Azure has it.
func TestCallsAreCounted(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	before := scrape.Now(t)
	s.Forget()
	s.run(a, m)
	s.gone(a, m)
	counted, whole, asked := scrape.Calls(t, before, "azure"), 0, 0
	for _, n := range counted {
		whole += int(n)
	}
	for class, n := range s.ByClass() {
		if !strings.Contains(class, "token") {
			asked += n
		}
	}
	t.Logf("%v, and Azure has %v", counted, s.ByClass())
	expect.Same(t, "calls", asked, whole)
	for name, want := range map[string]float64{"PutVM ok": 1, "DeleteVM ok": 1, "ListSizes ok": 1} {
		expect.Same(t, name, want, counted[name])
	}
	for name := range counted {
		if !strings.HasSuffix(name, " ok") { // also where the VM is gone
			t.Errorf("%s in a life without an error", name)
		}
	}
}

// TestRefusalsAreCounted: what a wrong secret, silence, statuses and our own end make of calls.
func TestRefusalsAreCounted(t *testing.T) {
	s := newStage(t)
	ask := func(what string, want map[string]float64, change func(map[string][]byte), ctx context.Context) {
		t.Helper()
		credentials := s.credentials()
		change(credentials)
		a := expect.Got(open(expect.Got(s.login(credentials))(t), s.Now))(t)
		before := scrape.Now(t)
		_, err := a.Server(ctx, cloud.Key{Namespace: "default", Name: "m"})
		if _, observed := a.Observe(ctx, s.machine("m")); err == nil && observed == nil {
			t.Error("no error " + what)
		}
		expect.Same(t, "calls "+what, want, scrape.Calls(t, before, "azure"))
	}
	as := func(map[string][]byte) {}
	ending := func(end func(*http.Request) (*http.Response, error)) {
		s.through = func(d *door) policy.Transporter { return instead{d, end} }
	}
	ask("with a wrong secret", map[string]float64{"Login denied": 1}, func(c map[string][]byte) {
		c["secret"] = []byte("wrong")
	}, t.Context())
	ending(func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded })
	ask("without an answer", map[string]float64{"GetVM transient": 1, "ListVMs transient": 1}, as, t.Context())
	for status, want := range map[int]map[string]float64{
		http.StatusTooManyRequests: {"GetVM throttled": 1, "ListVMs throttled": 1},
		http.StatusForbidden:       {"GetVM denied": 1, "ListVMs denied": 1},
		http.StatusNotFound:        {"GetVM ok": 1, "ListVMs ok": 1}, // that it is gone is an answer
	} {
		code := map[int]string{http.StatusForbidden: "AuthorizationFailed", http.StatusNotFound: "ResourceNotFound"}[status]
		ending(blue.Says(func(*http.Request) (int, string) { return status, `{"error":{"code":"` + code + `"}}` }).Do)
		ask(http.StatusText(status), want, as, t.Context())
	}
	over, end := context.WithTimeout(t.Context(), time.Minute)
	ending(func(r *http.Request) (*http.Response, error) { end(); return nil, r.Context().Err() })
	ask("that we end", map[string]float64{"GetVM canceled": 1, "ListVMs canceled": 1}, as, over)
}

// instead is a way on which all calls but those for tokens end in another way.
type instead struct {
	*door
	end func(*http.Request) (*http.Response, error)
}

// Do is part of policy.Transporter.
func (i instead) Do(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, armsim.Tenant) {
		return i.door.Do(r)
	}
	return i.end(r)
}
