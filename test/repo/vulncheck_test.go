package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestVulncheck: a release fails where the vulnerability database does not answer, and its provenance records what was left out.
func TestVulncheck(t *testing.T) {
	programs := t.TempDir()
	silent := filepath.Join(programs, "curl")
	expect.OK(t, os.WriteFile(silent, []byte("#!/bin/sh\nexit 7\n"), 0o700))
	run := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "make", args...)
		command.Dir, command.Env = root, append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "MAKEFLAGS=")
		said, err := command.CombinedOutput()
		return string(said), err
	}
	said, err := run("vulncheck")
	if err == nil || !strings.Contains(said, "VULNCHECK=left-out") {
		t.Errorf("a check without an answer: %v, %s", err, said)
	}
	said, err = run("vulncheck", "VULNCHECK=left-out")
	if err != nil || !strings.Contains(said, "LEFT OUT") {
		t.Errorf("a check that is left out: %v, %s", err, said)
	}
	for variable, want := range map[string]bool{"VULNCHECK=left-out": true, "VULNCHECK=": false} {
		said, err = run("--dry-run", "release", variable)
		expect.OK(t, err)
		if strings.Contains(said, "-vulncheck=left-out") != want {
			t.Errorf("with %s the provenance is made by %s", variable, said)
		}
	}
}
