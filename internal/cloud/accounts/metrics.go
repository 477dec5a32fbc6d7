package accounts

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// An account is named by the Secret, NAMESPACE/NAME, that has used it for the longest time, as in the logs. A namespace
// has as many as it may have.
var (
	openDesc = prometheus.NewDesc("capwin_cloud_accounts", "Open accounts at clouds.", nil, nil)

	sessionsDesc = ofAccount("sessions", "Sessions of an account that are open at its cloud.")
	syncedDesc   = ofAccount("synced", "Whether the account's watch has listed all VMs and reports changes.")
	brokenDesc   = ofAccount("broken", "Whether calls of the account fail at once, because its cloud did not answer.")
	heardDesc    = ofAccount("heard_timestamp_seconds", "When the account's cloud last answered, in seconds since 1970; 0: never.")
)

func ofAccount(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("capwin_cloud_account_"+name, help, []string{"cloud", "account"}, nil)
}

// Describe is part of prometheus.Collector.
func (r *Register) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{openDesc, sessionsDesc, syncedDesc, brokenDesc, heardDesc} {
		descs <- d
	}
}

// Collect is part of prometheus.Collector. It asks no cloud.
func (r *Register) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gauge(out, openDesc, float64(len(r.open)))
	for _, a := range r.open {
		h, first := a.cloud.Health(), a.first()
		labels := []string{first.kind, first.secret.String()}
		gauge(out, sessionsDesc, float64(h.Sessions), labels...)
		gauge(out, syncedDesc, truth(h.Synced), labels...)
		gauge(out, brokenDesc, truth(h.Broken), labels...)
		gauge(out, heardDesc, timestamp(h.Heard), labels...)
	}
}

func gauge(out chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func truth(value bool) float64 {
	if value {
		return 1
	}
	return 0
}

func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
