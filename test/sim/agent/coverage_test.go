package agent

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// How a step may end in a vector.
const (
	changed = "changed"
	already = "already so"
	failed  = "failed"
)

// cannot are the ends that a kind does not have, with the reason.
var cannot = map[plan.Kind]map[string]string{
	"check":       {changed: "it only looks"},
	"waitFor":     {changed: "it only looks"},
	"hnsEndpoint": {changed: "it only looks"},
	"collectLogs": {changed: "its zip is no effect that vectors list", already: "it is written each time"},
	"fact":        {already: "it is asked each time"},
}

// Every kind has vectors for each way in which its step may end, as it was seen when they ran.
func TestEveryKindEndsInEveryWay(t *testing.T) {
	t.Parallel()
	seen := map[plan.Kind]map[string][]string{}
	for _, file := range vectorFiles(t) {
		v := readVector(t, file)
		w := watch(t, v)
		for _, one := range w.ends {
			if seen[one.kind] == nil {
				seen[one.kind] = map[string][]string{}
			}
			seen[one.kind][one.how] = append(seen[one.kind][one.how], v.Name)
		}
	}
	for _, step := range plan.Kinds() {
		kind := plan.KindOf(step)
		for _, how := range []string{changed, already, failed} {
			vectors, reason := seen[kind][how], cannot[kind][how]
			switch {
			case len(vectors) == 0 && reason == "":
				t.Errorf("no vector has a step %s that ends %q", kind, how)
			case len(vectors) > 0 && reason != "" && how != already:
				t.Errorf("a step %s ended %q in %v, though %s", kind, how, vectors, reason)
			}
		}
	}
}

// watcher sees from the state that the agent keeps which step is at work, and how the one before has ended.
type watcher struct {
	s       *stage
	now     state
	step    plan.Step
	effects int
	ends    []ending
}

type ending struct {
	kind plan.Kind
	how  string
}

func watch(t *testing.T, v *vector) *watcher {
	t.Helper()
	w := &watcher{s: newStage(t, v)}
	w.s.OnEffect = w.effect
	w.s.live()
	return w
}

func (w *watcher) effect(effect string) {
	switch {
	case effect == "keep "+Root+`\state.json`:
		w.next()
	case strings.HasPrefix(effect, "keep ") || strings.Contains(effect, `"info-set `) || strings.HasPrefix(effect, "post "):
	default:
		w.effects++
	}
}

// next is told that the state was written: before each attempt, after each phase, before a reboot, and at the end.
func (w *watcher) next() {
	var now state
	w.s.read(Root+`\state.json`, &now)
	same := now.Phase == w.now.Phase && now.Step == w.now.Step && now.State == w.now.State
	if same && now.Tries == w.now.Tries && w.step != nil {
		return // the step itself has written something down
	}
	w.end(now, same)
	w.now, w.effects, w.step = now, 0, w.at(now)
}

// end is how the step of the state before has ended.
func (w *watcher) end(now state, same bool) {
	if w.step == nil {
		return
	}
	// The deadline ends a bootstrap between two steps: the one before has ended well.
	between := now.Reason == "BootstrapTimeout" && now.Step > w.now.Step
	how := already
	switch {
	case same || now.State == plan.StateFailed && !between || len(now.Warnings) > len(w.now.Warnings):
		how = failed
	case w.effects > 0 || now.State == plan.StateRebooting:
		how = changed
	}
	w.ends = append(w.ends, ending{plan.KindOf(w.step), how})
}

// at is the step that is at work in a state, if one is.
func (w *watcher) at(now state) plan.Step {
	if now.State != plan.StateRunning || now.Tries == 0 {
		return nil
	}
	decoded := expect.Got(plan.Decode([]byte(w.s.text(Root + `\plan.json`))))(w.s.t)
	return decoded.Phases[now.Phase].Steps[now.Step]
}

// The watcher must tell the ways apart, or the test above would be worth nothing.
func TestWatcherTellsEnds(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]ending{
		"02-file-new":          {{"file", changed}},
		"03-file-same":         {{"file", already}},
		"06-file-unknown-fact": {{"file", failed}},
		"24-run-retries":       {{"run", failed}, {"run", failed}, {"run", changed}},
		"30-run-optional":      {{"run", failed}, {"file", changed}},
		"46-reboot-always":     {{"reboot", changed}, {"file", changed}},
		"48-pagefile-reboot":   {{"fact", changed}, {"registry", changed}, {"reboot", changed}},
		"79-two-phases":        {{"run", changed}, {"run", changed}},
	} {
		w := watch(t, readVector(t, "../../../bootstrap/plan/vectors/"+name+".json"))
		if !slices.Equal(w.ends, want) {
			t.Errorf("%s: %v, want %v", name, w.ends, want)
		}
	}
}

// Both interpreters give Windows the same time, and a kind that calls it has a vector in which the call never comes back.
func TestLimitsOfKinds(t *testing.T) {
	t.Parallel()
	script := string(expect.Got(os.ReadFile("../../../bootstrap/scripts/agent.ps1"))(t))
	_, table, _ := strings.Cut(script, "$StepKinds = @{")
	table, _, _ = strings.Cut(table, "\n}")
	got := map[plan.Kind]int{}
	for _, row := range regexp.MustCompile(`(\w+) = (?:, )?(\d+)`).FindAllStringSubmatch(table, -1) {
		if seconds := expect.Got(strconv.Atoi(row[2]))(t); seconds > 0 {
			got[plan.Kind(row[1])] = seconds
		}
	}
	expect.Same(t, "seconds that Windows has for a step", asideSeconds, got)
	for kind := range got {
		name := "-hang-" + strings.ToLower(string(kind)) + ".json"
		if !slices.ContainsFunc(vectorFiles(t), func(file string) bool { return strings.HasSuffix(file, name) }) {
			t.Errorf("no vector ends in %s", name)
		}
	}
}
