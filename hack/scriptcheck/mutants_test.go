package main

import (
	"os"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Each fault of test/upstream/powershell/mutants.txt has its place in the scripts as they are: `make test-mutants` cannot put in
// another.
func TestMutantsHaveAPlace(t *testing.T) {
	count := 0
	text := string(expect.Got(os.ReadFile("../../test/upstream/powershell/mutants.txt"))(t))
	for block := range strings.SplitSeq(text, "\n\n") {
		mutant := map[string]string{}
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			mutant[name] = value
		}
		if mutant["row"] == "" {
			continue
		}
		count++
		script := string(expect.Got(os.ReadFile("../../bootstrap/scripts/" + mutant["in"]))(t))
		if found := strings.Count(script, mutant["find"]); found != 1 {
			t.Errorf("%s: %s has this text %d times and not once: %s", mutant["row"], mutant["in"], found, mutant["find"])
		}
	}
	if count < 50 {
		t.Errorf("only %d faults were read", count)
	}
}
