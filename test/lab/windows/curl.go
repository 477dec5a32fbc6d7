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

// curlTool is curl.exe; played is `curl --silent --head file:///PATH`, which tells when a file was written.
func curlTool(_ context.Context, call *Call) int {
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
