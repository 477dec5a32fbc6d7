package windows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Program is what an .exe does. It ends when ctx does.
type Program func(ctx context.Context, call *Call) (exitCode int)

// Call is one start of a program.
type Call struct {
	Machine        *Machine
	Argv           []string
	Env            map[string]string
	Dir            string
	Stdout, Stderr io.Writer
	// Service is the name under which the service manager has started it, or "".
	Service string
	// Running tells the service manager that the service is up.
	Running func()
}

// Fail prints a line to stderr and gives the exit code 1.
func (c *Call) Fail(format string, args ...any) int {
	_, _ = fmt.Fprintf(c.Stderr, format+"\n", args...)
	return 1
}

// Print prints a line to stdout.
func (c *Call) Print(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Stdout, format+"\n", args...)
}

// Command is what Run starts.
type Command struct {
	Argv  []string
	Env   map[string]string
	Dir   string
	Limit time.Duration
}

// Result is how a program ended. TimedOut programs have the exit code -1.
type Result struct {
	ExitCode       int
	TimedOut       bool
	Stdout, Stderr string
}

// Text is both streams.
func (r Result) Text() string { return r.Stdout + "\n" + r.Stderr }

// Install puts a program on the disk.
func (m *Machine) Install(path string, program Program) error {
	m.programs[strings.ToLower(Base(path))] = program
	if m.FileExists(path) {
		return nil
	}
	return m.Put(path, []byte("a program of the simulated Windows: "+Base(path)+"\n"))
}

// Run starts a program and waits for its end, at most Limit long. The error says that it could not be started.
func (m *Machine) Run(ctx context.Context, command Command) (Result, error) {
	if err := m.announce(command); err != nil {
		return Result{}, err
	}
	var stdout, stderr bytes.Buffer
	call := &Call{
		Machine: m, Argv: command.Argv, Env: m.environment(command.Env), Dir: command.Dir, Stdout: &stdout, Stderr: &stderr,
		Running: func() {},
	}
	program, err := m.find(call, m.ofWindows)
	if err != nil {
		return Result{}, err
	}
	limited, cancel := m.Clock.WithTimeout(ctx, command.Limit)
	defer cancel()
	code := program(limited, call)
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	result := Result{ExitCode: code, Stdout: stdout.String(), Stderr: stderr.String()}
	if errors.Is(context.Cause(limited), context.DeadlineExceeded) {
		result.ExitCode, result.TimedOut = -1, true
	}
	return result, nil
}

// announce is the door and the effect of a start.
func (m *Machine) announce(command Command) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, door := range []string{"Invoke-Program", command.Argv[0]} {
		if err := m.enter(door); err != nil {
			return err
		}
	}
	if reads(command.Argv) {
		return nil
	}
	text, err := PlainJSON(command.Argv)
	if err != nil {
		return err
	}
	effect := []string{"run " + text}
	for _, name := range slices.Sorted(maps.Keys(command.Env)) {
		effect = append(effect, "  env "+name+"="+command.Env[name])
	}
	if command.Dir != "" {
		effect = append(effect, "  in "+command.Dir)
	}
	m.tell("%s", strings.Join(effect, "\n"))
	return nil
}

// reads says that a command only looks.
func reads(argv []string) bool {
	line := strings.ToLower(strings.Join(argv, " "))
	for _, mask := range []string{
		"tzutil.exe /g*", "netsh.exe interface * show *", "wevtutil.exe qe *", "sc.exe query *",
	} {
		if Like(line, mask) {
			return true
		}
	}
	return false
}

// PlainJSON is JSON as PowerShell 7 writes it: <, > and & stand for themselves, and U+0085 does not, as all ends of lines.
func PlainJSON(value any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\u0085", `\u0085`), nil
}

// Find is the program that Windows would start for argv[0]: a bare name is looked for on PATH.
func (m *Machine) Find(call *Call) (Program, error) {
	return m.find(call, func(name string) bool { return m.onDisk(name, call.Env) })
}

func (m *Machine) find(call *Call, onDisk func(name string) bool) (Program, error) {
	if m.Intercept != nil {
		if program := m.Intercept(call); program != nil {
			return program, nil
		}
	}
	name := call.Argv[0]
	if !onDisk(name) {
		//nolint:staticcheck // because Windows says it so
		return nil, fmt.Errorf("The system cannot find the file specified: %s", name)
	}
	program, ok := m.programs[strings.ToLower(Base(name))]
	if !ok {
		//nolint:staticcheck // because Windows says it so
		return nil, fmt.Errorf("The specified executable is not a valid application for this OS platform: %s", name)
	}
	return program, nil
}

const (
	windowsFolder = `C:\Windows`
	system32      = windowsFolder + `\System32`
)

// ofWindows looks for a bare name where the agent does: not in the folders of PATH, which may be users'.
func (m *Machine) ofWindows(name string) bool {
	if strings.ContainsAny(name, `\/`) {
		return m.FileExists(name)
	}
	return m.FileExists(system32 + `\` + name)
}

// onDisk looks in the folders of PATH for a bare name.
func (m *Machine) onDisk(name string, env map[string]string) bool {
	if strings.ContainsAny(name, `\/`) {
		return m.FileExists(name)
	}
	path, _ := m.variable(env, "Path")
	for _, folder := range append([]string{system32}, strings.Split(path, ";")...) {
		if folder != "" && m.FileExists(strings.TrimRight(folder, `\`)+`\`+name) {
			return true
		}
	}
	return false
}

// variable is one of a program's own, or of the machine. Windows ignores the case of names.
func (m *Machine) variable(env map[string]string, name string) (value string, ok bool) {
	for one, value := range env {
		if strings.EqualFold(one, name) {
			return value, true
		}
	}
	if strings.EqualFold(name, "SystemRoot") {
		return windowsFolder, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.state.value(ControlKey+`\Session Manager\Environment`, name)
	return found.Text, ok && found.isVariable()
}

// environment is what a program sees: the machine's variables, and over them its own.
func (m *Machine) environment(own map[string]string) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	env := map[string]string{}
	for name, value := range m.state.Registry[ControlKey+`\Session Manager\Environment`] {
		if value.isVariable() {
			env[name] = value.Text
		}
	}
	maps.Copy(env, own)
	return env
}
