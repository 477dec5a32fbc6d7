package vectors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Agent is an interpreter of plans: where it lives, the task that starts it, and one life of its process.
type Agent struct {
	Root, Task string
	Run        func(ctx context.Context, machine *windows.Machine) error
}

// Stage is a world in which a plan runs.
type Stage struct {
	World   *World
	Machine *windows.Machine
	Clock   *windows.VirtualClock
	Effects []string
	// OnEffect is told all effects, those of the agent's own files included.
	OnEffect func(effect string)
	// OnCall is told each start of a program of the world.
	OnCall func(call *windows.Call)
	// Heard is told errors of the agent's process; nil: they end Live.
	Heard func(error)

	agent Agent
}

// New makes the world of a vector in dir, with its plan where the agent looks for it.
func New(dir string, v *Vector, agent Agent) (*Stage, error) {
	machine, err := windows.New(dir)
	if err != nil {
		return nil, err
	}
	s := &Stage{World: &v.World, Machine: machine, Clock: windows.NewVirtualClock(epoch), agent: agent}
	machine.Clock, machine.Network, machine.PaperServices = s.Clock, s, true
	if machine.Hardware, err = v.World.hardware(); err != nil {
		return nil, err
	}
	machine.ManagementIP = v.World.ManagementIP
	machine.FeatureFaults = windows.FeatureFaults{
		NeedsReboot: v.World.FeatureReboot, NeverDone: v.World.FeatureNeverDone, Fails: v.World.FeatureFails,
	}
	machine.Intercept, machine.OnEffect = s.scripted, s.Effect
	furnish := func(s *windows.State) {
		v.World.furnish(s)
		s.Tasks = map[string]bool{agent.Task: true}
	}
	if err := machine.Setup(furnish); err != nil {
		return nil, err
	}
	return s, s.fill(v)
}

func (s *Stage) fill(v *Vector) error {
	for path, text := range v.World.Files {
		if err := s.Machine.Put(path, []byte(text)); err != nil {
			return err
		}
	}
	for path, target := range v.World.Links {
		if err := s.Machine.Link(path, target); err != nil {
			return err
		}
	}
	for _, pipe := range v.World.Pipes {
		s.Machine.OpenPipe(pipe)
	}
	s.Machine.Throw(v.World.Throws, *cmp.Or(v.World.ThrowTimes, new(-1)))
	s.Machine.Hang(v.World.Hangs)
	return s.Machine.Put(s.agent.Root+`\plan.json`, v.Plan)
}

// Live runs the agent until the machine rests, and then as often as the world says again.
func (s *Stage) Live() error {
	for again := true; again; {
		var err error
		if again, err = s.Start(); err != nil {
			return err
		}
		if again {
			if err := s.Boot(); err != nil {
				return err
			}
		}
	}
	for range s.World.Starts {
		if err := s.startLater(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) startLater() error {
	if err := s.Boot(); err != nil {
		return err
	}
	if err := s.Clock.Sleep(context.Background(), 100000*time.Second); err != nil {
		return err
	}
	if err := s.Machine.Setup(s.bringBack); err != nil || s.Has("task.disable "+s.agent.Task) {
		return err
	}
	_, err := s.Start()
	return err
}

// bringBack adds what is stale, unless it is there.
func (s *Stage) bringBack(state *windows.State) {
	for _, item := range s.World.Stale {
		if !slices.ContainsFunc(state.HNS, func(have map[string]any) bool { return have["ID"] == item["ID"] }) {
			state.HNS = append(state.HNS, item)
		}
	}
}

// longestLife of the agent in these worlds is longer than any deadline.
const longestLife = 50000 * time.Second

// Start is one life of the agent; it says whether the machine starts once more.
func (s *Stage) Start() (again bool, err error) {
	ctx, cancel := s.Clock.WithTimeout(context.Background(), longestLife)
	defer cancel()
	// What waits in the background for what this world never brings would wait for ever.
	if err := s.agent.Run(ctx, s.Machine); err != nil && ctx.Err() == nil {
		if s.Heard == nil {
			return false, err
		}
		s.Heard(err)
	}
	return s.Machine.RebootAsked(), nil
}

// Boot starts the machine once more.
func (s *Stage) Boot() error {
	if err := s.Machine.Boot(); err != nil {
		return err
	}
	s.Effect("boot")
	return nil
}

// Has says whether there was an effect.
func (s *Stage) Has(effect string) bool { return slices.Contains(s.Effects, effect) }

// Effect keeps what the README lists: not the agent's own folder, and of a report only its state.
func (s *Stage) Effect(effect string) {
	if s.OnEffect != nil {
		defer s.OnEffect(effect)
	}
	for line := range strings.SplitSeq(effect, "\n") {
		if strings.HasPrefix(line, "keep ") || isOfFile(line) && strings.Contains(line, s.agent.Root) {
			continue
		}
		s.Effects = append(s.Effects, shortReport(line))
	}
}

// isOfFile: other effects may name the agent's folder, too.
func isOfFile(line string) bool {
	kind, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"file", "directory", "remove", "acl"}, kind)
}

func shortReport(line string) string {
	var argv []string
	text, isRun := strings.CutPrefix(line, "run ")
	if !isRun || json.Unmarshal([]byte(text), &argv) != nil || len(argv) != 2 {
		return line
	}
	parts := strings.SplitN(argv[1], " ", 3)
	if len(parts) != 3 || parts[0] != "info-set" {
		return line
	}
	var report struct{ State string }
	if err := json.Unmarshal([]byte(parts[2]), &report); err != nil {
		return line
	}
	return fmt.Sprintf("run %s info-set %s <report %s>", argv[0], parts[1], report.State)
}
