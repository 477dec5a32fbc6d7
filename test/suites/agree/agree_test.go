// Package agree takes the same files through the plugin and through a cluster, and compares what they say: the plugin from the
// files alone, and on the other side the API server with our definitions and policies, Cluster API's own manager with its
// webhooks, and both of our managers with the providers of both clouds.
package agree

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

var shared *world.World

// The world has all versions of Cluster API, in which files are written.
func TestMain(m *testing.M) { world.InAllVersions(m, &shared, 16) }

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
	r := &run{server: newServer(t), cluster: newCluster(t), files: corpus()}
	r.said, r.through = make([]verdict, len(r.files)), make([]bool, len(r.files))
	r.judge(t)
	r.compare(t)
}

// run is what a cluster says of files.
type run struct {
	server  *server
	cluster *cluster
	files   []file
	said    []verdict
	// through says about which files the controllers have said something.
	through []bool
}

// judge has the cluster judge the files.
func (r *run) judge(t *testing.T) {
	t.Helper()
	r.server.judgeAll(t, r.files, r.said)
	t.Run("controllers", func(t *testing.T) {
		for i, f := range r.files {
			if r.said[i].refused() || !*all && !f.always && f.hash()>>16%oneOf != 0 {
				continue
			}
			t.Run(f.String(), func(t *testing.T) {
				t.Parallel()
				r.said[i] = r.cluster.judge(t, f)
				r.through[i] = true
			})
		}
	})
}

// difference is how the two sides differ about a file; empty if they agree.
type difference string

const (
	takes     difference = "the plugin takes what is refused later"
	refuses   difference = "the plugin refuses what is taken"
	elsewhere difference = "refused at different fields"
)

func differ(plugin, cluster verdict) difference {
	switch {
	case !plugin.refused() && cluster.refused():
		return takes
	case plugin.refused() && !cluster.refused():
		return refuses
	case !slices.Equal(plugin.fields, cluster.fields):
		return elsewhere
	}
	return ""
}

// compare prints what was compared, and fails for each difference.
func (r *run) compare(t *testing.T) {
	t.Helper()
	differences, reasons, asked := map[difference]int{}, map[string]bool{}, 0
	for i, f := range r.files {
		if r.through[i] {
			asked++
		}
		cluster := r.said[i]
		if !r.through[i] && !cluster.refused() {
			continue // nobody has asked the controllers
		}
		plugin := byPlugin(f)
		found := differ(plugin, cluster)
		if f.class == beyond {
			reasons[f.reason+": "+f.wants+" ("+f.name+")"] = true
			if found != takes {
				t.Errorf("%s: want it refused by the cluster alone\nplugin:  %s\ncluster: %s", f, plugin, cluster)
			}
			continue
		}
		if cluster.by != f.class {
			t.Errorf("%s: want it %s; the cluster: %s", f, f.class, cluster)
		}
		if cluster.refused() && !slices.ContainsFunc(cluster.fields, path.MatchString) {
			t.Errorf("%s: the refusal names no field: %s", f, cluster)
		}
		if found != "" {
			differences[found]++
			t.Errorf("%s: %s\nplugin:  %s\ncluster: %s", f, found, plugin, cluster)
		}
	}
	t.Logf("%d files, all through the plugin and the API server, %d through the controllers", len(r.files), asked)
	for _, kind := range []difference{takes, refuses, elsewhere} {
		t.Logf("%s: %d", kind, differences[kind])
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("the plugin cannot know %s", reason)
	}
	if len(reasons) > mostBeyond {
		t.Errorf("want at most %d reasons that no file shows, there are %d", mostBeyond, len(reasons))
	}
}

// TestCorpus: there are enough files of each class, and no two of one name.
func TestCorpus(t *testing.T) {
	counts, names := map[class]int{}, map[string]bool{}
	files := corpus()
	for _, f := range files {
		counts[f.class]++
		if names[f.String()] {
			t.Errorf("two files are named %s", f)
		}
		names[f.String()] = true
	}
	for _, of := range slices.Sorted(maps.Keys(fewest)) {
		t.Logf("%s: %d files", of, counts[of])
		if counts[of] < fewest[of] {
			t.Errorf("%s: want %d files, there are %d", of, fewest[of], counts[of])
		}
	}
	if len(files) < fewestFiles {
		t.Errorf("want %d files, there are %d", fewestFiles, len(files))
	}
}
