package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

const (
	format = "  %-22s %-14s %-26s %-16s %-11s %s"
	// Control sequences: one line up, and clear from here to the end of the screen.
	up   = "\x1b[1A"
	wipe = "\x1b[J"
)

// screen shows one line for each machine: drawn over on a terminal, and else printed when it changes.
type screen struct {
	out   io.Writer
	width int // of the terminal, 0 without one
	drawn int
	last  map[string]string
}

func newScreen(out *os.File) *screen {
	s := &screen{out: out, last: map[string]string{}}
	if os.Getenv("CI") == "" && os.Getenv("TERM") != "dumb" {
		s.width = widthOf(out)
	}
	return s
}

// widthOf asks stty, which fails for what is not a terminal: 0 then.
func widthOf(out *os.File) (width int) {
	stty := exec.Command("stty", "size")
	stty.Stdin = out
	size, err := stty.Output()
	if err != nil {
		return 0
	}
	var height int
	if _, err := fmt.Sscan(string(size), &height, &width); err != nil {
		return 0
	}
	return width
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

func (s *screen) title(text string) {
	s.printf("\n%s\n", text)
	s.drawn = 0
}

func (s *screen) done(took time.Duration) {
	s.printf("  done after %.1f s\n", took.Seconds())
	s.drawn = 0
}

// show draws the machines.
func (s *screen) show(elapsed time.Duration, rows []row) {
	if s.width == 0 {
		s.log(elapsed, rows)
		return
	}
	s.printf("%s%s", strings.Repeat(up, s.drawn), wipe)
	lines := []string{fmt.Sprintf(format, "NAME", "PHASE", "REASON", "NODE", "BUILD", "MESSAGE")}
	for _, r := range rows {
		lines = append(lines, r.line())
	}
	lines = append(lines, fmt.Sprintf("  %.0f s", elapsed.Seconds()))
	for _, line := range lines {
		s.printf("%s\n", cut(line, s.width-1))
	}
	s.drawn = len(lines)
}

// log prints the lines that changed, and those that are gone.
func (s *screen) log(elapsed time.Duration, rows []row) {
	seen := map[string]string{}
	for _, r := range rows {
		seen[r.name] = r.line()
		if s.last[r.name] != r.line() {
			s.printf("%6.1fs%s\n", elapsed.Seconds(), r.line())
		}
	}
	for name := range s.last {
		if _, there := seen[name]; !there {
			s.printf("%6.1fs  %-22s gone\n", elapsed.Seconds(), name)
		}
	}
	s.last = seen
}

type row struct {
	name, phase, reason, node, build, message string
}

func (r row) line() string {
	return strings.TrimRight(fmt.Sprintf(format, r.name, r.phase, r.reason, r.node, r.build, r.message), " ")
}

// rows are what kubectl would show of the machines.
func rows(machines []infrav1.WindowsMachine) []row {
	all := make([]row, 0, len(machines))
	for _, m := range machines {
		r := row{name: m.Name, phase: string(m.Status.Phase), node: m.Status.NodeName, build: m.Status.WindowsBuild}
		if ready := conditions.Get(&m, infrav1.ReadyCondition); ready != nil {
			r.reason, r.message = ready.Reason, ready.Message
		}
		all = append(all, r)
	}
	return all
}

func cut(line string, width int) string {
	if len(line) <= width || width < 4 {
		return line
	}
	return line[:width-3] + "..."
}
