package servers

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestTakenPort: the real etcd finds its port taken, by us.
func TestTakenPort(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	binaries := expect.Got(Ensure(t.Context(), os.Stderr))(t)
	taken := expect.Got(net.Listen("tcp", address(0)))(t)
	t.Cleanup(func() { expect.OK(t, taken.Close()) })
	dir, peer := t.TempDir(), expect.Got(freePorts(1))(t)[0]
	s, _ := etcdServer(binaries, dir, taken.Addr().(*net.TCPAddr).Port, peer)
	err := expect.Got(newGroup(dir))(t).start(t.Context(), s)
	expect.Says(t, "etcd", err, "start etcd: another program listens on "+taken.Addr().String()+
		": end it, or run this again, which takes other ports (`ss -ltnp` names the program)")
}

// TestCauses: what servers print before they end, and what a person reads instead.
func TestCauses(t *testing.T) {
	for log, want := range map[string]string{
		`E1129 08:00:00.000000 1 run.go:72] "command failed" err="failed to create listener: failed to listen on 127.0.0.1:20017: ` +
			`listen tcp 127.0.0.1:20017: bind: address already in use"`: "start kube-apiserver: another program listens on " +
			"127.0.0.1:20017: end it, or run this again, which takes other ports (`ss -ltnp` names the program)",
		`{"level":"panic","caller":"etcdserver/bootstrap.go:663","msg":"failed to create WAL","error":"no space left on device"}` +
			"\npanic: failed to create WAL\n\ngoroutine 1 [running]:\n": "run kube-apiserver: the disk of <folder> is full, and a " +
			"cluster needs 500 MiB there: make room, or name another folder with TMPDIR",
	} {
		dir := t.TempDir()
		said := filepath.Join(dir, "said")
		expect.OK(t, os.WriteFile(said, []byte(log+"\n"), 0o600))
		s := shell("kube-apiserver", "cat "+said+"; exit 1")
		s.ready = func(context.Context) error { return errors.New("connection refused") }
		p := expect.Got(launch(dir, s))(t)
		want = strings.ReplaceAll(want, "<folder>", dir)
		expect.Same(t, "at its start", want, p.awaitReady(t.Context()).Error())
		expect.Same(t, "at its end", want, p.stop(0).Error())
	}
}

// TestNoRoom: where nothing can be written, no server starts. Linux has such a folder.
func TestNoRoom(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc here, which has no room")
	}
	expect.Says(t, "no room", hasRoom("/proc"),
		"start servers in /proc: 0 MiB are free there, and a cluster needs 500: make room, or name another folder with TMPDIR")
	expect.OK(t, hasRoom(t.TempDir()))
}
