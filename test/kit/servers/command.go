package servers

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// command prepares a program that runs to its end. When ctx ends, the program and its children are killed.
func command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = childAttributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second // its output is read a moment later, on a busy machine
	return cmd
}

// run returns what the program wrote to stdout; its error carries the end of stderr.
func run(cmd *exec.Cmd) ([]byte, error) {
	// A child with a death signal gets it when the thread ends that started it, so this thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		line := filepath.Base(cmd.Path) + " " + strings.Join(cmd.Args[1:], " ")
		return nil, fmt.Errorf("%s: %w\n%s", line, err, lastLines(stderr.String(), logTail))
	}
	return stdout.Bytes(), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func firstLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
