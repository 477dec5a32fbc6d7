package windows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// installTools puts the programs of Windows itself on the disk.
func (m *Machine) installTools() {
	for name, program := range map[string]Program{
		"sc.exe": scTool, "netsh.exe": netshTool, "tzutil.exe": tzutilTool, "w32tm.exe": w32tmTool,
		"shutdown.exe": shutdownTool, "wevtutil.exe": wevtutilTool, "cmd.exe": cmdTool,
		"certutil.exe": certutilTool, "curl.exe": curlTool, "findstr.exe": findstrTool,
		"net.exe": netTool, "route.exe": routeTool,
	} {
		m.programs[name] = program
		if err := m.Install(system32+`\`+name, program); err != nil {
			panic(fmt.Sprintf("the disk of the simulated Windows cannot be written: %v", err))
		}
	}
}

// netTool is net.exe; played is `net stop NAME`: it waits until the service has stopped.
func netTool(ctx context.Context, call *Call) int {
	if len(call.Argv) != 3 || !strings.EqualFold(call.Argv[1], "stop") {
		return call.Fail("the lab's net.exe only stops services")
	}
	name := call.Argv[2]
	if code := call.Machine.stop(name); code != 0 {
		call.Fail("The %s service is not started.\r", name)
		return 2
	}
	for range 80 {
		if state, err := call.Machine.ServiceState(name); err != nil || state == Stopped {
			break
		}
		if err := call.Machine.Clock.Sleep(ctx, 250*time.Millisecond); err != nil {
			break
		}
	}
	call.Print("The %s service was stopped successfully.\r", name)
	return 0
}

func scTool(ctx context.Context, call *Call) int {
	m, args := call.Machine, call.Argv[1:]
	if len(args) < 2 {
		return errInvalidArguments
	}
	verb, name := strings.ToLower(args[0]), args[1]
	code := errInvalidArguments
	switch verb {
	case "create", "config":
		code = m.configure(verb == "create", name, args[2:])
	case "triggerinfo":
		code = m.triggers(name, args[2:])
	case "failure":
		code = m.withService(name, func(service *Service) int { return m.failureActions(service, args[2:]) })
	case "failureflag":
		code = m.withService(name, func(*Service) int { return m.kept() })
	case "start":
		code = m.start(ctx, name)
	case "stop":
		code = m.stop(name)
	case "query":
		state, err := m.ServiceState(name)
		if code = 0; err != nil || state == Absent {
			code = errServiceNotExist
		}
		call.Print("SERVICE_NAME: %s\n        TYPE               : 10  WIN32_OWN_PROCESS\n        STATE              : %d  %s",
			name, stateNumbers[state], strings.ToUpper(state))
	}
	if code != 0 {
		call.Print("[SC] %s FAILED %d", verb, code)
	}
	return code
}

// stateNumbers are what sc.exe shows in every language.
var stateNumbers = map[string]int{Stopped: 1, StartPending: 2, StopPending: 3, Running: 4}

// triggers are the events that start and stop a service, beside its start type.
func (m *Machine) triggers(name string, events []string) int {
	return m.withService(name, func(service *Service) int {
		for _, event := range events {
			if event != "start/networkon" && event != "stop/networkoff" {
				return errInvalidArguments
			}
		}
		service.Triggers = slices.Clone(events)
		return m.kept()
	})
}

var startCodes = map[string]int64{"auto": 2, "delayed-auto": 2, "demand": 3, "disabled": 4}

func (m *Machine) configure(create bool, name string, options []string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	have := m.service(name)
	switch {
	case have != nil && have.Doomed:
		return errMarkedForDelete
	case create && have != nil:
		return errServiceExists
	case !create && have == nil:
		return errServiceNotExist
	}
	if len(options)%2 != 0 {
		return errInvalidArguments
	}
	if have == nil {
		have = &Service{State: Stopped}
		m.state.Services[name] = have
		for _, usual := range [][2]string{{"start=", "demand"}, {"obj=", "LocalSystem"}} {
			m.setOption(have, ServicesKey+`\`+name, usual[0], usual[1])
		}
	}
	for i := 0; i < len(options); i += 2 {
		if code := m.setOption(have, ServicesKey+`\`+name, options[i], options[i+1]); code != 0 {
			return code
		}
	}
	return m.kept()
}

func (m *Machine) setOption(service *Service, key, option, value string) int {
	switch strings.ToLower(option) {
	case "binpath=":
		service.ImagePath = value
		m.state.SetValue(key, "ImagePath", RegistryValue{Type: "ExpandString", Text: value})
	case "start=":
		code, ok := startCodes[value]
		if !ok {
			return errInvalidArguments
		}
		m.state.SetValue(key, "Start", DWord(code))
		m.state.SetValue(key, "DelayedAutostart", DWord(int64(strings.Count(value, "delayed"))))
	case "depend=":
		others := strings.FieldsFunc(value, func(r rune) bool { return r == '/' })
		m.state.SetValue(key, "DependOnService", MultiString(others...))
	case "obj=":
		m.state.SetValue(key, "ObjectName", Text(value))
	default:
		return errInvalidArguments
	}
	return 0
}

func (m *Machine) failureActions(service *Service, options []string) int {
	for i := 0; i+1 < len(options); i += 2 {
		if options[i] != "actions=" {
			continue
		}
		service.RestartMilliseconds = nil
		parts := strings.Split(options[i+1], "/")
		for j := 0; j+1 < len(parts); j += 2 {
			delay, err := strconv.Atoi(parts[j+1])
			if parts[j] != "restart" || err != nil {
				return errInvalidArguments
			}
			service.RestartMilliseconds = append(service.RestartMilliseconds, delay)
		}
	}
	return m.kept()
}

// kept saves the state; mu is held. The effect is the start of the program.
func (m *Machine) kept() int {
	if err := m.save(); err != nil {
		return errProcessAborted
	}
	return 0
}

func tzutilTool(_ context.Context, call *Call) int {
	m := call.Machine
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case len(call.Argv) == 2 && call.Argv[1] == "/g":
		_, _ = fmt.Fprint(call.Stdout, cmp.Or(m.state.TimeZone, "Pacific Standard Time"))
		return 0
	case len(call.Argv) == 3 && call.Argv[1] == "/s":
		m.state.TimeZone = call.Argv[2]
		return m.kept()
	}
	return call.Fail("Usage: tzutil </? | /g | /s TimeZoneID[_dstoff] | /l>")
}

func w32tmTool(_ context.Context, call *Call) int {
	m := call.Machine
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.serviceState("w32time") == Stopped {
		return call.Fail("The following error occurred: The service has not been started. (0x80070426)")
	}
	switch call.Argv[min(1, len(call.Argv)-1)] {
	case "/resync":
		return 0
	case "/config":
		for _, option := range call.Argv[2:] {
			if peers, ok := strings.CutPrefix(option, "/manualpeerlist:"); ok {
				key := ServicesKey + `\W32Time\Parameters`
				m.state.SetValue(key, "NtpServer", Text(peers))
				m.state.SetValue(key, "Type", Text("NTP"))
			}
		}
		return m.kept()
	}
	return call.Fail("The command %s is unknown.", strings.Join(call.Argv[1:], " "))
}

// errShutdownScheduled is ERROR_SHUTDOWN_IS_SCHEDULED.
const errShutdownScheduled = 1190

func shutdownTool(_ context.Context, call *Call) int {
	if len(call.Argv) < 2 || call.Argv[1] != "/r" {
		return call.Fail("Usage: shutdown /r [/t xxx] [/f] [/d [p|u:]xx:yy]")
	}
	if call.Machine.RebootAsked() {
		call.Fail("A system shutdown has already been scheduled.(1190)")
		return errShutdownScheduled
	}
	call.Machine.AskReboot()
	return 0
}

// AskReboot is what shutdown.exe and parts of Windows do to start the machine once more.
func (m *Machine) AskReboot() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.volatile.rebooting {
		m.volatile.rebooting = true
		close(m.volatile.reboot)
	}
}

// RebootAsked says that AskReboot was called since the last Boot.
func (m *Machine) RebootAsked() bool { return held(m, func() bool { return m.volatile.rebooting }) }

// Rebooting is closed by AskReboot.
func (m *Machine) Rebooting() <-chan struct{} {
	return held(m, func() <-chan struct{} { return m.volatile.reboot })
}

func wevtutilTool(_ context.Context, call *Call) int {
	if len(call.Argv) < 3 || call.Argv[1] != "qe" {
		return call.Fail("Unknown command. The parameter is incorrect.")
	}
	call.Print("Event[0]\n  Log Name: %s\n  Computer: %s", call.Argv[2], call.Machine.ComputerName())
	return 0
}
