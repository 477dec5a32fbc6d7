package test

import (
	"go/ast"
	"slices"
	"testing"
)

// The plugin has one way to API servers, which bounds what they answer, and one to whoever reads what it prints, which cleans it.
// A second one would have neither.
var doors = []struct {
	what     string
	imports  []string
	selected []string
	only     []string
}{
	{
		what: "ask an API server", only: []string{"internal/plugin/remote"},
		imports: []string{"net/http", "k8s.io/client-go/rest", "k8s.io/client-go/kubernetes", "github.com/gorilla/websocket",
			"k8s.io/client-go/tools/remotecommand", "k8s.io/client-go/dynamic", "k8s.io/client-go/discovery"},
		selected: []string{"client.New"},
	},
	{
		what: "print", only: []string{"internal/plugin/screen", "cmd/clusterctl-windows/main.go"},
		selected: []string{"os.Stdout", "os.Stderr", "fmt.Print", "fmt.Println", "fmt.Printf"},
	},
}

func TestDoorsOfThePlugin(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest || !within(s.folder, "internal/plugin", "cmd/clusterctl-windows") {
			continue
		}
		for _, door := range doors {
			if within(s.folder, door.only...) || slices.Contains(door.only, s.path) {
				continue
			}
			for _, imported := range s.imports() {
				if within(imported, door.imports...) {
					t.Errorf("%s imports %s; only %v may %s", s.path, imported, door.only, door.what)
				}
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if name := selected(n); slices.Contains(door.selected, name) {
					t.Errorf("%s uses %s; only %v may %s", s.position(n), name, door.only, door.what)
				}
				return true
			})
		}
	}
}

// selected is a name of another package, as a file writes it.
func selected(n ast.Node) string {
	selector, is := n.(*ast.SelectorExpr)
	if !is {
		return ""
	}
	of, is := selector.X.(*ast.Ident)
	if !is {
		return ""
	}
	return of.Name + "." + selector.Sel.Name
}
