package servers

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// parentVariable makes the test binary play a parent that starts a child and waits to be killed.
const parentVariable = "CAPWIN_SERVERS_TEST_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentVariable); dir != "" {
		playParent(dir)
	}
	if os.Getenv(portsVariable) != "" {
		playTaker()
		return
	}
	os.Exit(m.Run())
}

func playParent(dir string) {
	p, err := launch(dir, shell("child", "exec sleep 600"))
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(p.pid)), 0o600); err != nil {
		panic(err)
	}
	<-p.exited
}

func shell(name, script string) server {
	return server{name: name, path: "/bin/sh", args: []string{"-c", script}, ready: func(context.Context) error { return nil }}
}

func launched(t *testing.T, s server) *process {
	t.Helper()
	p := expect.Got(launch(t.TempDir(), s))(t)
	t.Cleanup(func() { _ = p.stop(0) })
	return p
}

// logs is ready when the server has written the text.
func logs(t *testing.T, p *process, text string) {
	t.Helper()
	wait.Eventually(t, "the log to have "+text, func(context.Context) error {
		if strings.Contains(p.lastLog(), text) {
			return nil
		}
		return errors.New("log has no " + text)
	})
}

func TestServerThatDiesTellsWhy(t *testing.T) {
	s := shell("etcd", "echo no space left >&2; exit 3")
	s.ready = func(context.Context) error { return errors.New("connection refused") }
	err := launched(t, s).awaitReady(t.Context())
	for _, want := range []string{"etcd", "exit status 3", "no space left"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not tell %q", err, want)
		}
	}
}

func TestServerThatIsNeverReadyTellsWhatIsMissing(t *testing.T) {
	s := shell("etcd", "exec sleep 600")
	s.ready = func(context.Context) error { return errors.New("503 no leader") }
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := launched(t, s).awaitReady(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "503 no leader") {
		t.Errorf("got error %v, want the deadline and what was missing", err)
	}
}

func TestStartOfMissingProgram(t *testing.T) {
	if _, err := launch(t.TempDir(), server{name: "etcd", path: "/not/there"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want one that says the program does not exist", err)
	}
}

func TestStop(t *testing.T) {
	for name, c := range map[string]struct{ reason, script string }{
		"polite": {
			"a server that ends when asked is not killed", `trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.01; done`,
		},
		"stubborn": {"a server that ignores us must not stay", `trap "" TERM; echo up; while :; do sleep 0.01; done`},
	} {
		t.Run(name, func(t *testing.T) {
			p := launched(t, shell(name, c.script))
			logs(t, p, "up")
			grace := patience
			if name == "stubborn" {
				grace = 10 * time.Millisecond
			}
			if err := p.stop(grace); err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if err := syscall.Kill(p.pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("%s: process is still there: %v", c.reason, err)
			}
			if said := strings.Contains(p.lastLog(), "bye"); said != (name == "polite") {
				t.Errorf("%s: said goodbye: %t", c.reason, said)
			}
		})
	}
}

// TestEndedByItself: a test that waits for what a dead server was to do says so in the end.
func TestEndedByItself(t *testing.T) {
	p := launched(t, shell("manager", "echo up; echo 'panic: a Node' >&2; exit 2"))
	<-p.exited
	expect.Says(t, "stop", p.stop(0), "manager has ended by itself: exit status 2")
	expect.Says(t, "stop", p.stop(0), "panic: a Node")
}

func TestGroupStopsLastTierFirst(t *testing.T) {
	g := expect.Got(newGroup(filepath.Join(t.TempDir(), "run")))(t)
	story := filepath.Join(g.dir, "story")
	script := func(name string) server {
		return shell(name, `trap "echo `+name+` >> `+story+`; exit 0" TERM; echo up; while :; do sleep 0.01; done`)
	}
	for _, name := range []string{"etcd", "apiserver"} {
		expect.OK(t, g.start(t.Context(), script(name)))
	}
	for _, tier := range g.tiers {
		logs(t, tier[0], "up")
	}
	expect.OK(t, errors.Join(g.stop(), g.stop()))
	told, err := os.ReadFile(story)
	if want := []byte("apiserver\netcd\n"); err != nil || !bytes.Equal(told, want) {
		t.Errorf("stopped in order %q (%v), want %q", told, err, want)
	}
}

func TestChildDiesWithKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties the life of a child to its parent's")
	}
	dir := t.TempDir()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"="+dir)
	expect.OK(t, parent.Start())
	var child int
	wait.Eventually(t, "the id of the child", func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err == nil {
			child, err = strconv.Atoi(string(text))
		}
		return err
	})
	expect.OK(t, parent.Process.Kill())
	_ = parent.Wait()
	wait.Eventually(t, "the end of the child", func(context.Context) error {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			return errors.New("the child lives on")
		}
		return nil
	})
}

// A developer who names a folder finds there what all servers of a test have printed, and what they printed before a restart.
func TestLogsAreKept(t *testing.T) {
	kept := t.TempDir()
	t.Setenv(LogsVariable, kept)
	g := expect.Got(newGroup(filepath.Join(t.TempDir(), "cluster")))(t)
	expect.OK(t, g.start(t.Context(), shell("etcd", "echo here I am; exec sleep 600")))
	logs(t, expect.Got(g.process("etcd"))(t), "here I am")
	expect.OK(t, g.stop())
	found := expect.Got(filepath.Glob(filepath.Join(kept, "*-cluster", "etcd.log")))(t)
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	expect.Same(t, "log", "here I am\n", string(expect.Got(os.ReadFile(found[0]))(t)))
}
