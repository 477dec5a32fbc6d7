package repo

import (
	"go/ast"
	"slices"
	"testing"
)

// door is what only some may do, by what that needs.
type door struct {
	what              string
	imports, selected []string
	// only are folders and files.
	only []string
}

// The plugin has one way to API servers, which bounds what they answer, and one to whoever reads what it prints, which cleans it.
// A second one would have neither.
var doors = []door{
	{
		what: "ask an API server", only: []string{"cmd/clusterctl-windows/remote"},
		imports: []string{
			"net/http", "k8s.io/client-go/rest", "k8s.io/client-go/kubernetes", "github.com/gorilla/websocket",
			"k8s.io/client-go/tools/remotecommand", "k8s.io/client-go/dynamic", "k8s.io/client-go/discovery",
		},
		selected: []string{"client.New"},
	},
	{
		what: "print", only: []string{"cmd/clusterctl-windows/screen", "cmd/clusterctl-windows/main.go"},
		selected: []string{"os.Stdout", "os.Stderr", "fmt.Print", "fmt.Println", "fmt.Printf"},
	},
}

func TestDoorsOfThePlugin(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest || !within(s.folder, "cmd/clusterctl-windows") {
			continue
		}
		for _, d := range doors {
			if !within(s.folder, d.only...) && !slices.Contains(d.only, s.path) {
				d.check(t, s)
			}
		}
	}
}

func (d door) check(t *testing.T, s source) {
	t.Helper()
	for _, imported := range s.imports() {
		if within(imported, d.imports...) {
			t.Errorf("%s imports %s; only %v may %s", s.path, imported, d.only, d.what)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if name := selected(n); slices.Contains(d.selected, name) {
			t.Errorf("%s uses %s; only %v may %s", s.position(n), name, d.only, d.what)
		}
		return true
	})
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
