package accounts

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/scrape"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// well is a cloud whose health a test sets.
type well struct {
	fake.Provider
	health *cloud.Health
}

func (w well) Connect(namespace string, credentials map[string][]byte) (cloud.Cloud, error) {
	c, err := w.Provider.Connect(namespace, credentials)
	return wellCloud{c, w.health}, err
}

type wellCloud struct {
	cloud.Cloud
	health *cloud.Health
}

func (w wellCloud) Health() cloud.Health { return *w.health }

// scraped compares what a scrape gets of a register.
func scraped(t *testing.T, r *Register, want scrape.Samples) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	expect.OK(t, registry.Register(r))
	expect.Same(t, "series", want, scrape.Of(t, registry))
	problems := expect.Got(testutil.GatherAndLint(registry))(t)
	expect.Same(t, "what Prometheus' linter finds", 0, len(problems))
}

func TestMetrics(t *testing.T) {
	described := make(chan *prometheus.Desc, 10)
	new(Register).Describe(described)
	expect.Same(t, "series that a registry checks", 5, len(described))
	scraped(t, new(Register), scrape.Samples{"capwin_cloud_accounts": 0})
	s := newStage(t)
	health := &cloud.Health{}
	p := well{fake.Provider{World: s.world}, health}
	expect.Got(s.Get(p, key("b", "first"), password("secret"), false))(t)
	expect.Got(s.Get(p, key("a", "second"), password("secret"), false))(t) // shares it
	scraped(t, s.Register, scrape.Samples{
		"capwin_cloud_accounts": 1,
		`capwin_cloud_account_broken{account="b/first",cloud="azure"}`:                  0,
		`capwin_cloud_account_heard_timestamp_seconds{account="b/first",cloud="azure"}`: 0,
		`capwin_cloud_account_sessions{account="b/first",cloud="azure"}`:                0,
		`capwin_cloud_account_synced{account="b/first",cloud="azure"}`:                  0,
	})
	*health = cloud.Health{Sessions: 1, Synced: true, Broken: true, Heard: time.UnixMilli(1_700_000_000_250)}
	s.Gone(p, key("b", "first"))
	scraped(t, s.Register, scrape.Samples{
		"capwin_cloud_accounts": 1,
		`capwin_cloud_account_broken{account="a/second",cloud="azure"}`:                  1,
		`capwin_cloud_account_heard_timestamp_seconds{account="a/second",cloud="azure"}`: 1_700_000_000.25,
		`capwin_cloud_account_sessions{account="a/second",cloud="azure"}`:                1,
		`capwin_cloud_account_synced{account="a/second",cloud="azure"}`:                  1,
	})
	s.end()
	scraped(t, s.Register, scrape.Samples{"capwin_cloud_accounts": 0})
}
