package windows

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// States of a service.
const (
	Absent       = "Absent"
	Stopped      = "Stopped"
	StartPending = "StartPending"
	Running      = "Running"
	StopPending  = "StopPending"
)

// Exit codes of sc.exe, which are Windows' errors.
const (
	errFileNotFound     = 2
	errDependent        = 1068
	errDependentsRun    = 1051
	errAlreadyRunning   = 1056
	errDisabled         = 1058
	errCannotAccept     = 1061
	errNotActive        = 1062
	errProcessAborted   = 1067
	errServiceExists    = 1073
	errNoDependency     = 1075
	errServiceNotExist  = 1060
	errMarkedForDelete  = 1072
	errInvalidArguments = 1639
)

// Service is what the service manager knows beyond the registry.
type Service struct {
	State string `json:"state"`
	// ImagePath is a copy of the registry's, for people.
	ImagePath string `json:"imagePath,omitempty"`
	// Broken never starts, stubborn never stops.
	Broken   bool `json:"broken,omitempty"`
	Stubborn bool `json:"stubborn,omitempty"`
	// SettlesAfter is how often a pending state is seen before it is over; 0 is until a program ends it.
	SettlesAfter int `json:"settlesAfter,omitempty"`
	// Doomed was deleted while a program still holds it, and can not be changed any more.
	Doomed bool `json:"doomed,omitempty"`
	// RestartMilliseconds are the failure actions, one for each failure; the last one repeats.
	RestartMilliseconds []int `json:"restartMilliseconds,omitempty"`
	// Triggers are events that start and stop it.
	Triggers []string `json:"triggers,omitempty"`
	ExitCode int      `json:"exitCode,omitempty"`
	Starts   int      `json:"starts,omitempty"`
}

type startRequest struct {
	name   string
	answer chan int
}

// ServiceState is the state of a service, or Absent.
func (m *Machine) ServiceState(name string) (string, error) {
	return ask(m, "Get-Service", func() (string, error) {
		service := m.service(name)
		if service == nil || service.SettlesAfter == 0 {
			return m.serviceState(name), nil
		}
		seen := service.State
		if service.SettlesAfter--; service.SettlesAfter == 0 {
			service.State = map[string]string{StartPending: Running, StopPending: Stopped}[seen]
		}
		return seen, nil
	})
}

func (m *Machine) serviceState(name string) string {
	if service := m.service(name); service != nil {
		return service.State
	}
	return Absent
}

func (m *Machine) service(name string) *Service {
	for have, service := range m.state.Services {
		if strings.EqualFold(have, name) {
			return service
		}
	}
	return nil
}

// Dependents have not stopped and depend on a service, also through stopped ones: EnumDependentServices. The first stops first.
func (m *Machine) Dependents(name string) ([]string, error) {
	return ask(m, "Get-Service", func() ([]string, error) { return m.dependents(name), nil })
}

