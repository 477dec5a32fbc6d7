package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The page in the repository must be the one that plandoc writes.
func TestPageIsFresh(t *testing.T) {
	t.Chdir("../..")
	file := filepath.Join(t.TempDir(), "plan.md")
	expect.OK(t, write(file))
	want := expect.Got(os.ReadFile(file))(t)
	got, err := os.ReadFile("docs/plan.md")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/plan.md is stale (%v): make generate writes it anew", err)
	}
}

// A kind or field without a comment must not become an empty cell.
func TestWordsAreAskedFor(t *testing.T) {
	t.Chdir(t.TempDir())
	source := "// Package plan is small.\npackage plan\n\ntype File struct {\n\tPath Value `json:\"path\"`\n}\n"
	expect.OK(t, os.MkdirAll("bootstrap/plan", 0o750))
	expect.OK(t, os.WriteFile("bootstrap/plan/file.go", []byte(source), 0o600))
	err := write("plan.md")
	if err == nil {
		t.Fatal("a kind without comment was written")
	}
	for _, want := range []string{"File does not say what is already so", "File.Path has no comment"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := os.Stat("plan.md"); err == nil {
		t.Error("half a page was written")
	}
}
