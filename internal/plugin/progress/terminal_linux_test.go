package progress

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestTerminal: a real terminal of the kernel has colours and a line that changes, unless the user wants none.
func TestTerminal(t *testing.T) {
	user, program := terminal(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	expect.OK(t, os.Unsetenv("NO_COLOR"))
	if got := Paint(program, Green, "ok"); got != "\x1b[32mok\x1b[0m" {
		t.Errorf("on a terminal: %q", got)
	}
	t.Setenv("NO_COLOR", "1")
	if got := Paint(program, Green, "ok"); got != "ok" {
		t.Errorf("with NO_COLOR: %q", got)
	}
	work := Start(program, 2)
	work.Step("reading")
	buffer := make([]byte, 200)
	expect.OK(t, user.SetReadDeadline(time.Now().Add(10*time.Second)))
	n := expect.Got(user.Read(buffer))(t)
	work.End()
	if text := string(buffer[:n]); text[:8] != "\rreading" {
		t.Errorf("the terminal got %q", text)
	}
	if file := expect.Got(os.Create(t.TempDir() + "/file"))(t); Paint(file, Green, "ok") != "ok" {
		t.Error("a file has a colour")
	}
}

// terminal opens a terminal of the kernel: what the program writes to its end, the user's end reads (man 7 pty).
func terminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal here: %v", err)
	}
	t.Cleanup(func() { _ = user.Close() })
	var number, unlocked int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlocked, syscall.TIOCGPTN: &number} {
		//nolint:gosec // because package syscall has no other way to ask for the number of a terminal
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, user.Fd(), request, uintptr(unsafe.Pointer(value))); e != 0 {
			t.Fatal(e)
		}
	}
	program = expect.Got(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	t.Cleanup(func() { _ = program.Close() })
	return user, program
}
