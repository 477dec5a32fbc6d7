package metrics

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/scrape"
)

func TestSeconds(t *testing.T) {
	Made("test", 90*time.Second)
	Made("test", -time.Second) // the API server's clock is ahead of ours
	got := scrape.Now(t)
	wanted := scrape.Samples{
		`capwin_vm_creation_duration_seconds_bucket{cloud="test",le="15"}`:  1,
		`capwin_vm_creation_duration_seconds_bucket{cloud="test",le="120"}`: 2,
		`capwin_vm_creation_duration_seconds_sum{cloud="test"}`:             90,
		`capwin_vm_creation_duration_seconds_count{cloud="test"}`:           2,
	}
	for series, want := range wanted {
		expect.Same(t, series, want, got[series])
	}
}

func TestOrphans(t *testing.T) {
	Orphans("a/b", 2, 0)
	Orphans("a/b", 3, 5)
	Orphans("a/c", 1, 0)
	expect.Same(t, "orphans", 3.0, testutil.ToFloat64(orphans.WithLabelValues("a/b")))
	expect.Same(t, "what VMs left", 5.0, scrape.Now(t)[`capwin_orphan_resources{cluster_name="a/b"}`])
	expect.Same(t, "Clusters with what VMs left", 1, testutil.CollectAndCount(leftovers))
	Orphans("a/b", 0, 4)
	Orphans("never", 0, 0)
	expect.Same(t, "Clusters with orphans", 1, testutil.CollectAndCount(orphans))
	expect.Same(t, "what VMs left, without a VM", 4.0, testutil.ToFloat64(leftovers.WithLabelValues("a/b")))
	Orphans("a/b", 0, 0)
	expect.Same(t, "Clusters with what VMs left, in the end", 0, testutil.CollectAndCount(leftovers))
	Orphans("a/c", 0, 0)
}

func TestPlacements(t *testing.T) {
	Placements("a/b", "PodsLand", 2)
	Placements("a/b", "KubeProxyTwice", 1)
	expect.Same(t, "what lands", 2.0, scrape.Now(t)[`capwin_placement_findings{cluster_name="a/b",problem="PodsLand"}`])
	Placements("a/b", "PodsLand", 0)
	Placements("a/c", "PodsLand", 0)
	expect.Same(t, "series", 1, testutil.CollectAndCount(placements))
	Placements("a/b", "KubeProxyTwice", 0)
}

func TestBuild(t *testing.T) {
	Build("v9.9.9", []string{"infrastructure", "bootstrap"})
	series := `capwin_build_info{controllers="infrastructure,bootstrap",go_version="` + runtime.Version() + `",version="v9.9.9"}`
	expect.Same(t, series, 1.0, scrape.Now(t)[series])
}

func TestAdd(t *testing.T) {
	c := prometheus.NewGauge(prometheus.GaugeOpts{Name: "capwin_test_gauge", Help: "For this test."})
	expect.OK(t, Add(c))
	defer metrics.Registry.Unregister(c)
	err := Add(c)
	if _, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); !ok {
		t.Errorf("Add twice = %v", err)
	}
	if _, ok := scrape.Now(t)["capwin_test_gauge"]; !ok {
		t.Error("a scrape lacks what was added")
	}
}

// TestConventions: what promtool's linter asks for, and what Kubernetes calls its histograms of times.
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
	for series := range scrape.Now(t) {
		if name, _, is := strings.Cut(series, "_bucket{"); is && !strings.HasSuffix(name, "_duration_seconds") {
			t.Errorf("%s is a histogram of times and does not end with _duration_seconds, as those of Kubernetes do", name)
		}
	}
}
