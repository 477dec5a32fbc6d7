package manager

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/internal/metrics"
)

// mostSkew is the difference between the clocks of the manager and of an API server above which a line is logged.
const mostSkew = 10 * time.Second

// skewed compares our clock with that of the management cluster's API server, from the date of each answer. Nothing that we do
// to a VM depends on a clock, but all times that people see do.
type skewed struct {
	now func() time.Time
	log logr.Logger

	start sync.Once
}

// watch has all answers to a client looked at.
func (s *skewed) watch(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return dated{next, s} })
}

// compare takes the server's time from an answer. The first difference is logged, if it is large.
func (s *skewed) compare(answer http.Header, sent, got time.Time) {
	serverTime, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		return
	}
	lead := aheadOf(serverTime, sent, got)
	metrics.ClockSkew(lead)
	s.start.Do(func() {
		if lead.Abs() > mostSkew {
			s.log.Info("Clock differs from that of the management cluster's API server", "aheadSeconds", int(lead.Seconds()),
				"ours", got.UTC().Format(time.RFC3339), "theirs", serverTime.UTC().Format(time.RFC3339))
		}
	})
}

// aheadOf is by how much our clock is ahead at least; it is negative if it is behind. The server wrote its time, without
// fractions of a second, at any moment between question and answer.
func aheadOf(serverTime, sent, got time.Time) time.Duration {
	switch earliest, latest := sent.Sub(serverTime.Add(time.Second)), got.Sub(serverTime); {
	case earliest > 0:
		return earliest
	case latest < 0:
		return latest
	}
	return 0
}

// dated passes calls on.
type dated struct {
	next  http.RoundTripper
	clock *skewed
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := d.clock.now()
	response, err := d.next.RoundTrip(request)
	if err == nil {
		d.clock.compare(response.Header, sent, d.clock.now())
	}
	return response, err
}

// WrappedRoundTripper is how client-go finds the transport whose idle connections it closes.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.next }
