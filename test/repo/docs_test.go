package repo

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const conditionsPage = "docs/conditions.md"

// Every condition and reason that a user can meet has a line that says what it means, why, and what to run.
func TestConditionsAreDocumented(t *testing.T) {
	wanted := []string{}
	for _, file := range []string{
		"infrastructure/v1beta1/conditions.go", "infrastructure/v1beta1/reasons.go", "bootstrap/v1beta1/conditions.go",
	} {
		wanted = append(wanted, constants(t, "api/"+file)...)
	}
	wanted = append(wanted, bootstrap.Reasons()...)
	// What Cluster API itself calls a pause.
	wanted = append(wanted, "Paused", "NotPaused")
	compare(t, conditionsPage, wanted, firstColumn(t, conditionsPage))
	for _, row := range tableRows(t, conditionsPage) {
		if len(row) != 4 || slices.Contains(row, "") {
			t.Errorf("%s: a row has name, meaning, likely cause and command: %v", conditionsPage, row)
		}
	}
}

// constants returns the values of the conditions and reasons in a file. One that is Cluster API's is named as there.
func constants(t *testing.T, file string) []string {
	t.Helper()
	s := expect.Got(read(root, filepath.Join(root, filepath.FromSlash(file))))(t)
	var values []string
	for _, declaration := range s.file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, spec := range block.Specs {
			values = append(values, value(t, s, spec.(*ast.ValueSpec)))
		}
	}
	return values
}

func value(t *testing.T, s source, spec *ast.ValueSpec) string {
	t.Helper()
	switch v := spec.Values[0].(type) {
	case *ast.BasicLit:
		return expect.Got(strconv.Unquote(v.Value))(t)
	case *ast.SelectorExpr:
		return strings.TrimSuffix(strings.TrimSuffix(v.Sel.Name, "Condition"), "Reason")
	default:
		t.Fatalf("%s: a constant is a string or Cluster API's", s.position(spec))
		return ""
	}
}

// The README is read whole or not at all.
func TestReadmeIsShort(t *testing.T) {
	content := expect.Got(os.ReadFile(filepath.Join(root, "README.md")))(t)
	if lines := strings.Count(string(content), "\n"); lines > 150 {
		t.Errorf("README.md has %d lines, want at most 150", lines)
	}
}

func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/contributing/*.md", "docs/decisions/*.md"} {
		found := expect.Got(filepath.Glob(filepath.Join(root, pattern)))(t)
		all = append(all, found...)
	}
	return all
}

// tableRows are the cells of all tables of a page, without their heads.
func tableRows(t *testing.T, page string) [][]string {
	t.Helper()
	content := expect.Got(os.ReadFile(filepath.Join(root, filepath.FromSlash(page))))(t)
	return rowsOf(string(content))
}

func rowsOf(text string) [][]string {
	var rows [][]string
	body := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			body = false
		case strings.HasPrefix(line, "| ---"):
			body = true
		case body:
			rows = append(rows, cells(line))
		}
	}
	return rows
}

func cells(line string) []string {
	row := strings.Split(strings.Trim(line, "|"), " | ")
	for i := range row {
		row[i] = strings.TrimSpace(row[i])
	}
	return row
}

func firstColumn(t *testing.T, page string) []string {
	t.Helper()
	var values []string
	for _, row := range tableRows(t, page) {
		values = append(values, strings.Trim(row[0], "`"))
	}
	return values
}

// compare wants the page to list what the code has, nothing more and nothing less.
func compare(t *testing.T, page string, code, listed []string) {
	t.Helper()
	for _, name := range code {
		if !slices.Contains(listed, name) {
			t.Errorf("%s lacks %s", page, name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(code, name) {
			t.Errorf("%s lists %s, which the code has not", page, name)
		}
	}
}
