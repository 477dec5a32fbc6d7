package windows

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func newMachine(t *testing.T) *Machine {
	t.Helper()
	return expect.Got(New(t.TempDir()))(t)
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ argv, line string }{
		{`a|b c|`, `a "b c" ""`},
		{`a|C:\dir with\`, `a "C:\dir with\\"`},
		{`a|say "hi"`, `a "say \"hi\""`},
		{`a|end\"`, `a "end\\\""`},
		{`C:\Program Files\k.exe|--x=1`, `"C:\Program Files\k.exe" --x=1`},
	} {
		argv := strings.Split(c.argv, "|")
		if got := JoinArguments(argv); got != c.line {
			t.Errorf("%v: %s, want %s", argv, got, c.line)
		}
		if got := SplitArguments(c.line); !slices.Equal(got, argv) {
			t.Errorf("%s: %q, want %q", c.line, got, argv)
		}
	}
}

// Whatever the arguments are, the program gets them as they were.
func TestArgumentsThereAndBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same cases each time
	for range 20000 {
		argv := []string{`C:\k.exe`}
		for range random.IntN(4) {
			var one strings.Builder
			for range random.IntN(6) {
				one.WriteByte(`\" a	`[random.IntN(5)])
			}
			argv = append(argv, one.String())
		}
		if got := SplitArguments(JoinArguments(argv)); !slices.Equal(got, argv) {
			t.Fatalf("%q came back as %q", argv, got)
		}
	}
}

func TestDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	expect.OK(t, m.WriteFile(`C:\Dir\Sub\File.txt`, []byte("1"), AdminOnlyFile))
	expect.OK(t, m.WriteFile(`c:/dir/SUB/file.TXT`, []byte("2"), ""))
	text, err := m.ReadFile(`C:\DIR\sub\FILE.txt`)
	if err != nil || string(text) != "2" {
		t.Errorf("upper and lower case are not the same: %q, %v", text, err)
	}
	if access := expect.Got(m.Access(`c:\dir\sub\file.txt`))(t); access != Inherited {
		t.Errorf("a file that was made anew has kept %s", access)
	}
	found, err := m.Match(`C:\Dir\Sub\*.TXT`)
	if err != nil || !slices.Equal(found, []string{`C:\Dir\Sub\File.txt`}) {
		t.Errorf("found %q, %v", found, err)
	}
	if _, err := m.ReadFile(`C:\none`); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	for _, path := range []string{`relative`, `\\server\share`, `C:\..\..\etc\passwd`, `C:\a:stream`, `C:\a*`, ``} {
		if err := m.WriteFile(path, nil, ""); err == nil {
			t.Errorf("%q is not a path and is taken for one", path)
		}
	}
}

// What is not volatile is there again when the folder is opened once more.
func TestFolderKeepsTheMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := expect.Got(New(dir))(t)
	expect.OK(t, m.Setup(func(s *State) { s.Adapters = []Adapter{{Index: 3, Name: "Ethernet"}} }))
	expect.OK(t, errors.Join(
		m.WriteRegistry(`HKEY_LOCAL_MACHINE\SOFTWARE\a`, "n", DWord(7)), m.EnableTask("t"), m.MarkBoot(),
		m.AddRoute(3, "0.0.0.0/0", "10.0.0.1"),
	))
	m = expect.Got(New(dir))(t)
	value, ok, err := m.ReadRegistry(`hkey_local_machine\software\A`, "N")
	if err != nil || !ok || !value.Equal(DWord(7)) || !m.TaskEnabled("t") {
		t.Errorf("%v, %v, %v", value, ok, err)
	}
	if marked, err := m.BootMarked(); err != nil || marked {
		t.Errorf("the volatile key is there after a boot (%v)", err)
	}
	routes, err := m.NetRoutes("0.0.0.0/0")
	want := []Route{{Index: 3, To: "0.0.0.0/0", Via: "10.0.0.1", Cost: manualCost}}
	if difference := cmp.Diff(want, routes); err != nil || difference != "" {
		t.Errorf("%v %s", err, difference)
	}
	if _, err := os.Stat(filepath.Join(dir, "registry.json")); err != nil {
		t.Error(err)
	}
}

