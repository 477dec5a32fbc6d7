package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// pinned is the number of vectors, succeeding that of those which end well: none is skipped, none is lost.
const (
	pinned     = 354
	succeeding = 214
)

func vectorFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../bootstrap/plan/vectors/*.json")
	if err != nil || len(files) != pinned {
		t.Fatalf("%d vectors, %d are pinned (%v)", len(files), pinned, err)
	}
	return files
}

func readVector(t *testing.T, file string) *vector {
	t.Helper()
	text := expect.Got(os.ReadFile(file))(t)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	v := &vector{}
	if err := decoder.Decode(v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

func eachVector(t *testing.T, run func(t *testing.T, file string)) {
	t.Helper()
	for _, file := range vectorFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			run(t, file)
		})
	}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	eachVector(t, func(t *testing.T, file string) {
		v := readVector(t, file)
		s := lived(t, v)
		if difference := cmp.Diff(v.Expect, s.outcome(v.Expect)); difference != "" {
			t.Errorf("%s\n-want +got:\n%s", v.Reason, difference)
		}
		s.checkKeptPlan(v.Expect.KeepsSteps)
	})
}

// outcome is the end, with those parts of which a vector speaks.
func (s *stage) outcome(want expectation) expectation {
	s.t.Helper()
	var report plan.Report
	var end state
	s.read(Root+`\report.json`, &report)
	s.read(Root+`\state.json`, &end)
	got := expectation{
		State: string(report.State), Reason: report.Reason, Message: report.Message, ExitCode: report.ExitCode,
		Reboots: report.Reboots, Phase: report.Phase, Step: report.Step, Elapsed: report.Elapsed,
		LastLines: report.LastLines, Warnings: report.Warnings, Effects: s.Effects, KeepsSteps: want.KeepsSteps,
		Sentinel: s.Machine.FileExists(Sentinel),
	}
	for name := range want.Facts {
		put(&got.Facts, name, end.Facts[name])
	}
	for name := range want.Durations {
		put(&got.Durations, name, report.Durations[name])
	}
	for path := range want.JSON {
		var content any
		s.read(path, &content)
		put(&got.JSON, path, content)
	}
	for _, path := range want.Gone {
		if !s.there(path) {
			got.Gone = append(got.Gone, path)
		}
	}
	for _, path := range want.Exists {
		if s.there(path) {
			got.Exists = append(got.Exists, path)
		}
	}
	if want.ReportFacts != nil {
		got.ReportFacts = &report.Facts
	}
	if report.Boot != nil {
		if !regexp.MustCompile(`^\d{8}T\d{6}Z$`).MatchString(report.Boot.At) {
			s.t.Errorf("boot.at is %q", report.Boot.At)
		}
		got.Boot = &plan.ReportBoot{State: report.Boot.State, Reason: report.Boot.Reason, Message: report.Boot.Message}
	}
	return got
}

func put[V any](into *map[string]V, name string, value V) {
	if *into == nil {
		*into = map[string]V{}
	}
	(*into)[name] = value
}

func (s *stage) there(path string) bool {
	return s.Machine.FileExists(path) || s.Machine.DirectoryExists(path)
}

// checkKeptPlan: what is left of the plan has no phases, and no steps but those of everyBoot.
func (s *stage) checkKeptPlan(steps bool) {
	s.t.Helper()
	text := expect.Got(s.Machine.ReadFile(Root + `\plan.json`))(s.t)
	if !steps && bytes.Contains(text, []byte(`"steps"`)) {
		s.t.Errorf("the plan that is kept has steps: %s", text)
	}
	var left struct{ Phases []any }
	s.read(Root+`\plan.json`, &left)
	if left.Phases == nil || len(left.Phases) > 0 {
		s.t.Errorf("the plan that is kept has not an empty list of phases: %s", text)
	}
}

// allowed is what a second run may still do: programs of the user, which are not idempotent by themselves, checks, and the
// end itself.
var (
	allowed = []string{"run *", "  env *", "  in *", "task.disable *", "boot", "post *", "file C:?run?cluster-api?*"}
	never   = []string{"run ?\"sc.exe\",\"create\"*", "run ?\"sc.exe\",\"config\"*"}
)

func TestSecondRunChangesNothing(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, file := range vectorFiles(t) {
		v := readVector(t, file)
		if v.Expect.State != string(plan.StateSucceeded) {
			continue
		}
		tried++
		s := lived(t, v)
		s.again(readVector(t, file))
		for _, effect := range s.Effects {
			if !fits(effect, allowed) || fits(effect, never) {
				t.Errorf("%s: the second run did: %s", v.Name, effect)
			}
		}
	}
	if tried != succeeding {
		t.Errorf("%d vectors succeed, %d are pinned", tried, succeeding)
	}
}

// again runs the same plan on the machine it has left, as if nothing were known of the first run.
func (s *stage) again(v *vector) {
	s.t.Helper()
	s.Effects, s.World.Commands, s.World.Starts = nil, v.World.Commands, 0
	expect.OK(s.t, s.Machine.Boot())
	for _, pipe := range v.World.Pipes {
		s.Machine.OpenPipe(pipe)
	}
	file, err := s.Machine.HostPath(Root + `\state.json`)
	if err == nil {
		err = os.Remove(file) // not by a door: that of this machine may be broken
	}
	expect.OK(s.t, err)
	s.put(Root+`\plan.json`, string(v.Plan))
	s.live()
	var end state
	if s.read(Root+`\state.json`, &end); end.State != plan.StateSucceeded {
		s.t.Errorf("%s: the second run ended %s: %s", v.Name, end.State, end.Message)
	}
}

func fits(effect string, masks []string) bool {
	return slices.ContainsFunc(masks, func(mask string) bool { return windows.Like(effect, mask) })
}
