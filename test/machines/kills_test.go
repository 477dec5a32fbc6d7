package machines

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// momentKinds take turns, so that none is left to chance.
var momentKinds = []string{
	"before the write of", "in the write of", "before the move to", "in the move to", "after the move to", "before ", "after ",
	"in kubeadm join",
}

// killPoint is a moment of a start: start 0 is the loader's, the others are the agent's.
type killPoint struct {
	start, moment int
	name          string
}

func (k killPoint) String() string {
	return fmt.Sprintf("SIGKILL at moment %d of start %d, %s", k.moment, k.start, k.name)
}

// kill starts the loader or the agent in a process of its own, and ends it by SIGKILL at a moment. It starts again until it ends:
// for every other kill Windows starts first, as after a loss of power. The end has to be that of a life without.
func (c *campaign) kill(l *life, number int) {
	c.t.Helper()
	point := l.point(c, number)
	if point.start == 0 {
		l.stage = newStage(c.t, l.machine, l.base)
		world := l.world()
		world["killAt"] = point.moment
		l.write(world)
	} else {
		l.goTo(l.starts()[point.start-1], map[string]any{"killAt": point.moment})
	}
	part := map[bool]string{true: "load", false: "start"}[point.start == 0]
	command := pwsh(c.t, c.shell, "child.ps1", "-Base", l.base, "-Part", part)
	if out, err := command.CombinedOutput(); err == nil || command.ProcessState.ExitCode() >= 0 {
		c.t.Errorf("%s, %s: it was not killed: %v %s", l.machine.Name, point, err, out)
		return
	}
	c.count("kills", 1)
	c.count("kills ms", processed(command))
	c.goOn(l, point, number)
}

// starts are the places before each start of the agent.
func (l *life) starts() []savedPlace {
	return slices.DeleteFunc(slices.Clone(l.places), func(at savedPlace) bool { return at.Step >= 0 })
}

// point is a moment of the kind whose turn it is, in some start; of the next kind where there is none.
func (l *life) point(c *campaign, number int) killPoint {
	random := c.random(fmt.Sprintf("%s kill %d", l.machine.Name, number))
	for turn := range momentKinds {
		kind := momentKinds[(number+turn)%len(momentKinds)]
		var points []killPoint
		for start, moments := range l.moments {
			for i, name := range moments {
				if strings.HasPrefix(name, kind) && !strings.HasPrefix(name, "before the opening") {
					points = append(points, killPoint{start, i + 1, name})
				}
			}
		}
		if len(points) > 0 {
			return points[random.IntN(len(points))]
		}
	}
	panic("a life without moments")
}

// goOn lives what is left after a kill.
func (c *campaign) goOn(l *life, point killPoint, number int) {
	c.t.Helper()
	next := job{Base: l.base, Act: "restart", Starts: laterStarts}
	if number%2 == 1 {
		next.Act = "boot"
	}
	world := l.world()
	world["killAt"] = 0
	if point.start == 0 { // cloudbase-init has not seen the end of it, and does it all again
		next.Act = "load"
		world["staging"] = expect.Got(Stage(l.base, l.machine.UserData))(c.t)
	}
	if later := point.start - (l.reboots + 1); later > 0 {
		next.Starts -= later
	}
	l.write(world)
	if err := c.run("kills", next, nil); err != nil {
		c.t.Errorf("%s, %s: %v", l.machine.Name, point, err)
		return
	}
	l.checkSuccess(c, point.String())
	if difference := cmp.Diff(l.end, l.ending()); difference != "" {
		c.t.Errorf("%s, %s: it ends elsewhere (-without +with):\n%s", l.machine.Name, point, difference)
	}
}

// ending is all that a life leaves: the files by their paths, and the parts of the world.
type ending map[string]string

// Times differ from life to life. What is in these files is looked at elsewhere.
var timed = []string{"agent.log", "report.json", "object.json", "state.json"}

func (s *stage) ending() ending {
	s.t.Helper()
	all := ending{}
	s.walk("", func(path string) {
		name := strings.TrimPrefix(path, s.base)
		all[name] = "there"
		if !slices.Contains(timed, filepath.Base(name)) {
			text := expect.Got(os.ReadFile(path))(s.t)
			if filepath.Base(name) == "plan.json" {
				text = sorted(text)
			}
			sum := sha256.Sum256(bytes.ReplaceAll(text, []byte(s.base), nil))
			all[name] = hex.EncodeToString(sum[:8])
		}
	})
	all["state.json"] = s.lasting()
	world := s.world()
	for _, part := range []string{
		"registry", "services", "features", "users", "defender", "adapters", "addresses", "routes", "dns", "acl", "hns",
		"registered", "tasks", "rootAccess",
	} {
		text := string(expect.Got(json.MarshalIndent(world[part], "", " "))(s.t))
		all[part] = strings.ReplaceAll(text, s.base, "")
	}
	node, _ := world["node"].(map[string]any)
	ran, _ := node["ran"].([]any)
	once := map[string]bool{}
	for _, script := range ran {
		once[fmt.Sprint(script)] = true
	}
	node["ran"] = slices.Sorted(maps.Keys(once)) // a script that was cut short runs again
	all["node"] = string(expect.Got(json.MarshalIndent(node, "", " "))(s.t))
	return all
}

// lasting is the state without times, and without what a step has tried.
func (s *stage) lasting() string {
	s.t.Helper()
	kept := map[string]any{}
	if text := s.read(root + "state.json"); text != "" {
		expect.Fine(s.t, json.Unmarshal([]byte(text), &kept))
	}
	for _, name := range []string{"elapsed", "phaseElapsed", "durations", "attempts", "tries", "warnings"} {
		delete(kept, name)
	}
	if boot, ok := kept["boot"].(map[string]any); ok {
		delete(boot, "at")
	}
	return string(expect.Got(json.MarshalIndent(kept, "", " "))(s.t))
}

// sorted is JSON with its keys in order: those of a table in PowerShell have none.
func sorted(text []byte) []byte {
	var tree any
	if json.Unmarshal(text, &tree) != nil {
		return text
	}
	again, err := json.Marshal(tree)
	if err != nil {
		return text
	}
	return again
}
