package machines

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// life is a life without faults: where others may go on from, what was called how often, and how it ended.
type life struct {
	*stage
	places []savedPlace
	calls  map[string]int
	// moments of each start, in their order.
	moments [][]string
	end     ending
	reboots int
}

// savedPlace is a place whose machine is kept in a folder.
type savedPlace struct {
	place
	folder string
	calls  map[string]int
	// like is the machine at this place.
	like ending
}

// laterStarts of Windows follow the end of the bootstrap.
const laterStarts = 2

// liveAndFail lives a machine's life, and where it was chosen, again with each fault. Kills are nil for one that was not.
func (c *campaign) liveAndFail(m Machine, kills []int) {
	l := c.live(m, kills != nil)
	if kills != nil && l.end != nil {
		c.fail(l)
		c.throw(l)
		for _, number := range kills {
			c.kill(l, number)
		}
	}
	expect.Fine(c.t, os.RemoveAll(l.base))
	expect.Fine(c.t, os.RemoveAll(l.base+".places"))
}

// live is a life without faults.
func (c *campaign) live(m Machine, keep bool) *life {
	c.t.Helper()
	l := &life{stage: newStage(c.t, m, c.base(m, ""))}
	world := l.world()
	world["places"], world["trace"] = keep, keep
	l.write(world)
	err := c.run("lives", job{Base: l.base, Act: "load", Starts: laterStarts}, l.keep)
	if err != nil {
		c.t.Errorf("%s: %v", m.Name, err)
		return l
	}
	c.count("lives", 1)
	l.checkSuccess(c, "a life without faults")
	l.checkLoader("a life without faults")
	l.calls, l.reboots = callsOf(l.world()), l.state().Reboots
	if keep {
		l.readMoments()
		l.end = l.ending()
	}
	return l
}

// checkSuccess: the bootstrap and each later start end well, and nothing is to be warned of.
func (s *stage) checkSuccess(c *campaign, what string) {
	s.t.Helper()
	end := s.state()
	if end.State != plan.StateSucceeded || len(end.Warnings) > 0 || end.Boot != nil && end.Boot.State != plan.StateSucceeded {
		s.t.Errorf("%s, %s: %s at %s/%s: %s %q, warnings %q, boot %+v",
			s.machine.Name, what, end.State, end.PhaseName, end.StepName, end.Reason, end.Message, end.Warnings, end.Boot)
	}
	if (end.Boot != nil) != (len(s.machine.Plan.EveryBoot) > 0) {
		s.t.Errorf("%s, %s: what is done at each start was done: %t", s.machine.Name, what, end.Boot != nil)
	}
	s.checkEnd(c, what)
}

// checkLoader: it says one line, unless it waits for what comes after a restart.
func (s *stage) checkLoader(what string) {
	s.t.Helper()
	world := s.world()
	said, _ := world["said"].([]any)
	want := "CAPWIN uid=" + s.machine.Plan.Machine.UID + " state="
	waited, _ := world["waited"].(bool)
	if !waited && (len(said) != 1 || !strings.HasPrefix(fmt.Sprint(said[0]), want)) {
		s.t.Errorf("%s, %s: the loader says %q", s.machine.Name, what, said)
	}
}

// keep copies the machine of a place.
func (l *life) keep(at place) bool {
	l.t.Helper()
	folder := fmt.Sprintf("%s.places/%d", l.base, len(l.places))
	expect.Fine(l.t, os.MkdirAll(filepath.Dir(folder), 0o700))
	expect.Fine(l.t, os.CopyFS(folder, os.DirFS(l.base)))
	l.places = append(l.places, savedPlace{at, folder, callsOf(l.world()), l.ending()})
	return true
}

// goTo brings a place back, with what is changed in its world.
func (l *life) goTo(at savedPlace, changes map[string]any) *stage {
	l.t.Helper()
	expect.OK(l.t, os.RemoveAll(l.base))
	expect.OK(l.t, os.CopyFS(l.base, os.DirFS(at.folder)))
	world := l.world()
	world["places"], world["trace"] = false, false
	maps.Copy(world, changes)
	l.write(world)
	return l.stage
}

func callsOf(world map[string]any) map[string]int {
	calls := map[string]int{}
	table, _ := world["calls"].(map[string]any)
	for name, count := range table {
		number, _ := count.(float64)
		calls[name] = int(number)
	}
	return calls
}

func (l *life) readMoments() {
	l.t.Helper()
	text := string(expect.Got(os.ReadFile(filepath.Join(l.base, "moments")))(l.t))
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "== ") {
			l.moments = append(l.moments, nil)
			continue
		}
		last := len(l.moments) - 1
		l.moments[last] = append(l.moments[last], line)
	}
}

// liveInProcesses is a life in which each start is a process of its own, as on a node.
func (c *campaign) liveInProcesses(m Machine) {
	s := newStage(c.t, m, c.base(m, ".processes"))
	start := func(part string) {
		command := pwsh(c.t, c.shell, "child.ps1", "-Base", s.base, "-Part", part)
		if out, err := command.Output(); err != nil {
			c.t.Errorf("%s in processes, %s: %v %s", m.Name, part, err, out)
		}
		c.count("processes ms", processed(command))
	}
	start("load")
	for range 10 {
		if s.state().State != "Rebooting" {
			break
		}
		start("boot")
	}
	for range laterStarts {
		start("later")
	}
	c.count("processes", 1)
	s.checkSuccess(c, "a life in processes")
	s.checkLoader("a life in processes")
}
