package manager

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/internal/metrics"
)

// mostSkew is by how much the clocks of the manager and of an API server may differ before people are told.
const mostSkew = 10 * time.Second

// skewed compares our clock with that of the management cluster's API server, which each answer tells. Nothing that we do to a VM
// depends on a clock, but all times that people see do.
type skewed struct {
	now func() time.Time
	log logr.Logger

	start sync.Once
}

// watch has all answers to a client looked at.
func (s *skewed) watch(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return dated{next, s} })
}

// hear takes the server's time from an answer. The first one is told, if it is far from ours.
func (s *skewed) hear(answer http.Header, sent, got time.Time) {
	said, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		return
	}
	ahead := aheadOf(said, sent, got)
	metrics.ClockSkew(ahead)
	s.start.Do(func() {
		if ahead.Abs() > mostSkew {
			s.log.Info("Clock differs from that of the management cluster's API server", "aheadSeconds", int(ahead.Seconds()),
				"ours", got.UTC().Format(time.RFC3339), "theirs", said.UTC().Format(time.RFC3339))
		}
	})
}

// aheadOf is by how much our clock is ahead at least; it is negative if it is behind. The server wrote its time, without
// fractions of a second, at any moment between question and answer.
func aheadOf(said, sent, got time.Time) time.Duration {
	switch earliest, latest := sent.Sub(said.Add(time.Second)), got.Sub(said); {
	case earliest > 0:
		return earliest
	case latest < 0:
		return latest
	}
	return 0
}

// dated passes calls on.
type dated struct {
	next http.RoundTripper
	to   *skewed
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := d.to.now()
	response, err := d.next.RoundTrip(request)
	if err == nil {
		d.to.hear(response.Header, sent, d.to.now())
	}
	return response, err
}

// WrappedRoundTripper is how client-go finds the transport whose idle connections it closes.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.next }
