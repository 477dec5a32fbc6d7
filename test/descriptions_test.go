package test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// explainWidth is where kubectl explain wraps a line. It keeps the line breaks of a comment, so a longer one comes out ragged.
const explainWidth = 76

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
	var lines []string
	for line := range strings.Lines(doc.Text()) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "+") {
			lines = append(lines, line)
		}
	}
	description := strings.TrimSpace(strings.Join(lines, "\n"))
	switch {
	case description == "":
		t.Errorf("%s has no description", name)
	case len(description) > limit:
		t.Errorf("%s: the description has %d characters and would be cut after %d", name, len(description), limit)
	case !strings.HasSuffix(description, "."):
		t.Errorf("%s: the description does not end with a sentence: %s", name, description)
	}
	for _, line := range lines {
		if len(line) > explainWidth && strings.Contains(line, " ") {
			t.Errorf("%s: wrap the description at %d characters: %s", name, explainWidth, line)
		}
	}
}
