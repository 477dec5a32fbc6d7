package step

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// Every constant of reasons.go must be explained, once, with something to do.
func TestReasonsAreExplained(t *testing.T) {
	var explained []string
	for _, reason := range Reasons() {
		explained = append(explained, reason.Name)
		for _, text := range []string{reason.Meaning, reason.Cause, reason.Command} {
			if text == "" || strings.ContainsAny(text, "\n|") {
				t.Errorf("%s: %q must be one line that a table takes", reason.Name, text)
			}
		}
		if !regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(reason.Name) {
			t.Errorf("%q is no reason of a condition", reason.Name)
		}
	}
	declared := declaredReasons(t)
	slices.Sort(explained)
	slices.Sort(declared)
	expect.Same(t, "constants and explanations", declared, explained)
}

func declaredReasons(t *testing.T) []string {
	t.Helper()
	file := expect.Got(parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0))(t)
	var names []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		name := expect.Got(strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value))(t)
		names = append(names, name)
		return false
	})
	return names
}

func TestReasonsAreACopy(t *testing.T) {
	Reasons()[0].Name = "Changed"
	if Reasons()[0].Name == "Changed" {
		t.Error("a caller can change the list of all others")
	}
}
