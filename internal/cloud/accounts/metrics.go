package accounts

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// An account is named by the Secret, NAMESPACE/NAME, that has used it for the longest time, as in the logs. MaxAccounts bounds
// how many a namespace has.
var (
	openDesc = prometheus.NewDesc("capwin_cloud_accounts", "Open accounts at clouds.", nil, nil)

	sessionsDesc = ofAccount("sessions", "Sessions of an account that are open at its cloud.")
	syncedDesc   = ofAccount("synced", "Whether the account's watch has told of all VMs and tells of changes.")
	brokenDesc   = ofAccount("broken", "Whether calls of the account fail at once, because its cloud did not answer.")
	heardDesc    = ofAccount("heard_timestamp_seconds", "When the account's cloud last answered, in seconds since 1970; 0: never.")
)

func ofAccount(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("capwin_cloud_account_"+name, help, []string{"cloud", "account"}, nil)
}

// Describe is part of prometheus.Collector.
func (r *Register) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{openDesc, sessionsDesc, syncedDesc, brokenDesc, heardDesc} {
		to <- d
	}
}

// Collect is part of prometheus.Collector. It asks no cloud.
func (r *Register) Collect(to chan<- prometheus.Metric) {
	open := r.shown()
	gauge(to, openDesc, float64(len(open)))
	for _, a := range open {
		h := a.cloud.Health()
		gauge(to, sessionsDesc, float64(h.Sessions), a.labels...)
		gauge(to, syncedDesc, truth(h.Synced), a.labels...)
		gauge(to, brokenDesc, truth(h.Broken), a.labels...)
		gauge(to, heardDesc, timestamp(h.Heard), a.labels...)
	}
}

// shown is an account with the values of its labels.
type shown struct {
	cloud  cloud.Cloud
	labels []string
}

func (r *Register) shown() []shown {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []shown
	for _, a := range r.open {
		first := a.first()
		kind, _, _ := strings.Cut(first.kind, ".") // the package of a cloud is named as it
		all = append(all, shown{a.cloud, []string{kind, first.secret.String()}})
	}
	return all
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func timestamp(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.UnixMilli()) / 1000
}
