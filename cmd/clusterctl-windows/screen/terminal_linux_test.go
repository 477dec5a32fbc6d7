package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestTerminal: a real terminal of the kernel has colours and a line that changes, unless the user wants none.
func TestTerminal(t *testing.T) {
	user, program := terminal(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	expect.OK(t, os.Unsetenv("NO_COLOR"))
	s := New(program)
	shows := func(want string, write func()) {
		t.Helper()
		write()
		buffer := make([]byte, 200)
		expect.OK(t, user.SetReadDeadline(time.Now().Add(10*time.Second)))
		n := expect.Got(io.ReadAtLeast(user, buffer, len(want)))(t) // the kernel may give it in parts
		expect.Same(t, "the terminal got", want, string(buffer[:n]))
	}
	shows("\x1b[32mok [31m\x1b[0m", func() { expect.OK(t, Paint(s, Green, "ok\x1b[31m")) })
	shows("\x1b[33mnote:\x1b[0m a b\r\n", func() { Note(s, "a%sb", "\n\x1b") })
	shows("\rreading", func() { Redraw(s, "reading\r") })
	t.Setenv("NO_COLOR", "1")
	shows("ok", func() { expect.OK(t, Paint(s, Green, "ok")) })
	expect.Same(t, "a terminal", true, IsTerminal(s))
	expect.Same(t, "a file", false, IsTerminal(New(&strings.Builder{})))
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
