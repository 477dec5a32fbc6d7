package repo

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// kubectl explain shows the comments of the API to users, as they are: controller-gen cuts what is longer than its limit, even in
// the middle of a word.
func TestDescriptionsAreWhole(t *testing.T) {
	makefile := expect.Got(os.ReadFile(filepath.Join(root, "Makefile")))(t)
	found := regexp.MustCompile(`maxDescLen=(\d+)`).FindSubmatch(makefile)
	if found == nil {
		t.Fatal("the Makefile does not say maxDescLen")
	}
	limit := expect.Got(strconv.Atoi(string(found[1])))(t)
	for _, s := range sources(t) {
		if !within(s.folder, "api") || s.isTest {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if doc, name := describes(n); name != "" {
				checkDescription(t, s.position(n)+": "+name, doc, limit)
			}
			return true
		})
	}
}

// describes returns the comment of a type or of a field that has a name in JSON.
func describes(n ast.Node) (*ast.CommentGroup, string) {
	switch n := n.(type) {
	case *ast.GenDecl:
		if spec, ok := n.Specs[0].(*ast.TypeSpec); ok {
			return n.Doc, spec.Name.Name
		}
	case *ast.Field:
		if n.Tag != nil && len(n.Names) == 1 && n.Names[0].Name != "Items" {
			return n.Doc, n.Names[0].Name
		}
	}
	return nil, ""
}

func checkDescription(t *testing.T, name string, doc *ast.CommentGroup, limit int) {
	t.Helper()
	description := regexp.MustCompile(`(?m)^\s*\+.*$`).ReplaceAllString(doc.Text(), "")
	if length := len(strings.TrimSpace(description)); length == 0 || length > limit {
		t.Errorf("%s: the description has %d characters and would be cut after %d", name, length, limit)
	}
}
