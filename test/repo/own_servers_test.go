package repo

import (
	"go/ast"
	"strings"
	"testing"
)

// ownServers are the packages whose tests start API servers of their own, and why the shared ones (test/kit/host) are not enough.
var ownServers = map[string]string{
	"test/suites/agree":          "writes kinds of Cluster API in their older versions, which the shared world does not serve",
	"internal/placement":         "runs a scheduler over Nodes of its own",
	"test/suites/charts":         "installs charts of add-ons, which are cluster-wide",
	"test/suites/cost":           "counts the calls and measures the managers of a whole cluster",
	"test/suites/frontdoor":      "a story of whole clusters with their own etcd and kubeadm",
	"test/suites/lab":            "stories and pods, with a workload cluster that has a scheduler and nodes",
	"test/sim/cloudprovider":     "a cloud controller manager looks at all Nodes",
	"test/sim/guest":             "guests join a cluster that signs their certificates and has bootstrap tokens",
	"test/suites/linux":          "puts policies on all workloads of a cluster, on API servers that lack a feature or note calls",
	"test/suites/plugin":         "has old and wrong Nodes and DaemonSets in kube-system, and compares what the plugin prints",
	"test/suites/release":        "installs what is released, with clusterctl",
	"test/suites/security":       "counts all calls to a workload cluster; all else is in the shared world",
	"test/suites/security/crowd": "a story that compares what the managers of a whole cluster do",
	"test/kit/servers":           "tests how servers start and stop",
}

// starters are the functions that start an API server, as a test calls them.
var starters = map[string]bool{
	"servers.StartManagement": true, "servers.StartWorkload": true, "lab.Start": true,
	"world.Alone": true, "world.Fresh": true, "world.InAllVersions": true, "envtest.Environment": true,
	"StartManagement": true, "StartWorkload": true,
}

// TestOwnServers: a package that starts an API server although it could use the shared ones makes each run of all tests longer.
func TestOwnServers(t *testing.T) {
	found, short := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if !s.isTest {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				called := qualified(n.Fun)
				found[s.folder] = found[s.folder] || starters[called]
				// Worlds skip their tests themselves.
				short[s.folder] = short[s.folder] || called == "testing.Short" || strings.HasPrefix(called, "world.")
			case *ast.CompositeLit:
				found[s.folder] = found[s.folder] || starters[qualified(n.Type)]
			}
			return true
		})
	}
	for folder, starts := range found {
		if starts && ownServers[folder] == "" {
			t.Errorf("%s starts an API server: use world.Main or world.Bare, or name here why not", folder)
		}
		if starts && !short[folder] {
			t.Errorf("%s starts an API server with -short, which make check must not: skip the test", folder)
		}
	}
	for folder := range ownServers {
		if !found[folder] {
			t.Errorf("%s starts no API server any more: take it out of the list", folder)
		}
	}
}

// qualified is that of a function or type, with its package.
func qualified(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return qualified(of.X) + "." + of.Sel.Name
	}
	return ""
}
