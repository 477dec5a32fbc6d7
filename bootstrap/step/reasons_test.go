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

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Every constant of a reason must be in the list, once, and be the reason of a condition.
func TestReasonsAreListed(t *testing.T) {
	listed := Reasons()
	for _, reason := range listed {
		if !regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(reason) {
			t.Errorf("%q cannot be the reason of a condition", reason)
		}
	}
	declared := declaredReasons(t)
	slices.Sort(listed)
	slices.Sort(declared)
	expect.Same(t, "constants and list", declared, listed)
}

func declaredReasons(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, file := range []string{"reasons.go", "reasons_settings.go"} {
		ast.Inspect(expect.Got(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t), func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
				return true
			}
			names = append(names, expect.Got(strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value))(t))
			return false
		})
	}
	return names
}

func TestReasonsAreACopy(t *testing.T) {
	Reasons()[0] = "Changed"
	if Reasons()[0] == "Changed" {
		t.Error("a caller can change the list of all others")
	}
}