func TestDoorsThrow(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.Throw(map[string]string{"Add-Folder": "Access is denied"}, 1)
	if err := m.MakeDirectory(`C:\a`); err == nil || err.Error() != "Add-Folder: Access is denied" {
		t.Errorf("%v", err)
	}
	if err := m.MakeDirectory(`C:\a`); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	clock := NewVirtualClock(time.Unix(0, 0))
	m.Clock = clock
	expect.OK(t, m.Install(`C:\k\slow.exe`, func(ctx context.Context, call *Call) int {
		call.Print("%s %s", call.Env["A"], call.Argv[1])
		if call.Machine.Clock.Sleep(ctx, 10*time.Second) != nil {
			return 99
		}
		return 3
	}))
	expect.OK(t, m.Put(`C:\k\other.exe`, nil))
	run := func(limit time.Duration, argv ...string) (Result, error) {
		return m.Run(t.Context(), Command{Argv: argv, Env: map[string]string{"A": "x"}, Limit: limit})
	}
	done, err := run(time.Minute, `C:\K\Slow.exe`, "y")
	if difference := cmp.Diff(Result{ExitCode: 3, Stdout: "x y\n"}, done); err != nil || difference != "" {
		t.Errorf("%v %s", err, difference)
	}
	done, err = run(5*time.Second, `C:\k\slow.exe`, "y")
	if err != nil || !done.TimedOut || done.ExitCode != -1 || !clock.Now().Equal(time.Unix(15, 0)) {
		t.Errorf("%+v, %v, at %v", done, err, clock.Now())
	}
	for _, name := range []string{`slow.exe`, `C:\none.exe`, `C:\k\other.exe`} {
		if _, err := run(time.Minute, name, "y"); err == nil {
			t.Errorf("%s can not be started", name)
		}
	}
}

// services is a machine whose service manager runs.
type services struct {
	t       *testing.T
	m       *Machine
	effects chan string
	fail    chan int
	stop    func()
}

func startServices(t *testing.T) *services {
	t.Helper()
	s := &services{t: t, m: newMachine(t), effects: make(chan string, 1000), fail: make(chan int)}
	s.m.OnEffect = func(effect string) { s.effects <- effect }
	for path, program := range map[string]Program{`C:\frail.exe`: s.frail, `C:\steady.exe`: steady} {
		expect.OK(t, s.m.Install(path, program))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.m.RunServices(ctx); close(ended) }()
	s.stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(s.stop)
	return s
}

func steady(ctx context.Context, call *Call) int {
	call.Running()
	<-ctx.Done()
	return 0
}

func (s *services) frail(ctx context.Context, call *Call) int {
	call.Running()
	select {
	case code := <-s.fail:
		return code
	case <-ctx.Done():
		return 0
	}
}

func (s *services) sc(want int, argv ...string) {
	s.t.Helper()
	if done := run(s.t, s.m, append([]string{"sc.exe"}, argv...)...); done.ExitCode != want {
		s.t.Fatalf("sc %v: %+v, want %d", argv, done, want)
	}
}

func (s *services) await(want string) {
	s.t.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		select {
		case effect := <-s.effects:
			if effect == want {
				return
			}
		case <-timer.C:
			s.t.Fatalf("not in a minute: %s", want)
		}
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	s := startServices(t)
	s.sc(errServiceNotExist, "start", "below")
	s.sc(0, "create", "below", "binPath=", `C:\steady.exe`, "start=", "demand")
	s.sc(errServiceExists, "create", "below", "binPath=", `C:\steady.exe`, "start=", "demand")
	s.sc(errInvalidArguments, "create", "above", "binPath")
	s.sc(errInvalidArguments, "explode", "above")
	s.sc(0, "create", "above", "binPath=", `C:\frail.exe`, "start=", "auto", "depend=", "below")
	s.sc(0, "failure", "above", "reset=", "900", "actions=", "restart/1")
	s.sc(0, "start", "above")
	s.await("service above Running 0")
	if state, err := s.m.ServiceState("below"); err != nil || state == Stopped {
		t.Errorf("what it depends on is %s (%v)", state, err)
	}
	s.sc(errAlreadyRunning, "start", "above")
	s.fail <- 7
	s.await("service above Stopped 7")
	s.await("service above Running 0") // by its failure actions
	s.sc(0, "stop", "above")
	s.await("service above Stopped 0")
	s.sc(0, "config", "above", "start=", "disabled")
	s.sc(errDisabled, "start", "above")
	s.sc(0, "create", "lost", "binPath=", `C:\none.exe`, "start=", "demand")
	s.sc(errFileNotFound, "start", "lost")
	s.sc(0, "create", "needs", "binPath=", `C:\steady.exe`, "start=", "demand", "depend=", "lost")
	s.sc(errDependent, "start", "needs")
	s.stop()
	expect.OK(t, s.m.Boot())
	if state, err := s.m.ServiceState("below"); err != nil || state != Stopped {
		t.Errorf("after the boot it is %s (%v)", state, err)
	}
}
