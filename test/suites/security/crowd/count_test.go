package crowd

import (
	"maps"
	"slices"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func (n *tenant) removeAll(t *testing.T) {
	t.Helper()
	expect.OK(t, n.Client.DeleteAllOf(t.Context(), &clusterv1.Machine{}, client.InNamespace(n.Name)))
}

// requestsOf counts what our managers asked the API server for in the namespaces of these tenants.
func requestsOf(t *testing.T, tenants []*tenant) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for request, n := range expect.Got(shared.Management.Requests())(t) {
		honest := slices.ContainsFunc(tenants, func(one *tenant) bool { return one.Name == request.Namespace })
		if honest && request.Resource != "events" {
			counts[request.Component+": "+request.Verb+" "+request.Resource] += n
		}
	}
	return counts
}

func less(after, before map[string]int) map[string]int {
	rest := map[string]int{}
	for name, n := range after {
		rest[name] = n - before[name]
	}
	return rest
}

func sum(counts map[string]int) (total int) {
	for n := range maps.Values(counts) {
		total += n
	}
	return total
}

// compare checks that a run among hostile parties cost at most twice as much. It prints the times.
func (r run) compare(t *testing.T, hostile run) {
	t.Helper()
	for what, took := range map[string][2]time.Duration{
		"made": {r.made, hostile.made}, "removed": {r.removed, hostile.removed},
	} {
		t.Logf("%d machines were %s in %.1f s when quiet and %.1f s among hostile parties: %.1f times (wanted: at most 2)",
			tenants**each, what, took[0].Seconds(), took[1].Seconds(), took[1].Seconds()/took[0].Seconds())
	}
	for _, kind := range []struct {
		name           string
		quiet, hostile map[string]int
	}{{"looks", r.looks, hostile.looks}, {"calls", r.calls, hostile.calls}} {
		quiet, among := sum(kind.quiet), sum(kind.hostile)
		t.Logf("%s: %d when quiet, %d among hostile parties", kind.name, quiet, among)
		if among > 2*quiet {
			t.Errorf("%s among hostile parties are more than twice those of a quiet run:\nquiet   %v\nhostile %v",
				kind.name, kind.quiet, kind.hostile)
		}
	}
}
