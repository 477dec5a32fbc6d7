package repo

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var linesAt = flag.String("lines.at", "", "the commit whose lines are counted as well")

// keptOnLinux are the files that keep what is for Linux off Windows Nodes, and what belongs to a workload cluster as a whole:
// also those of earlier commits.
var keptOnLinux = regexp.MustCompile(`^(controllers/(cluster|guests|linux|noderights|placement)|` +
	`internal/(collect|placement|policies)|cmd/clusterctl-windows/linux|internal/workload/(event|follow|lines)\.go$)`)

// mostKeptOnLinux is how many lines they may have. It only sinks, but for the 20 lines that bound the looks and events of a
// namespace, and the 37 that bound what is kept of its clusters.
const mostKeptOnLinux = 4857

// TestLinesKeptOnLinux prints how many lines these rooms have, without tests: make lines.
func TestLinesKeptOnLinux(t *testing.T) {
	list := func(commit string) (sum int) {
		lines := linesOf(t, commit)
		for _, folder := range slices.Sorted(maps.Keys(lines)) {
			sum += lines[folder]
			t.Logf("%6d %s", lines[folder], folder)
		}
		t.Logf("%6d lines of Go and YAML, %s", sum, commit)
		return sum
	}
	if *linesAt != "" {
		list(*linesAt)
	}
	if sum := list("now"); sum > mostKeptOnLinux {
		t.Errorf("these rooms have %d lines, want at most %d", sum, mostKeptOnLinux)
	}
}

// linesOf counts by folder.
func linesOf(t *testing.T, commit string) map[string]int {
	t.Helper()
	list := []string{"ls-files", "--cached", "--others", "--exclude-standard"}
	read := func(file string) string {
		text, _ := os.ReadFile(filepath.Join(root, file)) // else it was deleted
		return string(text)
	}
	if commit != "now" {
		list = []string{"ls-tree", "-r", "--name-only", commit}
		read = func(file string) string { return git(t, "show", commit+":"+file) }
	}
	lines := map[string]int{}
	for file := range strings.FieldsSeq(git(t, list...)) {
		product := (strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".yaml")) &&
			keptOnLinux.MatchString(file) && !strings.Contains(file, "/testdata/")
		if product {
			lines[filepath.Dir(file)] += strings.Count(read(file), "\n")
		}
	}
	return lines
}
