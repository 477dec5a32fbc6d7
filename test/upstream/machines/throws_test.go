package machines

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// throw has each command that the machine uses throw once: at its first call, and at a later one. Of a part of the throws, one
// of both.
func (c *campaign) throw(l *life) {
	random := c.random(l.machine.Name)
	for _, command := range slices.Sorted(maps.Keys(l.calls)) {
		times, first := l.calls[command], c.all || random.IntN(2) == 0
		if first || times == 1 {
			l.throwOnce(c, command, 1)
		}
		if times > 1 && (c.all || !first) {
			l.throwOnce(c, command, 2+random.IntN(times-1))
		}
	}
}

// before is the last place before a call; there is none before what the loader calls.
func (l *life) before(command string, call int) (savedPlace, bool) {
	for _, at := range slices.Backward(l.places) {
		if at.calls[command] < call {
			return at, true
		}
	}
	return savedPlace{}, false
}

func (l *life) throwOnce(c *campaign, command string, call int) {
	l.t.Helper()
	what := fmt.Sprintf("call %d of %s throws", call, command)
	secret := "none"
	if len(l.secrets.Lines) > 0 {
		secret = l.secrets.Lines[call%len(l.secrets.Lines)]
	}
	changes := map[string]any{
		"throwAt": map[string]any{"command": command, "call": call, "says": "the value " + secret + " is not valid"}, "places": !c.all,
	}
	at, found := l.before(command, call)
	first := job{Base: l.base, Act: "restart"}
	if found {
		l.goTo(at, changes)
	} else {
		first.Act = "load"
		l.stage = newStage(l.t, l.machine, l.base)
		world := l.world()
		maps.Copy(world, changes)
		l.write(world)
	}
	ended, reached := c.reach(l, what, first)
	if !reached {
		return
	}
	c.count("throws", 1)
	if ended {
		l.checkThrow(c, what)
	} else {
		c.count("throws "+string(plan.StateSucceeded), 1)
		inPlan := func(leak string) bool { return strings.HasPrefix(leak, "/plan.json: ") }
		l.checkLeaks(c, what, slices.DeleteFunc(l.leaks(l.world()), inPlan))
	}
}

// reach goes on until the command has thrown, also in a later start, and the start that it threw in has ended, or is again where
// the life without faults was: what comes then is known.
func (c *campaign) reach(l *life, what string, next job) (ended, reached bool) {
	c.t.Helper()
	ended = true
	asBefore := func(at place) bool {
		thrown, _ := l.world()["thrown"].(bool)
		ended = !thrown || !l.isAsBefore(at)
		return ended
	}
	for range 1 + laterStarts {
		if err := c.run("throws", next, asBefore); err != nil {
			c.t.Errorf("%s, %s: %v", l.machine.Name, what, err)
			return true, false
		}
		if thrown, _ := l.world()["thrown"].(bool); thrown {
			return ended, true
		}
		next = job{Base: l.base, Starts: 1}
	}
	c.t.Errorf("%s, %s: it was not called", l.machine.Name, what)
	return true, false
}

func (l *life) isAsBefore(at place) bool {
	for _, saved := range l.places {
		if saved.place == at && at.Step >= 0 && maps.Equal(saved.like, l.ending()) {
			return true
		}
	}
	return false
}

// checkThrow: the loader says that it failed, or the bootstrap has ended well or badly.
func (s *stage) checkThrow(c *campaign, what string) {
	s.t.Helper()
	said, _ := s.world()["said"].([]any)
	if len(said) > 0 && strings.HasPrefix(fmt.Sprint(said[len(said)-1]), "CAPWIN state=Failed phase=loader reason=LoaderFailed") {
		c.count("throws Failed", 1)
		return
	}
	end := s.state()
	c.count("throws "+string(end.State), 1)
	if end.State != plan.StateSucceeded && end.State != plan.StateFailed {
		s.t.Errorf("%s, %s: it ends %q", s.machine.Name, what, end.State)
	}
	if end.State == plan.StateFailed && end.Reason == "InternalError" {
		c.count("throws InternalError", 1)
		s.t.Errorf("%s, %s: InternalError %q", s.machine.Name, what, end.Message)
	}
	// What could not be erased or disabled has its turn at the next start.
	if err := c.run("throws", job{Base: s.base, Starts: 1}, nil); err != nil {
		s.t.Errorf("%s, %s, the next start: %v", s.machine.Name, what, err)
	}
	if again := s.state(); again.State != end.State || again.Reason != end.Reason {
		s.t.Errorf("%s, %s: it ends %s %s, and after the next start %s %s",
			s.machine.Name, what, end.State, end.Reason, again.State, again.Reason)
	}
	s.checkEnd(c, what)
}
