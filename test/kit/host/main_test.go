package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestRun: the command finds the host by a folder that is the same each time, beside another host of the same tree by one of its
// own, and its end is that of the whole.
func TestRun(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	folders := filepath.Join(t.TempDir(), "folders")
	script := `test -S "$CAPWIN_WORLD/socket" && echo "$CAPWIN_WORLD" >> ` + folders
	expect.OK(t, run("sh", "-c", script))
	expect.OK(t, run("sh", "-c", script))
	_, release, err := own(expect.Got(os.Getwd())(t))
	expect.OK(t, err)
	expect.OK(t, run("sh", "-c", script))
	expect.OK(t, release())
	found := strings.Fields(string(expect.Got(os.ReadFile(folders))(t)))
	if len(found) != 3 || found[0] != found[1] || found[1] == found[2] {
		t.Errorf("the folders were %q", found)
	}
	err = run("sh", "-c", "exit 3")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
		t.Errorf("want the end of the command, got: %v", err)
	}
	left := expect.Got(filepath.Glob(filepath.Join(temporary, "*")))(t)
	if len(left) != 1 || !strings.HasSuffix(left[0], ".lock") {
		t.Errorf("left: %q", left)
	}
}
