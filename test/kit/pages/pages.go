// Package pages reads what the pages of the documentation show, for tests that run it.
package pages

import (
	"os"
	"regexp"
	"testing"
)

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// YAML returns the blocks of YAML in a page. A page without one fails the test.
func YAML(t testing.TB, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, found[1])
	}
	if blocks == nil {
		t.Fatalf("%s has no YAML", page)
	}
	return blocks
}
