package repo

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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
	"it compares with a commit: name one by AT":                                 "it only counts",
	"no terminal here: %v":                                                      "Linux has /dev/ptmx",
	"only Linux ties the life of a child to its parent's":                       "CI is on Linux",
	"the program of this test is a script for sh":                               "CI is on Linux",
	"the size before is not known for %s":                                       "CI is on linux/amd64",
	"there is no /proc here, which has no room":                                 "CI is on Linux",
	"this is a Pod, which has a namespace for its lease":                        "CI is not a Pod",
	"left out: there is no PowerShell 7 (no pwsh on PATH, and PWSH is not set)": ".ci/run has one",
}

// namedTarget is how a test names a target of make.
var namedTarget = regexp.MustCompile(`make ([a-z-]+)`)

// TestSkippedTestsRun: each test that skips itself runs elsewhere.
func TestSkippedTestsRun(t *testing.T) {
	reached := readMakefile(t).reached(tiers...)
	met := map[string]bool{}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			text, isSkip := skipOf(n)
			if !isSkip {
				return true
			}
			met[text] = true
			switch target := namedTarget.FindStringSubmatch(text); {
			case len(target) == 0 && skips[text] == "":
				t.Errorf("%s: where does the test run that skips itself with %q? Say it in test/repo/skips_test.go", s.position(n), text)
			case len(target) > 0 && !slices.Contains(reached, target[1]) && outside[target[1]] == "":
				t.Errorf("%s: none of %v runs make %s", s.position(n), tiers, target[1])
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
	rooms := map[string]bool{}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if selected(n) == "stories.Begin" {
				rooms["./"+s.folder] = true
			}
			return true
		})
	}
	want := strings.Fields(readMakefile(t).variables["STORY_ROOMS"])
	expect.Same(t, "rooms of stories", slices.Sorted(slices.Values(want)), slices.Sorted(maps.Keys(rooms)))
}
