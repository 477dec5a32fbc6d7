package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

const (
	interrupted = 130 // the exit code
	earlier     = "of an earlier call"
)

// TestInterruptedRender: Ctrl-C at any point leaves all files of the earlier call, or all of the new ones. Some points are spread
// over the time of a whole call; at the others the program is about to replace the files.
func TestInterruptedRender(t *testing.T) {
	const points, writing = 12, 4
	file := inFile(t, "pools.yaml", pools(5))
	args := []string{"render", "-f", file, "--machine", "pool-5-1", "-o"}
	begun := time.Now()
	whole := t.TempDir()
	if got := run(t, append(args, whole)...); got.code != 0 {
		t.Fatal(got.err)
	}
	took := time.Since(begun)
	want := contents(t, whole)
	ends := map[string]int{}
	for i := range points + writing {
		folder := t.TempDir()
		old := map[string]string{}
		for name := range want {
			old[name] = earlier
			expect.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(old[name]), 0o600))
		}
		point := func() { <-time.After(took * time.Duration(i) / points) }
		if i >= points {
			point = func() { awaitWriting(t, folder, len(old)) }
		}
		end := interruptAt(t, point, append(args, folder)...)
		ends[end]++
		switch got := contents(t, folder); end {
		case "done":
			expect.Same(t, "files of a call that was not interrupted in time", want, got)
		default:
			expect.Same(t, "files of a call that was "+end, old, got)
		}
	}
	t.Logf("of %d calls of about %s: %v", points+writing, took.Round(time.Millisecond), ends)
	if ends["interrupted"] == 0 || ends["done"] < writing {
		t.Error("want calls that were interrupted, and each that had begun to write done")
	}
}

// awaitWriting returns when a file is written beside those of a folder, or has replaced one.
func awaitWriting(t *testing.T, folder string, before int) {
	t.Helper()
	wait.Until(t, "a file to be written", func() (any, bool) {
		entries := expect.Got(os.ReadDir(folder))(t)
		old, err := os.ReadFile(filepath.Join(folder, "userdata"))
		return entries, len(entries) > before || err != nil || string(old) != earlier
	})
}

// interruptAt runs the program, sends it Ctrl-C at a point of its life, and says how it ended.
func interruptAt(t *testing.T, point func(), args ...string) string {
	t.Helper()
	var said bytes.Buffer
	command := exec.Command(program(), args...)
	command.Stderr = &said
	expect.OK(t, command.Start())
	point()
	_ = command.Process.Signal(os.Interrupt) // it may have ended already
	_ = command.Wait()
	switch state := command.ProcessState; {
	case state.Success():
		return "done"
	case state.ExitCode() == interrupted && strings.HasSuffix(said.String(), "interrupted\n"):
		return "interrupted"
	case state.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT:
		return "ended before it could listen" // Go's runtime starts before main
	}
	t.Fatalf("%s\n%s", command.ProcessState, said.String())
	return ""
}

func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, entry := range expect.Got(os.ReadDir(folder))(t) {
		files[entry.Name()] = string(expect.Got(os.ReadFile(filepath.Join(folder, entry.Name())))(t))
	}
	return files
}

// TestInterruptedWait: who waits for a pipe that says nothing, for a vCenter or for a cluster, need not wait.
func TestInterruptedWait(t *testing.T) {
	silent := expect.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = silent.Close() })
	withLogin := inFile(t, "pool.yaml", poolWith(map[string][]byte{
		"server": []byte(silent.Addr().String()), "username": []byte("capwin@vsphere.local"), "password": []byte("change-me"),
		"thumbprint": []byte(strings.Repeat("AB:", 31) + "AB"),
	}))
	config := inFile(t, "kubeconfig", `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "https://`+silent.Addr().String()+`"}}]}`)
	noLogin := inFile(t, "pool.yaml", strings.Replace(pools(1), "kind: Secret", "kind: Other", 1))
	for name, c := range map[string]struct {
		args  []string
		calls bool // the silent server
	}{
		"plan":          {[]string{"plan", "-f", "-", "--machine", "m"}, false},
		"render":        {[]string{"render", "-f", noLogin, "-f", "-", "--machine", "m", "-o", t.TempDir()}, false},
		"check":         {[]string{"check", "vsphere", "-f", "-"}, false},
		"check vCenter": {[]string{"check", "vsphere", "-f", withLogin}, true},
		"check cluster": {[]string{"check", "vsphere", "-f", noLogin, "--kubeconfig", config}, true},
	} {
		t.Run(name, func(t *testing.T) {
			input, pipe, err := os.Pipe() // whose end never comes
			expect.OK(t, err)
			defer func() { expect.Fine(t, errors.Join(input.Close(), pipe.Close())) }()
			var out, said bytes.Buffer
			command := exec.Command(program(), c.args...)
			command.Stdin, command.Stdout, command.Stderr = input, &out, &said
			expect.OK(t, command.Start())
			if c.calls {
				connection := expect.Got(silent.Accept())(t)
				defer func() { _ = connection.Close() }()
			} else {
				// More than a pipe holds: it is written once the program has begun to read.
				expect.Got(pipe.WriteString(strings.Repeat("# a comment\n", 20_000)))(t)
			}
			begun := time.Now()
			expect.OK(t, command.Process.Signal(os.Interrupt))
			_ = command.Wait()
			t.Logf("it ended after %s", time.Since(begun).Round(time.Millisecond))
			if code := command.ProcessState.ExitCode(); code != interrupted || out.Len() > 0 || said.String() != "interrupted\n" {
				t.Errorf("exit code %d, output %q, error %q", code, out.String(), said.String())
			}
		})
	}
}

// TestInterruptedTwice: who presses Ctrl-C again does not wait until a login is answered, whose session would be closed.
func TestInterruptedTwice(t *testing.T) {
	asked := make(chan struct{})
	door := vcenter.New(t).Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method == "Login" {
			close(asked)
			<-r.Context().Done()
			return
		}
		next.ServeHTTP(w, r)
	})
	t.Cleanup(door.Close)
	pool := inFile(t, "pool.yaml", poolWith(door.Credentials()))
	command := exec.Command(program(), "check", "vsphere", "-f", pool)
	var said bytes.Buffer
	command.Stderr = &said
	expect.OK(t, command.Start())
	<-asked
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	for again := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-again.C:
			_ = command.Process.Signal(os.Interrupt) // it may have ended already
			continue
		case <-ended:
		}
		break
	}
	// Who waited says so.
	if code := command.ProcessState.ExitCode(); code != interrupted || said.Len() > 0 {
		t.Errorf("exit code %d, error %q", code, said.String())
	}
}

// poolWith is a pool with this login of a vCenter.
func poolWith(login map[string][]byte) string {
	var secret strings.Builder
	for _, key := range slices.Sorted(maps.Keys(login)) {
		fmt.Fprintf(&secret, "  %s: %q\n", key, login[key])
	}
	return strings.Replace(pools(1), vSphereLogin, secret.String(), 1)
}
