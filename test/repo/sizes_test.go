package repo

import (
	"go/ast"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What a reader can take in.
const (
	medianFunction     = 9
	p95Function        = 40
	longestFunction    = 70
	longestFile        = 350
	mostFiles          = 20 // of a room, without its tests
	mostParameters     = 5
	mostDirectRequires = 34
)

// besideProduct are the folders of what no user runs.
var besideProduct = []string{"test", "hack"}

// exceptions to the sizes of single pieces, by path and name, with the reason.
var exceptions = map[string]string{}

// function is a function that is not a test.
type function struct {
	name  string
	lines int
}

func TestSizes(t *testing.T) {
	var product, programs []function // programs are those of the tests: the lab, servers, simulators
	var files, lines, testLines int
	inRoom := map[string]int{}
	used := map[string]bool{}
	tooMuch := func(name, what string, is, limit int) {
		if is <= limit {
			return
		}
		used[name] = true
		if exceptions[name] == "" {
			t.Errorf("%s has %d %s, at most %d are good", name, is, what, limit)
		}
	}
	for _, s := range sources(t) {
		files++
		tooMuch(s.path, "lines", s.lines, longestFile)
		if s.isTest {
			testLines += s.lines
			continue // a test may tell a long story
		}
		lines += s.lines
		inRoom[s.folder]++
		ast.Inspect(s.file, func(n ast.Node) bool {
			declaration, is := n.(*ast.FuncDecl)
			if !is {
				return true
			}
			f := function{name: s.path + " " + declaration.Name.Name, lines: s.span(declaration)}
			if within(s.folder, besideProduct...) {
				programs = append(programs, f)
			} else {
				product = append(product, f)
			}
			tooMuch(f.name, "lines", f.lines, longestFunction)
			tooMuch(f.name, "parameters", declaration.Type.Params.NumFields(), mostParameters)
			return true
		})
	}
	for folder, files := range inRoom {
		if !within(folder, besideProduct...) {
			tooMuch(folder, "files", files, mostFiles)
		}
	}
	for name := range exceptions {
		if !used[name] {
			t.Errorf("%s is an exception and need not be one", name)
		}
	}
	checkSpread(t, "product", product, medianFunction)
	// A simulator is mostly long tables of small truths: its median may be what it is.
	checkSpread(t, "test programs", programs, p95Function)
	times := float64(testLines) / float64(max(lines, 1))
	t.Logf("%d files: %d lines of code, %d of tests (%.1f times)", files, lines, testLines, times)
}

func checkSpread(t *testing.T, what string, functions []function, median int) {
	t.Helper()
	slices.SortFunc(functions, func(a, b function) int { return a.lines - b.lines })
	at := func(percent int) int { return functions[(len(functions)-1)*percent/100].lines }
	longest := functions[len(functions)-1]
	t.Logf("%s: %d functions, median %d lines, 95th percentile %d, longest %d (%s)",
		what, len(functions), at(50), at(95), longest.lines, longest.name)
	if at(50) > median {
		t.Errorf("%s: median function has %d lines, want at most %d", what, at(50), median)
	}
	if at(95) > p95Function {
		t.Errorf("%s: 95th percentile of functions is %d lines, want at most %d", what, at(95), p95Function)
	}
}

// Every dependency is a debt; docs/decisions/dependencies.md says what each one is worth.
func TestDependencies(t *testing.T) {
	direct := directRequires(t)
	t.Logf("%d direct dependencies", len(direct))
	if len(direct) > mostDirectRequires {
		t.Errorf("%d direct dependencies, want at most %d", len(direct), mostDirectRequires)
	}
	listed := firstColumn(t, "docs/decisions/dependencies.md")
	compare(t, "docs/decisions/dependencies.md", direct, listed)
}

// directRequires reads go.mod by its lines: the requirements that are not marked indirect.
func directRequires(t *testing.T) []string {
	t.Helper()
	content := expect.Got(os.ReadFile(root + "/go.mod"))(t)
	var direct []string
	inside := false
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "require" && fields[1] == "(":
			inside = true
		case len(fields) == 1 && fields[0] == ")":
			inside = false
		case inside && len(fields) == 2:
			direct = append(direct, fields[0])
		case len(fields) == 3 && fields[0] == "require":
			direct = append(direct, fields[1])
		}
	}
	return direct
}
