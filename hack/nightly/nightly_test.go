// Package nightly tests the script that runs targets of make one after another.
package nightly

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const makefile = `
good: ; @echo all is well
red: ; @echo is red; exit 3
without: ; @echo 'LEFT OUT: the race detector, because there is no compiler'
`

// TestEnd: all run, a red one too, and the last line names it.
func TestEnd(t *testing.T) {
	out, code := run(t, "red", "without", "good")
	expect.Same(t, "code", 1, code)
	expect.Same(t, "output", `== make red
is red
make: *** [Makefile:3: red] Error 3
== make without
LEFT OUT: the race detector, because there is no compiler
== make good
all is well
the time of each:
     0 s  red
     0 s  without
     0 s  good
make without: LEFT OUT: the race detector, because there is no compiler
failed: red
`, out)
}

func TestGreen(t *testing.T) {
	out, code := run(t, "good")
	expect.Same(t, "code", 0, code)
	expect.Same(t, "output", "== make good\nall is well\nthe time of each:\n     0 s  good\n", out)
}

// run returns what is printed, where nothing takes any time.
func run(t *testing.T, targets ...string) (out string, code int) {
	t.Helper()
	folder := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(folder, "Makefile"), []byte(makefile), 0o600))
	cmd := exec.CommandContext(t.Context(), expect.Got(filepath.Abs("run.sh"))(t), targets...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "MAKELEVEL=", "MAKEFLAGS=") // nobody above it
	printed, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	times := regexp.MustCompile(`(?m)^ +\d+ s`)
	return times.ReplaceAllString(string(printed), "     0 s"), cmd.ProcessState.ExitCode()
}
