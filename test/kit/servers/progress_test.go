package servers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What is left goes by the pace of the machine that builds: the first build says how much faster or slower it is than two cores.
func TestTimeLeft(t *testing.T) {
	three := []program{{name: "a", cost: time.Minute}, {name: "b", cost: 3 * time.Minute}, {name: "c", cost: time.Minute}}
	for _, test := range []struct {
		reason        string
		built         int
		took, elapsed time.Duration
		want          string
	}{
		{"nothing is built: the pace of two cores", 0, 0, 0, "building 1 of 3, about 5 min left: a, 0s"},
		{"some of the first is done", 0, 0, 30 * time.Second, "building 1 of 3, about 5 min left: a, 30s"},
		{"the first takes twice as long already", 0, 0, 2 * time.Minute, "building 1 of 3, about 8 min left: a, 2m0s"},
		{"the first took half as long", 1, 30 * time.Second, 0, "building 2 of 3, about 2 min left: b, 0s"},
		{"the first took ten times as long", 1, 10 * time.Minute, 0, "building 2 of 3, about 40 min left: b, 0s"},
		{"the second takes longer than the first", 1, time.Minute, 7 * time.Minute, "building 2 of 3, about 2 min left: b, 7m0s"},
		{"the last", 2, 4 * time.Minute, 40 * time.Second, "building 3 of 3, about 20 s left: c, 40s"},
		{"the last takes longer", 2, 4 * time.Minute, 10 * time.Minute, "building 3 of 3, about 10 s left: c, 10m0s"},
	} {
		s := schedule{programs: three, built: test.built, took: test.took}
		expect.Same(t, test.reason, test.want, s.line(test.elapsed))
	}
}

// The line is drawn over, which does not work for one that goes on in the next line of a terminal.
func TestLineFits(t *testing.T) {
	s := schedule{programs: programs}
	for s.built = range programs {
		s.took = 30 * time.Minute
		if line := s.line(29 * time.Minute); len(line) > 79 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}

// A terminal has one line that is drawn over, a file and a pipe have a line each.
func TestReport(t *testing.T) {
	var out bytes.Buffer
	for terminal, want := range map[bool]string{true: "\ra\x1b[K\rb\x1b[K\n", false: "a\nb\n"} {
		out.Reset()
		r := display{out: &out, terminal: terminal}
		r.show("a")
		r.end("b")
		expect.Same(t, "output", want, out.String())
	}
	file := expect.Got(os.Create(filepath.Join(t.TempDir(), "log")))(t)
	defer func() { expect.OK(t, file.Close()) }()
	if newDisplay(file).terminal || newDisplay(nil).terminal {
		t.Error("a file, or nothing, is taken for a terminal")
	}
	for _, p := range programs {
		if p.cost <= 0 {
			t.Errorf("%s has no cost", p.name)
		}
	}
	newDisplay(nil).end(strings.Repeat("x", 3))
}
