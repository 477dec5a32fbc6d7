package cni

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// nssmDelay is after which time nssm starts a program again that has ended, by default.
const nssmDelay = 1500 * time.Millisecond

// NSSM is nssm.exe as the program of a service (nssm 2.24, registry.cpp and service.cpp): it runs what the values below the
// service's Parameters name, and again when that ends.
func NSSM(ctx context.Context, call *windows.Call) int {
	if call.Service == "" {
		return call.Fail("nssm: the lab plays the services alone")
	}
	m, key := call.Machine, windows.ServicesKey+`\`+call.Service+`\Parameters`
	application, _, err := m.ReadRegistry(key, "Application")
	parameters, _, failed := m.ReadRegistry(key, "AppParameters")
	folder, _, noFolder := m.ReadRegistry(key, "AppDirectory")
	extra, _, noExtra := m.ReadRegistry(key, "AppEnvironmentExtra")
	output, _, noOutput := m.ReadRegistry(key, "AppStdout")
	if err := errors.Join(err, failed, noFolder, noExtra, noOutput); err != nil {
		return call.Fail("nssm: %v", err)
	}
	child := *call
	child.Argv = append([]string{application.Text}, windows.SplitArguments(parameters.Text)...)
	child.Dir, child.Env = folder.Text, map[string]string{}
	maps.Copy(child.Env, call.Env)
	for _, line := range extra.List {
		name, value, _ := strings.Cut(line, "=")
		child.Env[name] = value
	}
	child.Running = func() {}
	if output.Text != "" {
		child.Stdout, child.Stderr = logFile{m, output.Text}, logFile{m, output.Text}
	}
	call.Running()
	for {
		if program, err := m.Find(&child); err != nil {
			call.Fail("nssm: %v", err)
		} else {
			program(ctx, &child)
		}
		if m.Clock.Sleep(ctx, nssmDelay) != nil {
			return 0
		}
	}
}

// logFile appends what a program prints to a file of the machine.
type logFile struct {
	machine *windows.Machine
	name    string
}

// Write is part of io.Writer.
func (l logFile) Write(text []byte) (int, error) { return len(text), l.machine.Append(l.name, text) }
