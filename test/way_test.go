package test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const architecturePage = "docs/architecture.md"

// ways are the paths through the code that docs/architecture.md lists function by function, each under its heading.
var ways = []struct {
	heading string
	// lines is how much a newcomer may have to read on the way, comments and types included.
	lines int
}{
	{"The way from Reconcile to CloneVM_Task", 1560},
	{"The way from Render to the HNS step", 900},
}

// A newcomer reads what the page lists, and no more. So the page must be complete: each function of ours that a listed one
// uses, and the type of each listed method, is listed as well, or the page says why a newcomer can pass it by.
func TestWays(t *testing.T) {
	code := loadCode(t)
	for _, w := range ways {
		t.Run(w.heading, func(t *testing.T) {
			files, passedBy := listed(t, w.heading)
			entered := slices.Sorted(maps.Keys(files))
			sum := 0
			for _, name := range entered {
				piece := code[name]
				if piece.file != files[name] {
					t.Errorf("%s lists %s in %s, which is not there", architecturePage, name, files[name])
				}
				sum += piece.lines
				for _, used := range append(piece.uses, typeOf(name)) {
					if used == "" || slices.Contains(entered, used) {
						continue
					}
					if reason := covering(passedBy, used); reason != nil {
						reason.met = true
						continue
					}
					t.Errorf("%s uses %s, which %s neither lists nor passes by", name, used, architecturePage)
				}
			}
			for _, p := range passedBy {
				if !p.met {
					t.Errorf("%s passes by %s, which nothing on the way uses", architecturePage, p.name)
				}
			}
			t.Logf("%d lines in %d functions and types", sum, len(entered))
			if sum > w.lines {
				t.Errorf("the way has %d lines, want at most %d", sum, w.lines)
			}
		})
	}
}

// typeOf is the name of the type that a method belongs to; empty for anything else.
func typeOf(name string) string {
	if owner := strings.TrimSuffix(name, path.Ext(name)); strings.Contains(path.Base(owner), ".") {
		return owner
	}
	return ""
}

// passed is a function, or a whole package, that a newcomer need not enter.
type passed struct {
	name string
	met  bool
}

// covering finds the entry that a used function falls under: its own name, its type's or its package's.
func covering(passedBy []*passed, used string) *passed {
	for _, p := range passedBy {
		if used == p.name || strings.HasPrefix(used, p.name+".") || strings.HasPrefix(used, p.name+"/") {
			return p
		}
	}
	return nil
}

// listed reads the two tables under a heading: the names of what is entered, each with its file, and what is passed by.
func listed(t *testing.T, heading string) (entered map[string]string, passedBy []*passed) {
	t.Helper()
	entered = map[string]string{}
	for _, row := range rowsUnder(t, heading) {
		first, names := quoted(row[0]), quoted(row[1])
		if !strings.HasSuffix(first[0], ".go") { // the second table: what is passed by, and why
			for _, name := range first {
				passedBy = append(passedBy, &passed{name: name})
			}
			continue
		}
		for _, name := range names {
			entered[path.Dir(first[0])+"."+name] = first[0]
		}
	}
	if len(entered) == 0 {
		t.Fatalf("%s has no table under the heading %q", architecturePage, heading)
	}
	return entered, passedBy
}

func rowsUnder(t *testing.T, heading string) [][]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(architecturePage)))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return rowsOf(section)
}

// quoted returns the words between backticks.
func quoted(text string) []string {
	var words []string
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			words = append(words, part)
		}
	}
	return words
}
