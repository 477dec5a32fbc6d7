package test

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// skips are what tests say that skip themselves, and when they run nevertheless. One that names a target of make is not here.
var skips = map[string]string{
	"needs real servers":                                                        "only with -short",
	"starts real servers":                                                       "only with -short",
	"starts two control planes; CI runs it":                                     "only with -short",
	"builds the manager for every platform":                                     "only with -short",
	"is a part of TestRestart":                                                  "that starts it in a process of its own",
	"this is for TestCloudsOfThisComputer":                                      "that starts it in a process of its own",
	"not understood":                                                            "other readers of vectors read it",
	"%s is not here to take its script":                                         "CI has two of the four",
	"no terminal here: %v":                                                      "Linux has /dev/ptmx",
	"only Linux ties the life of a child to its parent's":                       "CI is on Linux",
	"the program of this test is a script for sh":                               "CI is on Linux",
	"the size before is not known for %s":                                       "CI is on linux/amd64",
	"this is a Pod, which has a namespace for its lease":                        "CI is not a Pod",
	"left out: there is no PowerShell 7 (no pwsh on PATH, and PWSH is not set)": ".ci/run has one",
}

// byHand are targets that measure and check nothing else. Some take an hour. They are run before their figures are cited.
var byHand = []string{"bench-azure", "bench-hostile", "bench-vsphere"}

// How the Makefile lists what it runs, and how a test names a target.
var (
	verifyLine  = regexp.MustCompile(`(?m)^verify: ([^#]*)##`)
	storyLine   = regexp.MustCompile(`(?m)^STORY_ROOMS := (.*)$`)
	nightlyLine = regexp.MustCompile(`(?m)^NIGHTLY := (.*)$`)
	makeRule    = regexp.MustCompile(`(?m)^([a-z-]+):.*\n((?:\t.*\n)+)`)
	makeTarget  = regexp.MustCompile(`make ([a-z-]+)`)
)

// TestSkippedTestsRun: each test that skips itself runs elsewhere, in CI or in make nightly, and so does each target of make that
// has a test do more than in CI.
func TestSkippedTestsRun(t *testing.T) {
	makefile := string(expect.Got(os.ReadFile(filepath.Join(root, "Makefile")))(t))
	runs := slices.Concat(targetsIn(t, makefile, verifyLine), targetsIn(t, makefile, nightlyLine), byHand)
	for _, rule := range makeRule.FindAllStringSubmatch(makefile, -1) {
		if strings.Contains(rule[2], " -args ") && !slices.Contains(runs, rule[1]) {
			t.Errorf("make %s has a test do more, and neither make verify nor make nightly runs it", rule[1])
		}
	}
	met := map[string]bool{}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			text, isSkip := skipOf(n)
			if !isSkip {
				return true
			}
			met[text] = true
			switch target := makeTarget.FindStringSubmatch(text); {
			case len(target) == 0 && skips[text] == "":
				t.Errorf("%s: where does the test run that skips itself with %q? Say it in test/skips_test.go", s.position(n), text)
			case len(target) > 0 && !slices.Contains(runs, target[1]):
				t.Errorf("%s: neither make verify nor make nightly runs make %s", s.position(n), target[1])
			}
			return true
		})
	}
	for _, text := range slices.Sorted(maps.Keys(skips)) {
		if !met[text] {
			t.Errorf("no test says any more: %s", text)
		}
	}
}

// skipOf is what a test says as it skips itself, if that is what a piece of code does.
func skipOf(n ast.Node) (text string, isSkip bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	switch {
	case !ok:
		return "", false
	case method.Sel.Name == "SkipNow":
		return "", true
	case method.Sel.Name != "Skip" && method.Sel.Name != "Skipf" || len(call.Args) == 0:
		return "", false
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", false // such as a clock's Skip
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// TestStoriesRun: make stories, and so make nightly, goes to each room that has a story.
func TestStoriesRun(t *testing.T) {
	makefile := string(expect.Got(os.ReadFile(filepath.Join(root, "Makefile")))(t))
	rooms := map[string]bool{}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if selected(n) == "stories.Begin" {
				rooms["./"+s.folder] = true
			}
			return true
		})
	}
	expect.Same(t, "rooms of stories", targetsIn(t, makefile, storyLine), slices.Sorted(maps.Keys(rooms)))
}

func targetsIn(t *testing.T, makefile string, line *regexp.Regexp) []string {
	t.Helper()
	found := line.FindStringSubmatch(makefile)
	if found == nil {
		t.Fatalf("the Makefile has no line %s", line)
	}
	return strings.Fields(found[1])
}