// dependents needs mu.
func (m *Machine) dependents(name string) []string {
	var all []string
	for _, other := range slices.Sorted(maps.Keys(m.state.Services)) {
		on, _ := m.state.value(ServicesKey+`\`+other, "DependOnService")
		depends := slices.ContainsFunc(on.List, func(one string) bool { return strings.EqualFold(one, name) })
		if !depends {
			continue
		}
		for _, one := range append(m.dependents(other), other) {
			if m.service(one).State != Stopped && !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// RunServices is the service manager: from the boot until ctx ends. It starts the automatic services, then what is asked for.
func (m *Machine) RunServices(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, name := range m.automatic() {
		m.accept(ctx, &all, name)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case request := <-m.starts:
			request.answer <- m.accept(ctx, &all, request.name)
		}
	}
}

func (m *Machine) automatic() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return without(slices.Sorted(maps.Keys(m.state.Services)), func(name string) bool {
		start, _ := m.state.value(ServicesKey+`\`+name, "Start")
		return start.Number != 2
	})
}

// start asks the service manager to start a service; the answer is an error of Windows.
func (m *Machine) start(ctx context.Context, name string) int {
	if m.PaperServices {
		return m.startOnPaper(name)
	}
	request := startRequest{name: name, answer: make(chan int, 1)}
	select {
	case <-ctx.Done():
		return errProcessAborted
	case m.starts <- request:
		return <-request.answer
	}
}

func (m *Machine) startOnPaper(name string) int {
	return m.withService(name, func(service *Service) int { return m.paperStart(name, service) })
}

// paperStart starts what the service depends on first, as the service manager does. It needs mu.
func (m *Machine) paperStart(name string, service *Service) int {
	if service.State != Stopped {
		return errAlreadyRunning
	}
	key := ServicesKey + `\` + name
	if start, ok := m.state.value(key, "Start"); ok && start.Number == 4 {
		return errDisabled
	}
	depends, _ := m.state.value(key, "DependOnService")
	for _, name := range depends.List {
		other := m.service(name)
		if other == nil {
			return errNoDependency
		}
		if m.paperStart(name, other); other.State != Running && other.State != StartPending {
			return errDependent
		}
	}
	if !service.Broken {
		service.State = Running
	}
	return 0
}

// withService answers with an error of Windows where there is no such service.
func (m *Machine) withService(name string, do func(*Service) int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if service := m.service(name); service != nil {
		return do(service)
	}
	return errServiceNotExist
}

// accept starts a service and those it depends on.
func (m *Machine) accept(ctx context.Context, all *sync.WaitGroup, name string) int {
	line, depends, code := m.startable(name)
	if code != 0 {
		return code
	}
	for _, other := range depends {
		code := m.accept(ctx, all, other)
		if code == errServiceNotExist {
			m.setService(name, Stopped, errNoDependency)
			return errNoDependency
		}
		if code != 0 && code != errAlreadyRunning {
			m.setService(name, Stopped, errDependent)
			return errDependent
		}
	}
	if line == "" {
		m.setService(name, Running, 0) // a part of Windows
		return 0
	}
	call := &Call{Machine: m, Argv: SplitArguments(line), Service: name}
	program, err := m.Find(call)
	if err != nil {
		m.setService(name, Stopped, errFileNotFound)
		return errFileNotFound
	}
	own, cancel := context.WithCancel(ctx)
	m.mu.Lock()
	if waits := m.volatile.running[strings.ToLower(name)]; waits != nil {
		waits() // it has failed, and would be started again
	}
	m.volatile.running[strings.ToLower(name)] = cancel
	m.mu.Unlock()
	all.Go(func() { m.serve(own, program, call) })
	return 0
}

// startable says how to start a service, or the error of Windows why not.
func (m *Machine) startable(name string) (line string, depends []string, code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	service := m.service(name)
	if service == nil {
		return "", nil, errServiceNotExist
	}
	if service.State != Stopped {
		return "", nil, errAlreadyRunning
	}
	key := ServicesKey + `\` + name
	if start, ok := m.state.value(key, "Start"); ok && start.Number == 4 {
		return "", nil, errDisabled
	}
	service.State = StartPending
	image, _ := m.state.value(key, "ImagePath")
	dependsOn, _ := m.state.value(key, "DependOnService")
	return image.Text, dependsOn.List, 0
}

// serve runs a service, and again after a failure as its failure actions say.
func (m *Machine) serve(ctx context.Context, program Program, call *Call) {
	name := call.Service
	for failures := 0; ; failures++ {
		again := *call
		again.Env = m.serviceEnvironment(name)
		again.Running = func() { m.setService(name, Running, 0) }
		log := &fileLog{machine: m, name: `C:\Windows\Temp\service-` + name + `.log`}
		again.Stdout, again.Stderr = log, log
		m.setService(name, StartPending, 0)
		code := program(ctx, &again)
		m.setService(name, Stopped, code)
		delay, restart := m.restartDelay(name, failures)
		if ctx.Err() != nil || !restart || m.Clock.Sleep(ctx, delay) != nil {
			return
		}
	}
}

func (m *Machine) serviceEnvironment(name string) map[string]string {
	m.mu.Lock()
	own, _ := m.state.value(ServicesKey+`\`+name, "Environment")
	m.mu.Unlock()
	env := map[string]string{}
	for _, line := range own.List {
		key, value, _ := strings.Cut(line, "=")
		env[key] = value
	}
	return m.environment(env)
}

func (m *Machine) restartDelay(name string, failures int) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	service := m.service(name)
	if service == nil || len(service.RestartMilliseconds) == 0 {
		return 0, false
	}
	index := min(failures, len(service.RestartMilliseconds)-1)
	return time.Duration(service.RestartMilliseconds[index]) * time.Millisecond, true
}

func (m *Machine) setService(name, state string, code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	service := m.service(name)
	if service == nil {
		return
	}
	if state == Running && service.State != Running {
		service.Starts++
	}
	service.State, service.ExitCode = state, code
	if err := m.changed("service %s %s %d", name, state, code); err != nil {
		panic(fmt.Sprintf("the state of the simulated Windows cannot be kept: %v", err))
	}
}

func (m *Machine) stop(name string) int {
	return m.withService(name, func(service *Service) int {
		cancel := m.volatile.running[strings.ToLower(name)]
		switch {
		case service.State == Stopped && cancel == nil:
			return errNotActive
		case service.SettlesAfter > 0:
			return errCannotAccept
		case len(m.dependents(name)) > 0:
			return errDependentsRun
		case service.Stubborn:
		case cancel != nil:
			delete(m.volatile.running, strings.ToLower(name))
			if service.State == Running {
				service.State = StopPending
			}
			cancel()
		default:
			service.State = Stopped
		}
		return 0
	})
}

// fileLog appends to a file of the machine.
type fileLog struct {
	mu      sync.Mutex
	machine *Machine
	name    string
}

// Write is io.Writer.
func (l *fileLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(text), l.machine.Append(l.name, text)
}
