// Package plugin builds the plugin as make does, and runs it as its users do: from a shell that completes its arguments, and
// until they press Ctrl-C. make bench-plugin prints its size and its time.
package plugin

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const root = "../../.."

// bin is a folder with the program under all of its names.
var bin string

func TestMain(m *testing.M) {
	os.Exit(build(m))
}

func build(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "plugin-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(bin) }()
	command := exec.Command("make", "--no-print-directory", "build-plugin", "BIN="+bin)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// program is the path of the program.
func program() string { return filepath.Join(bin, "clusterctl-windows") }

// ended is what the caller of a program sees.
type ended struct {
	code     int
	out, err string
}

func run(t *testing.T, args ...string) ended {
	t.Helper()
	var out, err bytes.Buffer
	command := exec.CommandContext(t.Context(), program(), args...)
	command.Stdout, command.Stderr = &out, &err
	if failed := command.Run(); failed != nil && command.ProcessState == nil {
		t.Fatal(failed)
	}
	return ended{command.ProcessState.ExitCode(), out.String(), err.String()}
}

// inFile writes a text to a file of the test, and returns its path.
func inFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
