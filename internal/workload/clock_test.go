package workload

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestClock has answers tell the time of a cluster. Ours is another one.
func TestClock(t *testing.T) {
	const header = "Mon, 02 Jan 2006 15:04:05 GMT"
	said := time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		reason string
		answer answers
		date   string
		want   time.Time
	}{
		"good":           {"it is the API server's", answers{status: 200, body: `{}`}, header, said},
		"not found":      {"a token that is not there yet", answers{status: 404, body: `{"kind":"Status","code":404}`}, header, said},
		"balancer":       {"it is not the API server's", answers{status: 503, kind: "text/html", body: "<p>"}, header, time.Time{}},
		"refusing proxy": {"it is not the API server's", answers{status: 403, kind: "text/html", body: "<p>"}, header, time.Time{}},
		"redirect":       {"it is not the API server's", answers{status: 302, body: `{}`}, header, time.Time{}},
		"no time":        {"a proxy takes it away", answers{status: 200, body: `{}`}, "", time.Time{}},
		"no valid time":  {"nobody can read it", answers{status: 200, body: `{}`}, "tomorrow", time.Time{}},
	} {
		synctest.Test(t, func(t *testing.T) {
			clusters := &Clusters{}
			k := clusters.cluster(key)
			dated := dated{&c.answer, c.date}
			request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a/api/v1/nodes/n", http.NoBody))(t)
			response, err := guarded{next: dated, line: k.line, namespace: k.namespace, clock: &k.clock}.RoundTrip(request)
			if err == nil {
				expect.OK(t, response.Body.Close())
			}
			later(time.Minute)
			want := c.want
			if !want.IsZero() {
				want = want.Add(time.Minute)
			}
			expect.Same(t, name+": "+c.reason, want, clusters.Now(key))
		})
	}
}

// dated are answers with a time.
type dated struct {
	*answers
	date string
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := d.answers.RoundTrip(request)
	if d.date != "" {
		response.Header.Set("Date", d.date)
	}
	return response, err
}
