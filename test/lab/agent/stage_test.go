package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// effect keeps what the README lists: not the agent's own folder, and of a report only its state.
func (s *stage) effect(effect string) {
	if s.onEffect != nil {
		defer s.onEffect(effect)
	}
	for line := range strings.SplitSeq(effect, "\n") {
		if strings.HasPrefix(line, "keep ") || strings.Contains(line, Root) && !strings.HasPrefix(line, "run ") {
			continue
		}
		s.effects = append(s.effects, shortReport(line))
	}
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

// live runs the agent until the machine rests, and then as often as the world says again.
func (s *stage) live() {
	s.t.Helper()
	for s.start() {
		s.boot()
	}
	for range s.world.Starts {
		s.boot()
		expect.OK(s.t, s.clock.Sleep(context.Background(), 100000*time.Second))
		expect.OK(s.t, s.machine.Setup(func(state *windows.State) { state.HNS = append(state.HNS, s.world.Stale...) }))
		if !s.has("task.disable " + TaskName) {
			s.start()
		}
	}
}

// lived is a stage on which the machine rests.
func lived(t *testing.T, v *vector) *stage {
	t.Helper()
	s := newStage(t, v)
	s.live()
	return s
}

// start is one life of the agent; it says whether the machine starts once more.
func (s *stage) start() bool {
	s.t.Helper()
	if err := Run(context.Background(), s.machine); err != nil {
		if s.heard == nil {
			s.t.Fatal(err)
		}
		s.heard(err)
	}
	return s.machine.RebootAsked()
}

func (s *stage) boot() {
	s.t.Helper()
	expect.OK(s.t, s.machine.Boot())
	s.effect("boot")
}

func (s *stage) has(effect string) bool {
	return slices.Contains(s.effects, effect)
}

func (s *stage) read(path string, into any) {
	s.t.Helper()
	text, err := s.machine.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		s.t.Fatalf("read %s: %v", filepath.Base(path), err)
	}
}
