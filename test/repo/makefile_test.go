package repo

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// tiers are the targets of make that people and CI run; what none of them runs, nobody runs.
var tiers = []string{"check", "test", "verify", "nightly"}

// makefile is what the Makefile says, with the variables of its own in their places.
type makefile struct {
	variables map[string]string
	targets   map[string]target
}

// target has what it needs, and the lines that it runs.
type target struct {
	needs []string
	lines []string
}

var (
	makeVariable = regexp.MustCompile(`^([A-Z_]+)\s*(?::=|\?=|=)\s*(.*)$`)
	makeTarget   = regexp.MustCompile(`^([a-z-]+):([^#=]*)(?:##.*)?$`)
	makeUse      = regexp.MustCompile(`\$\(([A-Z_]+)\)`)
	makeScript   = regexp.MustCompile(`\./[\w/-]+\.sh\b`)
)

func readMakefile(t *testing.T) makefile {
	t.Helper()
	text := string(expect.Got(os.ReadFile(filepath.Join(root, "Makefile")))(t))
	m := makefile{variables: map[string]string{}, targets: map[string]target{}}
	name := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\n")
		if recipe, is := strings.CutPrefix(line, "\t"); is {
			at := m.targets[name]
			at.lines = append(at.lines, m.expanded(recipe))
			m.targets[name] = at
		} else if found := makeVariable.FindStringSubmatch(line); found != nil {
			m.variables[found[1]] = m.expanded(found[2])
		} else if found := makeTarget.FindStringSubmatch(line); found != nil {
			name = found[1]
			m.targets[name] = target{needs: strings.Fields(m.expanded(found[2]))}
		}
	}
	return m
}

// expanded has the values of variables, but for those that a shell prints.
func (m makefile) expanded(text string) string {
	return makeUse.ReplaceAllStringFunc(text, func(use string) string {
		value, known := m.variables[makeUse.FindStringSubmatch(use)[1]]
		if !known || strings.Contains(value, "$(shell ") {
			return use
		}
		return value
	})
}

// reached are the targets that run when those of the names run: what they need, and what their lines give to make.
func (m makefile) reached(names ...string) []string {
	seen := map[string]bool{}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if at, is := m.targets[name]; is && !seen[name] {
			seen[name] = true
			names = append(names, at.needs...)
			for _, line := range at.lines {
				if strings.Contains(line, "$(MAKE)") {
					names = append(names, strings.Fields(line)...)
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// text is what a target runs, with the scripts that it calls.
func (m makefile) text(t *testing.T, name string) string {
	t.Helper()
	text := strings.Join(m.targets[name].lines, "\n")
	for _, script := range makeScript.FindAllString(text, -1) {
		text += "\n" + string(expect.Got(os.ReadFile(filepath.Join(root, filepath.FromSlash(script))))(t))
	}
	return text
}
