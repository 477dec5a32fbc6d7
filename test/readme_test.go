package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// pageRow is a row of the README's table of pages.
var pageRow = regexp.MustCompile(`(?m)^\| (\w+) \| (.*) \|$`)

// Each page is in the README's table, once.
func TestReadmeListsThePages(t *testing.T) {
	_, table, _ := strings.Cut(string(expect.Got(os.ReadFile(filepath.Join(root, "README.md")))(t)), "\n## Where things are\n")
	var listed, there []string
	for _, row := range pageRow.FindAllStringSubmatch(table, -1) {
		for _, link := range linksOf(row[2]) {
			if strings.HasPrefix(link, "docs/") && strings.HasSuffix(link, ".md") {
				listed = append(listed, link)
			}
		}
	}
	for _, file := range expect.Got(filepath.Glob(filepath.Join(root, "docs", "*.md")))(t) {
		there = append(there, "docs/"+filepath.Base(file))
	}
	slices.Sort(listed)
	expect.Same(t, "pages of the README's table", there, listed)
}
