package machines

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// momentKinds take turns, so that none is left to chance: how its name begins, and in which starts.
var momentKinds = []struct {
	name string
	in   func(l *life, start int) bool
}{
	{"before the write of", ofAgent},
	{"in the write of", ofAgent},
	{"before the move to", ofAgent},
	{"in the move to", ofAgent},
	{"after the move to", ofAgent},
	{"before ", ofAgent},
	{"after ", ofAgent},
	{"in kubeadm join", ofAgent},
	{"", ofLoader},
	{"", ofLaterStart},
}

func ofAgent(_ *life, start int) bool { return start > 0 }

func ofLoader(_ *life, start int) bool { return start == 0 }

func ofLaterStart(l *life, start int) bool { return start > l.reboots+1 }

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
	if out, err := command.Output(); !killed(command) {
		c.t.Errorf("%s, %s: it was not killed: %v %s", l.machine.Name, point, err, out)
		return
	}
	c.count("kills", 1)
	c.count("kills ms", processed(command))
	c.goOn(l, point, number)
}

func killed(command *exec.Cmd) bool {
	if command.ProcessState == nil {
		return false
	}
	status, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// starts are the places before each start of the agent.
func (l *life) starts() []savedPlace {
	return slices.DeleteFunc(slices.Clone(l.places), func(at savedPlace) bool { return at.Step >= 0 })
}

// point is a moment of the kind whose turn it is, in some start; of the next kind where there is none. Each name has the same
// chance: state.json is written a hundred times.
func (l *life) point(c *campaign, number int) killPoint {
	random := c.random(fmt.Sprintf("%s kill %d", l.machine.Name, number))
	for turn := range momentKinds {
		points := map[string][]killPoint{}
		kind := momentKinds[(number+turn)%len(momentKinds)]
		for start, moments := range l.moments {
			for i, name := range moments {
				// What the loader opens after its agent has run is in no process of the agent's.
				if kind.in(l, start) && strings.HasPrefix(name, kind.name) && (start == 0 || !strings.HasPrefix(name, "before the opening")) {
					points[name] = append(points[name], killPoint{start, i + 1, name})
				}
			}
		}
		if names := slices.Sorted(maps.Keys(points)); len(names) > 0 {
			these := points[names[random.IntN(len(names))]]
			return these[random.IntN(len(these))]
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
	s.dropGone(world)
	for _, part := range []string{
		"registry", "services", "features", "users", "defender", "adapters", "addresses", "routes", "dns", "acl", "hns",
		"registered", "tasks", "rootAccess",
	} {
		text := string(expect.Got(json.MarshalIndent(world[part], "", " "))(s.t))
		all[part] = numbered(strings.ReplaceAll(text, s.base, ""))
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

// numbered are the ids of HNS in the order in which they stand there: what is made once more has another one.
func numbered(text string) string {
	found := map[string]string{}
	return hnsID.ReplaceAllStringFunc(text, func(id string) string {
		if found[id] == "" {
			found[id] = fmt.Sprintf(`"id %d"`, len(found)+1)
		}
		return found[id]
	})
}

var hnsID = regexp.MustCompile(`"id-\d+"`)

// dropGone takes away the access of what is gone: the stand-ins do not see .NET delete what an end in the middle has left.
func (s *stage) dropGone(world map[string]any) {
	access, _ := world["acl"].(map[string]any)
	for path := range access {
		if _, err := os.Lstat(path); err != nil {
			delete(access, path)
		}
	}
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
