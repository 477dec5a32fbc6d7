package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// workflow is what a file of .github/workflows has that is compared.
type workflow struct {
	Permissions map[string]string
	Concurrency struct{ Group string }
	Jobs        map[string]struct {
		Strategy struct{ Matrix struct{ Target []string } }
		Timeout  int `json:"timeout-minutes"`
		Steps    []struct{ Uses, Run string }
	}
}

var (
	pinnedAction = regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	callOfMake   = regexp.MustCompile(`\bmake (?:nightly NIGHTLY=)?([a-z-]+)`)
)

// TestWorkflowsRunTheTiers: what they call is in the Makefile, and they run each tier, and each target of nightly by itself.
func TestWorkflowsRunTheTiers(t *testing.T) {
	m := readMakefile(t)
	ci, nightly := called(t, "ci.yml"), called(t, "nightly.yml")
	for _, name := range slices.Concat(ci, nightly) {
		if _, is := m.targets[name]; !is {
			t.Errorf("a workflow calls make %s, which is no target", name)
		}
	}
	expect.Same(t, "targets of nightly.yml", strings.Fields(m.variables["NIGHTLY"]), nightly)
	reached := m.reached(ci...)
	for _, tier := range []string{"check", "test", "verify"} {
		if !slices.Contains(reached, tier) {
			t.Errorf("ci.yml does not run make %s", tier)
		}
	}
}

// called are the targets of make that a workflow calls. It may only read, ends at some time, and runs what was read by a person.
func called(t *testing.T, name string) []string {
	t.Helper()
	text := expect.Got(os.ReadFile(filepath.Join(root, ".github", "workflows", name)))(t)
	var w workflow
	expect.OK(t, yaml.Unmarshal(text, &w))
	expect.Same(t, "permissions of "+name, map[string]string{"contents": "read"}, w.Permissions)
	if w.Concurrency.Group == "" {
		t.Errorf("%s: no group keeps two runs apart", name)
	}
	var all []string
	for _, job := range w.Jobs {
		if job.Timeout < 1 || job.Timeout > 360 {
			t.Errorf("%s: a job may take %d minutes", name, job.Timeout)
		}
		for _, step := range job.Steps {
			if step.Uses != "" && !pinnedAction.MatchString(step.Uses) {
				t.Errorf("%s: %s is not pinned by the hash of a commit", name, step.Uses)
			}
			for _, target := range orOne(job.Strategy.Matrix.Target) {
				line := strings.ReplaceAll(step.Run, "${{ matrix.target }}", target)
				for _, call := range callOfMake.FindAllStringSubmatch(line, -1) {
					all = append(all, call[1])
				}
			}
		}
	}
	return all
}

// orOne has a job without a matrix run once.
func orOne(targets []string) []string {
	if len(targets) == 0 {
		return []string{""}
	}
	return targets
}
