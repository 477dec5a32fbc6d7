package windows

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// Kernel is replaced by every cumulative update.
const Kernel = `C:\Windows\System32\ntoskrnl.exe`

// curlTool is curl.exe; played are `curl --silent --head file:///PATH`, which tells when a file was written, and
// `curl --silent --noproxy * URL` of a program of this machine.
func curlTool(_ context.Context, call *Call) int {
	if len(call.Argv) == 5 && call.Argv[2] == "--noproxy" && call.Argv[3] == "*" {
		return localPage(call)
	}
	path, isFile := strings.CutPrefix(call.Argv[len(call.Argv)-1], "file:///")
	if len(call.Argv) != 4 || call.Argv[1] != "--silent" || call.Argv[2] != "--head" || !isFile {
		return call.Fail("curl: the lab knows --silent --head file:///PATH only")
	}
	found, err := call.Machine.fileInfo(strings.ReplaceAll(path, "/", `\`))
	if err != nil {
		return 37 // could not read a file, and says nothing
	}
	call.Print("Content-Length: %d\r\nAccept-ranges: bytes\r\nLast-Modified: %s\r", found.Size(),
		found.ModTime().UTC().Format(http.TimeFormat))
	return 0
}

func (m *Machine) fileInfo(name string) (os.FileInfo, error) {
	host, err := m.HostPath(name)
	if err != nil {
		return nil, err
	}
	return os.Stat(host)
}

// SetFileTime makes a file look as if it was written then.
func (m *Machine) SetFileTime(name string, at time.Time) error {
	host, err := m.HostPath(name)
	if err != nil {
		return err
	}
	if err := os.Chtimes(host, at, at); err != nil {
		return fmt.Errorf("set the time of %s: %w", name, err)
	}
	return nil
}

func localPage(call *Call) int {
	m := call.Machine
	page := held(m, func() func() string { return m.volatile.pages[call.Argv[4]] })
	if page == nil {
		return 7 // could not connect, and says nothing
	}
	call.Print("%s", page())
	return 0
}

// ServePage has a program of this machine answer at a URL, until stop or a reboot.
func (m *Machine) ServePage(url string, page func() string) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pages := m.volatile.pages
	pages[url] = page
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(pages, url)
	}
}

// findstrTool is findstr.exe; played is `findstr /b /l /c:TEXT FILE`, which prints the lines that begin with a text.
func findstrTool(_ context.Context, call *Call) int {
	if len(call.Argv) != 5 || call.Argv[1] != "/b" || call.Argv[2] != "/l" {
		return call.Fail("FINDSTR: the lab knows /b /l /c:TEXT FILE only")
	}
	text, err := call.Machine.ReadFile(call.Argv[4])
	if err != nil {
		return call.Fail("FINDSTR: Cannot open %s", call.Argv[4])
	}
	wanted, isText := strings.CutPrefix(call.Argv[3], "/c:")
	code := 1
	for line := range strings.Lines(string(text)) {
		if isText && strings.HasPrefix(line, wanted) {
			call.Print("%s\r", strings.TrimRight(line, "\r\n"))
			code = 0
		}
	}
	return code
}
