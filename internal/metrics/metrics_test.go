package metrics

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

func TestSeconds(t *testing.T) {
	Made("test", 90*time.Second)
	Made("test", -time.Second) // the API server's clock is ahead of ours
	got := scrape(t)
	for _, want := range []string{
		`capwin_vm_creation_seconds_bucket{cloud="test",le="15"} 1`,
		`capwin_vm_creation_seconds_bucket{cloud="test",le="120"} 2`,
		`capwin_vm_creation_seconds_sum{cloud="test"} 90`,
		`capwin_vm_creation_seconds_count{cloud="test"} 2`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("a scrape lacks %s", want)
		}
	}
}

func TestOrphans(t *testing.T) {
	Orphans("a/b", 2)
	Orphans("a/b", 3)
	Orphans("a/c", 1)
	expect.Same(t, "orphans", 3.0, testutil.ToFloat64(orphans.WithLabelValues("a/b")))
	Orphans("a/b", 0)
	Orphans("never", 0)
	expect.Same(t, "Clusters with orphans", 1, testutil.CollectAndCount(orphans))
	Orphans("a/c", 0)
}

func TestBuild(t *testing.T) {
	Build("v9.9.9", []string{"infrastructure", "bootstrap"})
	if got := scrape(t); !strings.Contains(got, `capwin_build_info{controllers="infrastructure,bootstrap",go_version="go1`) ||
		!strings.Contains(got, `version="v9.9.9"} 1`) {
		t.Error("a scrape does not tell of the build")
	}
}

func TestAdd(t *testing.T) {
	c := prometheus.NewGauge(prometheus.GaugeOpts{Name: "capwin_test_gauge", Help: "For this test."})
	expect.OK(t, Add(c))
	defer metrics.Registry.Unregister(c)
	if err := Add(c); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		t.Errorf("Add twice = %v", err)
	}
	if !strings.Contains(scrape(t), "capwin_test_gauge 0\n") {
		t.Error("a scrape lacks what was added")
	}
}

// TestConventions: what promtool's linter asks for.
func TestConventions(t *testing.T) {
	Call("test", "Method", OK, time.Second)
	Joined(time.Minute)
	Phase("join", time.Minute)
	Failed("BootstrapFailed")
	problems, err := testutil.GatherAndLint(metrics.Registry)
	expect.OK(t, err)
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "capwin_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// scrape is what the managers' server answers.
func scrape(t *testing.T) string {
	t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	expect.Same(t, "status", http.StatusOK, answer.Code)
	return answer.Body.String()
}
