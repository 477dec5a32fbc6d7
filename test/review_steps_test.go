package test

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// tutorial is the test that runs the commands of pages, each block of which it runs or excuses.
const tutorial = "test/lab/tutorial_test.go"

// tutorialPages are those pages, of the folder docs.
var tutorialPages = sync.OnceValues(func() ([]string, error) {
	s, err := read(filepath.Join(root, filepath.FromSlash(tutorial)))
	if err != nil {
		return nil, err
	}
	var pages []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "tutorialPages" {
			return true
		}
		ast.Inspect(spec, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok {
				page, _ := strconv.Unquote(text.Value)
				pages = append(pages, page)
			}
			return true
		})
		return false
	})
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s names no pages", tutorial)
	}
	return pages, nil
})

// stepError says why a heading, docs/page.md#heading, is no step of a user: its section must have commands, which are run.
func stepError(name string) string {
	page, anchor, _ := strings.Cut(name, "#")
	pages, err := tutorialPages()
	if err != nil {
		return err.Error()
	}
	if path.Dir(page) != "docs" || !slices.Contains(pages, path.Base(page)) {
		return fmt.Sprintf("the commands of %s are not run by %s", page, tutorial)
	}
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		return err.Error()
	}
	if !shellBlock.MatchString(sectionOf(string(content), anchor)) {
		return "the section " + name + " has no commands"
	}
	return ""
}

var shellBlock = regexp.MustCompile("(?m:^ *```sh$)")

// sectionOf is the text from a heading to the next one that is not below it.
func sectionOf(page, anchor string) string {
	anchors := headingsOf(page)
	fenced, depth, at := false, 0, 0
	var section strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !fenced && headingLine.MatchString(line) {
			level := strings.IndexFunc(line, func(r rune) bool { return r != '#' })
			switch {
			case anchors[at] == anchor:
				depth = level
			case level <= depth:
				depth = 0
			}
			at++
		}
		if depth > 0 {
			section.WriteString(line)
		}
	}
	return section.String()
}

func TestSectionOf(t *testing.T) {
	const page = "# A\n## B\nb\n```sh\n## no heading\n```\n### C\nc\n## D\nd\n"
	for anchor, want := range map[string]string{
		"b": "## B\nb\n```sh\n## no heading\n```\n### C\nc\n", "c": "### C\nc\n", "d": "## D\nd\n", "a": page, "e": "",
	} {
		expect.Same(t, "the section "+anchor, want, sectionOf(page, anchor))
	}
}
