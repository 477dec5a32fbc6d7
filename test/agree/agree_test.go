// Package agree takes the same files through the plugin and through a cluster, and compares what they say: the plugin from the
// files alone, and on the other side the API server with our definitions and policies, Cluster API's own manager with its webhooks,
// and both of our managers with the providers of both clouds.
package agree

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/world"
)

var shared *world.World

func TestMain(m *testing.M) { world.Main(m, &shared, 8) }

// all has every file go through the controllers, and not only those that a short run takes.
var all = flag.Bool("all", false, "take all files through the controllers")

// oneOf is how many files there are for one that a short run takes through the controllers.
const oneOf = 6

// TestAgree: the plugin says what the cluster will say.
func TestAgree(t *testing.T) {
	if shared == nil {
		t.Skip("needs real servers")
	}
	startOthers(t)
	files := corpus()
	said := newServer(t).judgeAll(t, files)
	through := make([]bool, len(files))
	c := newCluster(t)
	t.Run("controllers", func(t *testing.T) {
		for i, f := range files {
			if said[i].refused() || !*all && f.hash()>>16%oneOf != 0 {
				continue
			}
			through[i] = true
			t.Run(f.String(), func(t *testing.T) {
				t.Parallel()
				said[i] = c.judge(t, f)
			})
		}
	})
	compare(t, files, said, through)
}

// compare prints and fails for each difference.
func compare(t *testing.T, files []file, said []verdict, through []bool) {
	t.Helper()
	var takes, refuses, elsewhere, asked int
	counts, reasons := map[class]int{}, map[string]bool{}
	for i, f := range files {
		counts[f.class]++
		if through[i] {
			asked++
		}
		if !through[i] && !said[i].refused() {
			continue // nobody has asked the controllers
		}
		plugin := byPlugin(f)
		if f.class == beyond {
			reasons[f.reason+": "+f.wants+" ("+f.name+")"] = true
			if plugin.refused() || !said[i].refused() {
				t.Errorf("%s: want it refused by the cluster alone; the plugin: %s; the cluster: %s", f, plugin, said[i])
			}
			continue
		}
		if said[i].by != f.class {
			t.Errorf("%s: want it %s; the cluster: %s", f, f.class, said[i])
		}
		switch {
		case !plugin.refused() && said[i].refused():
			takes++
			t.Errorf("%s: the plugin takes what is refused later; the cluster: %s", f, said[i])
		case plugin.refused() && !said[i].refused():
			refuses++
			t.Errorf("%s: the plugin refuses what is taken: %s", f, plugin)
		case plugin.refused() && !slices.Equal(plugin.fields, said[i].fields):
			elsewhere++
			t.Errorf("%s: refused at different fields\nplugin:  %s\ncluster: %s", f, plugin, said[i])
		}
	}
	t.Logf("%d files, all through the plugin and the API server, %d through the controllers", len(files), asked)
	for _, of := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d", of, counts[of])
		if counts[of] < fewest[of] {
			t.Errorf("%s: want %d files, there are %d", of, fewest[of], counts[of])
		}
	}
	t.Logf("plugin takes what is refused later: %d", takes)
	t.Logf("plugin refuses what is taken: %d", refuses)
	t.Logf("refused at different fields: %d", elsewhere)
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("not in any file: %s", reason)
	}
	if len(files) < fewestFiles || len(reasons) > mostBeyond {
		t.Errorf("want %d files and at most %d reasons beyond them, there are %d and %d", fewestFiles, mostBeyond, len(files), len(reasons))
	}
}
