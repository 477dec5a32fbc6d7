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
	format = "  %-20s %-14s %-24s %-16s %-11s %s"
	// Control sequences: one line up, and clear from here to the end of the screen.
	up   = "\x1b[1A"
	wipe = "\x1b[J"
	// The numbers of those that change how text looks.
	plainText, bold, dim, red, green, yellow, cyan = "0", "1", "2", "31", "32", "33", "36"
)

// colours of the phases of machines.
var colours = map[infrav1.Phase]string{
	infrav1.PhasePending: yellow, infrav1.PhaseProvisioning: cyan, infrav1.PhaseBootstrapping: cyan,
	infrav1.PhaseRunning: green, infrav1.PhaseDeleting: red, infrav1.PhaseFailed: red,
}

// screen shows one line for each machine: drawn over on a terminal, and else printed when it changes.
type screen struct {
	out   io.Writer
	width int // of the terminal, 0 without one
	drawn int
	last  map[string]string
	// lines are what a terminal shows, from the beginning on.
	lines []string
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

// printf prints whole lines.
func (s *screen) printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.lines = append(s.lines, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
	fmt.Fprint(s.out, text)
}

// paint has a terminal show text in another way.
func (s *screen) paint(code, text string) string {
	if s.width == 0 {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[" + plainText + "m"
}

func (s *screen) title(text string) {
	s.printf("\n%s\n", s.paint(bold, text))
	s.drawn = 0
}

func (s *screen) done(took time.Duration) {
	s.printf("  %s\n", s.paint(green, fmt.Sprintf("done after %.1f s", took.Seconds())))
	s.drawn = 0
}

// show draws the machines.
func (s *screen) show(elapsed time.Duration, rows []row) {
	if s.width == 0 {
		s.log(elapsed, rows)
		return
	}
	fmt.Fprintf(s.out, "%s%s", strings.Repeat(up, s.drawn), wipe)
	s.lines = s.lines[:len(s.lines)-s.drawn]
	head := fmt.Sprintf(format, "NAME", "PHASE", "REASON", "NODE", "BUILD", "MESSAGE")
	s.printf("%s\n", s.paint(dim, cut(head, s.width-1)))
	for _, r := range rows {
		line := cut(r.line(), s.width-1)
		if colour := colours[infrav1.Phase(r.phase)]; colour != "" {
			line = strings.Replace(line, r.phase, s.paint(colour, r.phase), 1)
		}
		s.printf("%s\n", line)
	}
	s.printf("%s\n", s.paint(dim, fmt.Sprintf("  %.0f s", elapsed.Seconds())))
	s.drawn = len(rows) + 2
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
