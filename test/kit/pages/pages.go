// Package pages reads what the pages of the documentation show, for tests that run it.
package pages

import (
	"os"
	"strings"
	"testing"
)

// YAML is a block of YAML in a page, by its number from 0.
func YAML(t testing.TB, page string, number int) []byte {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")
	if len(blocks) < number+2 {
		t.Fatalf("%s has %d blocks of YAML", page, len(blocks)-1)
	}
	block, _, _ := strings.Cut(blocks[number+1], "```\n")
	return []byte(block)
}
