package azure

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/scrape"
)

// callsSince are the calls that were counted since a scrape, by method and outcome.
func callsSince(t *testing.T, before scrape.Samples) map[string]float64 {
	t.Helper()
	counted := map[string]float64{}
	for series, n := range scrape.Since(t, before, "capwin_cloud_call_seconds_count") {
		label := strings.NewReplacer(`capwin_cloud_call_seconds_count{cloud="azure",method="`, "", `",outcome="`, " ", `"}`, "")
		counted[label.Replace(series)] = n
	}
	return counted
}

// TestCallsAreCounted: the metrics have each call of a machine's life, as Azure has it.
func TestCallsAreCounted(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	before := scrape.Now(t)
	s.Forget()
	s.run(a, m)
	s.gone(a, m)
	counted, whole, asked := callsSince(t, before), 0, 0
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
		expect.Same(t, "calls "+what, want, callsSince(t, before))
	}
	as := func(map[string][]byte) {}
	ask("with a wrong secret", map[string]float64{"Login denied": 1}, func(c map[string][]byte) {
		c["secret"] = []byte("wrong")
	}, t.Context())
	s.through = func(d *door) policy.Transporter { return silentAt{d, "/subscriptions"} }
	ask("without an answer", map[string]float64{"GetVM transient": 1, "ListVMs transient": 1}, as, t.Context())
	for status, want := range map[int]map[string]float64{
		http.StatusTooManyRequests: {"GetVM throttled": 1, "ListVMs throttled": 1},
		http.StatusForbidden:       {"GetVM denied": 1, "ListVMs denied": 1},
		http.StatusNotFound:        {"GetVM ok": 1, "ListVMs ok": 1}, // that it is gone is an answer
	} {
		s.through = func(d *door) policy.Transporter { return saysAt{d, status} }
		ask(http.StatusText(status), want, as, t.Context())
	}
	over, end := context.WithTimeout(t.Context(), time.Minute)
	s.through = func(d *door) policy.Transporter { return endsAt{d, end} }
	ask("that we end", map[string]float64{"GetVM canceled": 1, "ListVMs canceled": 1}, as, over)
}

// silentAt is a way on which calls of a path get no answer.
type silentAt struct {
	*door
	path string
}

// Do is part of policy.Transporter.
func (s silentAt) Do(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, s.path) {
		return nil, context.DeadlineExceeded
	}
	return s.door.Do(r)
}

// saysAt is a way on which all calls but those for tokens get a status.
type saysAt struct {
	*door
	status int
}

// Do is part of policy.Transporter.
func (s saysAt) Do(r *http.Request) (*http.Response, error) {
	answer, err := s.door.Do(r)
	if err == nil && !strings.Contains(r.URL.Path, armsim.Tenant) {
		code := map[int]string{http.StatusForbidden: "AuthorizationFailed", http.StatusNotFound: "ResourceNotFound"}[s.status]
		_ = answer.Body.Close()
		answer.StatusCode, answer.Body = s.status, io.NopCloser(strings.NewReader(`{"error":{"code":"`+code+`"}}`))
	}
	return answer, err
}

// endsAt is a way on which our own end comes before the answer.
type endsAt struct {
	*door
	end context.CancelFunc
}

// Do is part of policy.Transporter.
func (e endsAt) Do(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, armsim.Tenant) { // a token
		return e.door.Do(r)
	}
	e.end()
	return nil, r.Context().Err()
}
