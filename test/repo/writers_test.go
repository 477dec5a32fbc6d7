package repo

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// writers are the files that write by another client than that of the management cluster, which each struct has as Client. What
// belongs to a workload cluster as a whole is written by controllers/cluster/keep alone.
var writers = map[string]string{
	"controllers/cluster/keep/keep.go": "what belongs to the cluster as a whole",
	"controllers/bootstrap/token.go":   "the bootstrap token of one machine",
	"controllers/guests/guests.go":     "the object to which the guest of one machine reports",
	"controllers/fresh/fresh.go":       "the status of objects of the management cluster",
	"controllers/caches/direct.go":     "the same, for which it refuses updates",
}

// TestOnlyKeepWrites: no other room calls what writes into a workload cluster.
func TestOnlyKeepWrites(t *testing.T) {
	calls := []string{"Create", "Update", "Patch", "Apply", "Delete", "DeleteAllOf"}
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest || !within(s.folder, "controllers", "internal/workload", "internal/policies", "internal/placement",
			"internal/manager") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) < 2 || types.ExprString(call.Args[0]) != "ctx" {
				return true
			}
			method, is := call.Fun.(*ast.SelectorExpr)
			if !is || !slices.Contains(calls, method.Sel.Name) {
				return true
			}
			by := strings.TrimSuffix(types.ExprString(method.X), ".Status()")
			if strings.HasSuffix(by, ".Client") {
				if slices.Contains([]string{"Update", "Apply"}, method.Sel.Name) {
					t.Errorf("%s writes a whole object by %s; a cache has only parts of it, so patch it", s.position(call), by)
				}
				return true
			}
			if found[s.path] = true; writers[s.path] == "" {
				t.Errorf("%s calls %s of %s; only controllers/cluster/keep writes into a workload cluster", s.position(call),
					method.Sel.Name, by)
			}
			return true
		})
	}
	for path := range writers {
		if !found[path] {
			t.Errorf("an exception for %s, which writes nothing", path)
		}
	}
}
