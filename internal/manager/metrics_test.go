package manager

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	metricsPage  = "docs/metrics.md"
	metricsRules = "../../config/monitoring/rules.yaml"
)

// served are the metrics that a process with both managers serves, with the names of their labels in the order of the alphabet.
// The managers are wired as in production, and not started.
func served(t *testing.T) map[string][]string {
	t.Helper()
	wireOnce.Do(func() { wire(t) })
	described := make(chan *prometheus.Desc)
	go func() {
		defer close(described)
		metrics.Registry.(prometheus.Collector).Describe(described)
	}()
	parts := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	found := map[string][]string{}
	for d := range described {
		if part := parts.FindStringSubmatch(d.String()); part != nil {
			labels := strings.FieldsFunc(part[2], func(r rune) bool { return r == ',' })
			slices.Sort(labels)
			found[part[1]] = labels
		}
	}
	return found
}

// wireOnce because a process registers its metrics once.
var wireOnce sync.Once

func wire(t *testing.T) {
	t.Helper()
	scheme := newScheme()
	options := ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
			for gvk := range scheme.AllKnownTypes() {
				mapper.Add(gvk, meta.RESTScopeNamespace)
			}
			return mapper, nil
		},
	}
	flags := newFlags(pflag.NewFlagSet("manager", pflag.ContinueOnError))
	wanted := expect.Got(flags.wanted())(t)
	// The UID of its namespace kube-system is all that the managers read before they start.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":"uid"}}`))
	}))
	t.Cleanup(server.Close)
	mgr := expect.Got(ctrl.NewManager(&rest.Config{Host: server.URL}, options))(t)
	expect.OK(t, addControllers(t.Context(), mgr, flags, wanted))
}

// TestMetricsPage: the page lists what is served, with its labels.
func TestMetricsPage(t *testing.T) {
	page := string(expect.Got(os.ReadFile("../../" + metricsPage))(t))
	listed := map[string][]string{}
	rows := regexp.MustCompile("(?m)^\\| `(capwin_[a-z_]+)` \\| ([^|]*)\\| [^|]+ \\|$")
	for _, row := range rows.FindAllStringSubmatch(page, -1) {
		labels := []string{}
		for _, label := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[2], -1) {
			labels = append(labels, label[1])
		}
		slices.Sort(labels)
		listed[row[1]] = labels
	}
	ours := served(t)
	maps.DeleteFunc(ours, func(name string, _ []string) bool { return !strings.HasPrefix(name, "capwin_") })
	expect.Same(t, "metrics of "+metricsPage, ours, listed)

	// In its sentences, too, it names only what there is.
	objects := string(expect.Got(os.ReadFile("../../config/monitoring/kube-state-metrics/resources.yaml"))(t))
	for _, name := range regexp.MustCompile(`capwin_[a-z_]+`).FindAllString(page, -1) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(name, "capwin_"), "_")
		if ours[name] == nil && !strings.Contains(objects, "metricNamePrefix: capwin_"+kind+"\n") {
			t.Errorf("%s names %s, which is not served", metricsPage, name)
		}
	}
}

// alert is a rule as Prometheus Operator takes it.
type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var resource struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			Groups []struct {
				Name  string  `json:"name"`
				Rules []alert `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	expect.OK(t, yaml.UnmarshalStrict(expect.Got(os.ReadFile(metricsRules))(t), &resource))
	var all []alert
	for _, group := range resource.Spec.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// TestAlertsAreServed: what an alert asks for is served, with the labels and the values that it asks for.
func TestAlertsAreServed(t *testing.T) {
	ours := served(t)
	reasons := string(expect.Got(os.ReadFile("../../docs/conditions.md"))(t))
	selector := regexp.MustCompile(`([a-z_]+)\{([^}]*)\}`)
	matcher := regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"([^"]*)"`)
	for _, a := range alerts(t) {
		for _, found := range selector.FindAllStringSubmatch(a.Expr, -1) {
			for _, match := range matcher.FindAllStringSubmatch(found[2], -1) {
				if !slices.Contains(ours[metricOf(ours, found[1])], match[1]) {
					t.Errorf("%s: %s has no label %s", a.Alert, found[1], match[1])
				}
				for value := range strings.SplitSeq(match[2], "|") {
					if match[1] == "reason" && !strings.Contains(reasons, "| `"+value+"` |") {
						t.Errorf("%s: no condition has the reason %s", a.Alert, value)
					}
				}
			}
		}
		bare := regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)`).ReplaceAllString(a.Expr, " ")
		for _, word := range regexp.MustCompile(`[a-z_]+`).FindAllString(bare, -1) {
			if !slices.Contains(promQL, word) && ours[metricOf(ours, word)] == nil {
				t.Errorf("%s: %s is not served", a.Alert, word)
			}
		}
	}
}

// promQL are the words of the language that our alerts use.
var promQL = []string{"absent", "abs", "max", "sum", "or", "unless", "time", "increase", "rate", "histogram_quantile"}

// metricOf is the metric that a series is of: a histogram has three.
func metricOf(ours map[string][]string, series string) string {
	for _, part := range []string{"", "_bucket", "_count", "_sum"} {
		if metric, ok := strings.CutSuffix(series, part); ok && ours[metric] != nil {
			return metric
		}
	}
	return series
}

// TestAlertsSayWhatToDo: each one is for a person, and has a chapter of the page.
func TestAlertsSayWhatToDo(t *testing.T) {
	const runbook = "https://github.com/capwin/cluster-api-provider-windows/blob/main/" + metricsPage + "#"
	page := string(expect.Got(os.ReadFile("../../" + metricsPage))(t))
	wanted := map[string]bool{}
	for _, a := range alerts(t) {
		wanted[a.Alert] = true
		if severity := a.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s: severity %q", a.Alert, severity)
		}
		expect.Same(t, "annotations of "+a.Alert, []string{"description", "runbook_url", "summary"},
			slices.Sorted(maps.Keys(a.Annotations)))
		expect.Same(t, "runbook of "+a.Alert, runbook+strings.ToLower(a.Alert), a.Annotations["runbook_url"])
		for _, text := range []string{a.Annotations["summary"], a.Annotations["description"]} {
			if len(text) < 40 || strings.Contains(text, "\n") || !regexp.MustCompile(`(\.|\{\{ ?end ?\}\})$`).MatchString(text) {
				t.Errorf("%s: not a sentence in a line: %q", a.Alert, text)
			}
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (Capwin\w+)$`).FindAllStringSubmatch(page, -1) {
		if !wanted[heading[1]] {
			t.Errorf("%s has a chapter on %s, which is no alert", metricsPage, heading[1])
		}
		delete(wanted, heading[1])
	}
	if len(wanted) > 0 {
		t.Errorf("%s has no chapter on %v", metricsPage, slices.Sorted(maps.Keys(wanted)))
	}
}
