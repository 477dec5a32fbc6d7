package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

const (
	// stopGrace is how long a server may take to end before it is killed.
	stopGrace = 5 * time.Second
	// logTail is how many lines of its output go into the error of a program that fails.
	logTail = 15
)

// server says how to run one program and how to see that it is ready.
type server struct {
	name  string
	path  string
	args  []string
	env   []string // besides ours
	ready probe
	// disposable: it is killed at once, because nothing that it would still do is wanted.
	disposable bool
}

// process is a running server. Its output is in a log file.
type process struct {
	server
	log    string
	pid    int
	exited chan struct{}
	err    error // valid once exited is closed
	// asked says that it was told to end.
	asked atomic.Bool
}

// launch starts a server without waiting for it to be ready.
func launch(dir string, s server) (*process, error) {
	p := &process{server: s, log: filepath.Join(dir, s.name+".log"), exited: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	cmd := exec.Command(s.path, s.args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, append(os.Environ(), s.env...), log, log, childAttributes()
	started := make(chan error)
	go func() {
		// The death signal of a child comes when the thread ends that started it. So one thread stays for each child.
		runtime.LockOSThread()
		defer func() { _ = log.Close() }()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		started <- nil
		p.err = cmd.Wait()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	if err := NoteStart(s.name); err != nil {
		return nil, err
	}
	return p, nil
}

// awaitReady returns when the server is ready, and with the end of its log when it dies or ctx ends before.
func (p *process) awaitReady(ctx context.Context) error {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-p.exited: // another program may have its port, and never answer
			stop()
		case <-asking.Done():
		}
	}()
	err := wait.Poll(asking, func(ctx context.Context) error {
		if p.hasEnded() {
			return wait.Final(errors.New("it ended"))
		}
		return p.ready(ctx)
	})
	if err == nil {
		return nil
	}
	if p.hasEnded() && ctx.Err() == nil {
		if cause := p.cause(); cause != nil {
			return cause
		}
		err = fmt.Errorf("it ended: %w", p.err)
	}
	return fmt.Errorf("wait for %s to be ready: %w\nlast lines of %s:\n%s", p.name, err, p.log, p.lastLog())
}

func (p *process) lastLog() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	if _, after, panicked := strings.Cut(string(text), "\npanic: "); panicked {
		return firstLines("panic: "+after, logTail)
	}
	return lastLines(string(text), logTail)
}

func (s server) grace() time.Duration {
	if s.disposable {
		return 0
	}
	return stopGrace
}

// stop asks the server to end and kills it after a grace period. One that has ended by itself is an error: whatever waited for it
// does not know that.
func (p *process) stop(grace time.Duration) error {
	if p.hasEnded() && !p.asked.Load() {
		return p.whyEnded()
	}
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(grace):
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// whyEnded is for a server that has ended by itself.
func (p *process) whyEnded() error {
	if cause := p.cause(); cause != nil {
		return cause
	}
	how := "without an error"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s has ended by itself: %s\nlast lines of %s:\n%s", p.name, how, p.log, p.lastLog())
}

func (p *process) hasEnded() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *process) signal(signal syscall.Signal) error {
	if p.hasEnded() {
		return nil
	}
	p.asked.Store(true)
	// The whole group, so that nothing stays that the server may have started. That it has just ended is what we want.
	if err := syscall.Kill(-p.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to %s: %w", signal, p.name, err)
	}
	return nil
}
