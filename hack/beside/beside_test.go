// Package beside tests the script that runs targets of make beside another one.
package beside

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// makefile has targets that end, fail, or run on until somebody ends them. long ends once there is a file go.
const makefile = `
long: ; @echo long begins; until [ -e go ]; do sleep 0.01; done; echo long ends
a: ; @echo a begins; echo a ends; touch a
b: ; @echo b begins; echo b ends >&2; touch b
red: ; @echo is red; exit 1
forever forever2: ; @sleep 1000 & echo $$! >$@; wait
stubborn: ; @trap '' TERM; sleep 1000 & echo $$! >stubborn; wait; wait
`

// TestPieces: what the first prints is there at once, and what each other prints is one piece behind it.
func TestPieces(t *testing.T) {
	t.Parallel()
	script, folder := script(t, "long", "b", "a")
	out := bufio.NewReader(expect.Got(script.StdoutPipe())(t))
	expect.OK(t, script.Start())
	expect.Same(t, "first line", "long begins\n", expect.Got(out.ReadString('\n'))(t))
	for _, name := range []string{"b", "a"} {
		read(t, folder, name) // each has ended while the first still runs
	}
	expect.OK(t, os.WriteFile(filepath.Join(folder, "go"), nil, 0o600))
	rest := expect.Got(io.ReadAll(out))(t)
	expect.Same(t, "rest", []string{"long ends", "== make b", "b begins", "b ends", "== make a", "a begins", "a ends", ""},
		strings.Split(string(rest), "\n"))
	expect.OK(t, script.Wait())
}

func TestRed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ targets, last string }{
		{"a red b", "failed: red"},
		{"red a", "failed: red"},
		{"red a none", "failed: red none"},
	} {
		script, _ := script(t, strings.Fields(test.targets)...)
		out, err := script.CombinedOutput()
		if code := script.ProcessState.ExitCode(); code != 1 {
			t.Errorf("%s: ended with %d, %v", test.targets, code, err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		expect.Same(t, test.targets, test.last, lines[len(lines)-1])
	}
}

// TestSignals: nothing runs on after a signal, and its code is the one that shells expect.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		signal  syscall.Signal
		targets []string
		code    int
	}{
		{syscall.SIGINT, []string{"forever", "a", "forever2"}, 130},
		{syscall.SIGTERM, []string{"forever", "stubborn"}, 143},
	} {
		script, folder := script(t, test.targets...)
		expect.OK(t, script.Start())
		var left []int
		for _, name := range []string{test.targets[0], test.targets[len(test.targets)-1]} {
			left = append(left, expect.Got(strconv.Atoi(strings.TrimSpace(read(t, folder, name))))(t))
		}
		expect.OK(t, script.Process.Signal(test.signal))
		_ = script.Wait()
		expect.Same(t, "code after "+test.signal.String(), test.code, script.ProcessState.ExitCode())
		for _, pid := range left {
			// A moment passes until the system forgets what has ended.
			wait.Until(t, fmt.Sprintf("the end of process %d", pid), func() (any, bool) {
				err := syscall.Kill(pid, 0)
				return err, errors.Is(err, syscall.ESRCH)
			})
		}
	}
}

// script runs targets in a folder of its own.
func script(t *testing.T, targets ...string) (cmd *exec.Cmd, folder string) {
	t.Helper()
	folder = t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(folder, "Makefile"), []byte(makefile), 0o600))
	cmd = exec.CommandContext(t.Context(), expect.Got(filepath.Abs("run.sh"))(t), targets...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "MAKELEVEL=", "MAKEFLAGS=") // nobody above it
	return cmd, folder
}

// read waits for a file of a target, and for its content if it gets one.
func read(t *testing.T, folder, name string) string {
	t.Helper()
	var content []byte
	wait.Until(t, "the file "+name, func() (any, bool) {
		var err error
		content, err = os.ReadFile(filepath.Join(folder, name))
		return err, err == nil && (len(name) == 1 || bytes.HasSuffix(content, []byte("\n")))
	})
	return string(content)
}
