package servers

import (
	"fmt"
	"io"
	"os"
	"time"
)

// schedule is how far the builds of some programs are, by what each took on two cores and what those that are built took here.
type schedule struct {
	programs []program
	built    int
	took     time.Duration // of those that are built
}

// left is how long the rest takes, when the program that is being built has taken so long. It goes by the pace of this machine:
// that of the programs that are built, or a slower one if this program takes longer. Before that it is the pace of two cores.
func (s schedule) left(elapsed time.Duration) time.Duration {
	var done, rest time.Duration
	for i, p := range s.programs {
		switch {
		case i < s.built:
			done += p.cost
		case i > s.built:
			rest += p.cost
		}
	}
	current := s.programs[s.built].cost
	pace := 1.0
	if s.built > 0 {
		pace = float64(s.took) / float64(done)
	}
	pace = max(pace, float64(s.took+elapsed)/float64(done+current))
	return max(0, scaled(current, pace)-elapsed) + scaled(rest, pace)
}

func scaled(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// title is what a person reads before.
func (s schedule) title() string {
	if len(s.programs) == 1 {
		return "building 1 server, once: it stays in your cache"
	}
	return fmt.Sprintf("building %d servers, once: they stay in your cache", len(s.programs))
}

// line is what a person reads meanwhile. It fits into a terminal of 80 columns.
func (s schedule) line(elapsed time.Duration) string {
	return fmt.Sprintf("building %d of %d, about %s left: %s, %s", s.built+1, len(s.programs), roughly(s.left(elapsed)),
		s.programs[s.built].name, elapsed.Round(time.Second))
}

// roughly is a time as exactly as it is known.
func roughly(d time.Duration) string {
	if d < 50*time.Second {
		return fmt.Sprintf("%d s", max(10, int(d.Round(10*time.Second).Seconds())))
	}
	return fmt.Sprintf("%d min", int((d + 30*time.Second).Minutes()))
}

// signOfLife is how often a long build is reported where each report is a line more.
const signOfLife = 30 * time.Second

// display is where people read of the builds: one line that is drawn over, on a terminal.
type display struct {
	out      io.Writer
	terminal bool
}

func newDisplay(out io.Writer) display {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("CI") != "" || os.Getenv("TERM") == "dumb" {
		return display{out: out}
	}
	about, err := file.Stat()
	return display{out: out, terminal: err == nil && about.Mode()&os.ModeCharDevice != 0}
}

// every is how often there is something new to read.
func (d display) every() time.Duration {
	if d.terminal {
		return time.Second
	}
	return signOfLife
}

// show replaces what it showed before, on a terminal.
func (d display) show(line string) {
	switch {
	case d.out == nil:
	case d.terminal:
		fmt.Fprintf(d.out, "\r%s\x1b[K", line)
	default:
		fmt.Fprintln(d.out, line)
	}
}

// end leaves the last line behind.
func (d display) end(line string) {
	d.show(line)
	if d.terminal {
		fmt.Fprintln(d.out)
	}
}
