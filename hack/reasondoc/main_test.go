package main

import (
	"os"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The page in the repository must be the one that reasondoc writes, and a row of it is read at a glance.
func TestPageIsFresh(t *testing.T) {
	t.Chdir("../..")
	got := string(expect.Got(os.ReadFile("docs/conditions.md"))(t))
	want := expect.Got(renew(got, expect.Got(read())(t)))(t)
	if got != want {
		t.Error("docs/conditions.md is stale: make generate writes it anew")
	}
	for line := range strings.Lines(got) {
		if words := len(strings.Fields(strings.ReplaceAll(line, " | ", " "))); strings.HasPrefix(line, "|") && words > 62 {
			t.Errorf("a row has %d words, want at most 60: %s", words-2, line)
		}
	}
}

// A reason without a row or a comment, and a row without a reason, must not be overlooked.
func TestFaults(t *testing.T) {
	page := heading + "\n| --- | --- | --- | --- |\n| `A` |\n| `NotPaused` | mine |\n\n| `B` |\n"
	a := reason{meaning: "a|b", cause: "c", command: "`d`"}
	want := strings.Replace(page, "| `A` |", "| `A` | a\\|b | c | `d` |", 1)
	expect.Same(t, "page", want, expect.Got(renew(page, map[string]reason{"A": a}))(t))
	for fault, reasons := range map[string]map[string]reason{
		"B has no row":              {"A": a, "B": a},
		"the row A has no constant": {},
	} {
		if _, err := renew(page, reasons); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%v, want %q", err, fault)
		}
	}
	if got := parse("A", "A: is a\nb.\nCause: c.\nRun: `d`\n"); got != (reason{meaning: "is a b", cause: "c", command: "`d`"}) {
		t.Errorf("parts %v", got)
	}
	all := map[string]reason{}
	file := t.TempDir() + "/a.go"
	source := "package a\n\nconst (\n\t// AReason: a.\n\t// Cause: c.\n\t// Run: d\n\tAReason = \"A\"\n)\n"
	expect.OK(t, os.WriteFile(file, []byte(source), 0o600))
	expect.OK(t, readFile(file, all))
	if err := readFile(file, all); err == nil {
		t.Error("two comments with a cause were accepted")
	}
}
