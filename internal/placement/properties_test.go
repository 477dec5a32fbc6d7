package placement_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/repo/templates"
)

// TestRandomTemplates looks at 5,000 templates: the verdict follows from the template and the Nodes alone, in any order; a
// template is left as it is; each sentence names its workload; and each finding has the commands that its verdict needs.
func TestRandomTemplates(t *testing.T) {
	worlds := templates.Worlds(t)
	random := rand.New(rand.NewPCG(7, 0)) //nolint:gosec // because each run must see the same templates
	for i := range 5000 {
		world := worlds[i%len(worlds)]
		w := templates.Writer{Rand: random, Nodes: append(world.NodeNames(), "linux-0")}.Workload(fmt.Sprintf("w-%d", i))
		before := *w.Template.DeepCopy()
		cluster := world.Cluster()
		got := cluster.Judge(w)
		slices.Reverse(cluster.Windows)
		slices.Reverse(cluster.Linux)
		again := cluster.Judge(w)
		if !reflect.DeepEqual(got, again) {
			t.Errorf("%s: %+v, and in another order %+v", w, got, again)
		}
		if !reflect.DeepEqual(before, w.Template) {
			t.Errorf("%s: the template was changed", w)
		}
		checkFinding(t, w, got)
	}
}

func checkFinding(t *testing.T, w placement.Workload, got placement.Finding) {
	t.Helper()
	if !strings.HasPrefix(got.Why, w.String()+" ") || strings.Contains(got.Why, "%!") {
		t.Errorf("%s: %s", w, got.Why)
	}
	lands := got.Verdict == placement.Lands
	forLinux := w.Template.Spec.OS != nil && w.Template.Spec.OS.Name == corev1.Linux
	pending := got.Verdict == placement.StaysAway && strings.Contains(got.Why, "is for Windows")
	if (got.Mend != "") != lands || got.Pending != pending || (got.Allow != "") != (lands && !forLinux) {
		t.Errorf("%s: %+v", w, got)
	}
	if (len(got.Nodes) > 0) != (got.Verdict != placement.StaysAway) {
		t.Errorf("%s: %s on %v", w, got.Verdict, got.Nodes)
	}
}

// 2,000 workloads among 200 Windows and 200 Linux Nodes are judged in moments: a controller may judge all at each event.
func BenchmarkJudge(b *testing.B) {
	cluster := placement.Cluster{RuntimeClasses: classes}
	for i := range 200 {
		cluster.Windows = append(cluster.Windows, node(fmt.Sprintf("win-%d", i), osTaint, map[string]string{"pool": "win"}))
		cluster.Linux = append(cluster.Linux, linuxNodes[i%2])
	}
	random := rand.New(rand.NewPCG(7, 0)) //nolint:gosec // because each run must see the same templates
	var workloads []placement.Workload
	for i := range 2000 {
		w := templates.Writer{Rand: random, Nodes: []string{"win-0", "linux-0"}}
		workloads = append(workloads, w.Workload(fmt.Sprintf("w-%d", i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, w := range workloads {
			cluster.Judge(w)
		}
	}
}
