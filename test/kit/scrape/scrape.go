// Package scrape reads the metrics of this process as Prometheus does.
package scrape

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Samples are the values of our series by their names with labels, as in capwin_orphan_vms{cluster_name="ns/prod"}. The labels
// are in the order of the alphabet.
type Samples map[string]float64

// Now returns what a scrape gets now.
func Now(t testing.TB) Samples {
	t.Helper()
	return Of(t, metrics.Registry)
}

// Of returns what a scrape gets of a registry.
func Of(t testing.TB, from prometheus.Gatherer) Samples {
	t.Helper()
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	promhttp.HandlerFor(from, promhttp.HandlerOpts{}).ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Fatalf("a scrape gets %d: %s", answer.Code, answer.Body)
	}
	found := Samples{}
	for line := range strings.Lines(answer.Body.String()) {
		line = strings.TrimSpace(line)
		if end := strings.LastIndex(line, " "); strings.HasPrefix(line, "capwin_") {
			found[line[:end]] = expect.Got(strconv.ParseFloat(line[end+1:], 64))(t)
		}
	}
	return found
}

// Since are the series of one metric whose values have changed, and by how much. A histogram's metric is its count or its sum.
func Since(t testing.TB, before Samples, metric string) Samples {
	t.Helper()
	changed := Samples{}
	for series, value := range Now(t) {
		if name, _, _ := strings.Cut(series, "{"); name == metric && value != before[series] {
			changed[series] = value - before[series]
		}
	}
	return changed
}

// Calls are the calls to a cloud that were counted since a scrape, by method and outcome, as in "Login denied".
func Calls(t testing.TB, before Samples, cloud string) map[string]float64 {
	t.Helper()
	const metric = "capwin_cloud_call_duration_seconds_count"
	label := strings.NewReplacer(metric+`{cloud="`+cloud+`",method="`, "", `",outcome="`, " ", `"}`, "")
	calls := map[string]float64{}
	for series, n := range Since(t, before, metric) {
		calls[label.Replace(series)] = n
	}
	return calls
}
