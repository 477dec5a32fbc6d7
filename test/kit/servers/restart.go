package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Pause ends the manager of a component until Resume.
func (m *Management) Pause(component string) error {
	p, err := m.manager(component)
	if err != nil {
		return err
	}
	return p.stop(stopGrace)
}

// Resume starts the manager of a component again, with the same arguments. What it printed before is kept beside
// its new log.
func (m *Management) Resume(ctx context.Context, component string) error {
	old, err := m.manager(component)
	if err != nil {
		return err
	}
	return m.servers.again(ctx, old)
}

// Printed is all that the manager of a component has printed since it was started the last time.
func (m *Management) Printed(component string) (string, error) {
	text, err := os.ReadFile(filepath.Join(m.servers.dir, managerProcess(component)+".log"))
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(text), nil
}

// ticks of Linux in a second, for all programs.
const ticks = 100

// Worked is the time of the processor that the manager of a component took so far, as Linux says.
func (m *Management) Worked(component string) (time.Duration, error) {
	p, err := m.manager(component)
	if err != nil {
		return 0, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0, fmt.Errorf("read time of %s: %w", p.name, err)
	}
	// The fields after the name, which is in parentheses: utime and stime are the 14th and the 15th of all.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, fmt.Errorf("time of %s is %q", p.name, stat)
	}
	var sum time.Duration
	for _, field := range []string{fields[utime], fields[stime]} {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("read time of %s: %w", p.name, err)
		}
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum, nil
}

// StandBy starts a second manager of a component, which leads once the first one does not.
func (m *Management) StandBy(ctx context.Context, component string, more ...string) error {
	c, err := renderComponent(component)
	if err != nil {
		return err
	}
	s, _, err := m.ownManager(ctx, filepath.Join(m.servers.dir, "manager"), c, more)
	if err != nil {
		return err
	}
	s.name += "-standby"
	return m.servers.start(ctx, s)
}
