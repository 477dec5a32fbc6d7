package security

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// lie is a first report, and what comes of it.
type lie struct {
	name, tries, report string
	// shows waits for what people see then; good says what is wrong with the status.
	shows []func(world.State) string
	good  func(infrav1.WindowsMachineStatus) string
}

// guestReport is one that can be read, with more fields, which take the place of those before them.
func guestReport(fields string) string {
	return `{"version":1,"state":"Running","phase":{"index":2,"of":9,"name":"network"},"facts":{"os":"20348.2700"},` + fields + `}`
}

func xs(n int) string { return strings.Repeat("x", n) }

// list has so many entries.
func list(n int) string { return `["x"` + strings.Repeat(`,"x"`, n-1) + `]` }

var (
	bootstraps = world.Windows("BootstrapSucceeded Unknown Bootstrapping")
	fails      = world.Windows("BootstrapSucceeded False BootstrapFailed")
)

func notUnderstood(s world.State) string {
	text := conditions.GetMessage(s.Windows, infrav1.ReadyCondition)
	if !strings.Contains(text, "does not understand") || s.Windows.Status.Bootstrap != nil {
		return "the message is " + text
	}
	return ""
}

// one is for what is shown in one condition.
func one(shows func(world.State) string) []func(world.State) string {
	return []func(world.State) string{shows}
}

// padded makes a report of so many bytes.
func padded(bytes int) string {
	empty := guestReport(`"message":""`)
	return guestReport(`"message":"` + xs(bytes-len(empty)) + `"`)
}

// allPhases has a duration for each phase that there is, and for more.
func allPhases() string {
	all := map[string]int{"made-up": 1, "": 2, "every-boot": 3}
	for _, name := range bootstrap.PhaseNames() {
		all[name] = 1 << 40
	}
	text, _ := json.Marshal(all) //nolint:errchkjson // because numbers can be written
	return string(text)
}

// limits are what the fields of a report may have at most: so many characters, entries, or a number.
var limits = []struct {
	field string
	most  int
	tells func(n int) string
	shown func(infrav1.WindowsMachineStatus) int
}{
	{
		"message", 1024, func(n int) string { return guestReport(`"message":"` + xs(n) + `"`) },
		func(s infrav1.WindowsMachineStatus) int { return len(s.Bootstrap.Message) },
	},
	{
		"step", 128, func(n int) string { return guestReport(`"step":"` + xs(n) + `"`) },
		func(s infrav1.WindowsMachineStatus) int { return len(s.Bootstrap.Step) },
	},
	{
		"phase", 124, func(n int) string { return guestReport(`"phase":{"index":1,"of":2,"name":"` + xs(n) + `"}`) },
		func(s infrav1.WindowsMachineStatus) int { return len(s.Bootstrap.Phase) - len("1/2 ") },
	},
	{
		"facts.os", 64, func(n int) string { return guestReport(`"facts":{"os":"` + xs(n) + `"}`) },
		func(s infrav1.WindowsMachineStatus) int { return len(s.WindowsBuild) },
	},
	{
		"lastLines[0]", 256, func(n int) string { return guestReport(`"lastLines":["` + xs(n) + `"]`) },
		func(s infrav1.WindowsMachineStatus) int { return len(s.Bootstrap.LastLines[0]) },
	},
	{
		"lastLines", 20, func(n int) string { return guestReport(`"lastLines":` + list(n)) },
		func(s infrav1.WindowsMachineStatus) int { return len(s.Bootstrap.LastLines) },
	},
	{
		"warnings[0]", 512, func(n int) string { return guestReport(`"warnings":["` + xs(n) + `"]`) },
		func(s infrav1.WindowsMachineStatus) int { return len(s.Bootstrap.Warnings[0]) },
	},
	{
		"warnings", 20, func(n int) string { return guestReport(`"warnings":` + list(n)) },
		func(s infrav1.WindowsMachineStatus) int { return len(s.Bootstrap.Warnings) },
	},
	{
		"boot.message", 1024, func(n int) string { return guestReport(`"boot":{"state":"Failed","message":"` + xs(n) + `"}`) },
		func(s infrav1.WindowsMachineStatus) int { return len(s.LastBoot.Message) },
	},
	{
		"elapsed", 1 << 30, func(n int) string { return guestReport(fmt.Sprintf(`"elapsed":%d`, n)) },
		func(s infrav1.WindowsMachineStatus) int { return int(s.Bootstrap.ElapsedSeconds) },
	},
}

// atLimits are reports with each field at its limit, and one beyond.
func atLimits() (all [2][]lie) {
	for i, limit := range limits {
		good := func(status infrav1.WindowsMachineStatus) string {
			if got := limit.shown(status); got != limit.most {
				return fmt.Sprintf("%s: %d, want %d", limit.field, got, limit.most)
			}
			return ""
		}
		for beyond := range 2 {
			n := limit.most + beyond
			all[beyond] = append(all[beyond], lie{
				fmt.Sprintf("limit-%d-%d", i, beyond), fmt.Sprintf("reports %s of %d, where %d is the limit", limit.field, n, limit.most),
				limit.tells(n), nil, good,
			})
		}
	}
	return all
}

// lies are about what a guest should not decide, those of each kind together.
var lies = [][]lie{{
	{"size", "reports 16 KiB", padded(plan.MaxReportBytes), one(bootstraps), nil},
	{"size-1", "reports one byte more than 16 KiB", padded(plan.MaxReportBytes + 1), one(notUnderstood), nil},
}, {
	{"elapsed", "reports a negative time", guestReport(`"elapsed":-1`), one(bootstraps), nil},
	{"exit", "reports an exit code that the API cannot hold", guestReport(`"exitCode":2147483648`), one(bootstraps), nil},
	{"exit-2", "reports an exit code that no number can hold", guestReport(`"exitCode":1e999`), one(notUnderstood), nil},
	{"exit-3", "reports an exit code that is a text", guestReport(`"exitCode":"1"`), one(notUnderstood), nil},
}, {
	{
		"durations", "invents phases", guestReport(`"durations":` + allPhases()), one(bootstraps),
		func(s infrav1.WindowsMachineStatus) string {
			if got, want := len(s.Bootstrap.Durations), len(bootstrap.PhaseNames()); got != want {
				return fmt.Sprintf("there are %d durations, want %d", got, want)
			}
			return ""
		},
	},
	{"nested", "nests lists 16,000 deep", strings.Repeat("[", 16000), one(notUnderstood), nil},
	{
		"nested-1", "nests an unknown field", guestReport(`"x":` + strings.Repeat("[", 7000) + strings.Repeat("]", 7000)),
		one(bootstraps), nil,
	},
}, {
	{"state", "reports a state that does not exist", guestReport(`"state":"Ready"`), one(notUnderstood), nil},
	{"version", "reports in another version", guestReport(`"version":2`), one(notUnderstood), nil},
	{"null", "reports null", "null", one(notUnderstood), nil},
	{
		"twice", "reports its state twice, to be read in two ways", guestReport(`"state":"Failed","state":"Running"`), one(bootstraps),
		nil,
	},
}, {
	{"reason", "invents a reason", guestReport(`"state":"Failed","reason":"Joined"`), one(fails), nil},
	{"reason-1", "reports a reason that only we give", guestReport(`"state":"Failed","reason":"NodeDeleted"`), one(fails), nil},
	{"reason-2", "reports a reason without a failure", guestReport(`"reason":"JoinFailed"`), one(bootstraps), nil},
}, {
	{
		"conditions", "reports conditions, a providerID and a Node",
		guestReport(`"conditions":[{"type":"Ready","status":"True","reason":"Joined"}],"providerID":"azure:///other",` +
			`"nodeName":"other","status":{"nodeName":"other"},"uid":"another-machine","node":"other",` +
			`"initialization":{"provisioned":false}`),
		one(bootstraps), func(s infrav1.WindowsMachineStatus) string { return s.NodeName }, // there is no Node yet
	},
}, {
	{
		"sentence", "continues our sentence with one of its own",
		guestReport(`"step":"x, 1s of at most 2s. Node other has joined (Joined)"`), one(bootstraps),
		func(s infrav1.WindowsMachineStatus) string {
			if strings.Contains(s.Bootstrap.Step, " ") {
				return "the step reads like a sentence: " + s.Bootstrap.Step
			}
			return ""
		},
	},
}, {
	{
		"control", "reports control characters, escapes, and characters that reverse the text",
		guestReport(`"state":"Failed","phase":{"index":1,"of":2,"name":"a\u001b[2J\u202e"},"step":"b\r\n\u0000",` +
			`"reason":"\u001b]0;x\u0007","message":"c\u009b31m\u2028\ufeff\ud800 ` + "\xff" + `","lastLines":["\u001b[31m\u007f"],` +
			`"warnings":["\u202e\u200b"],"facts":{"os":"\u001b"},"boot":{"state":"Failed","reason":"\n","message":"\u0008"}`),
		one(fails), nil,
	},
}}

// printable is what a status may have; JSON escapes < > & and quotes.
var printable = regexp.MustCompile(`^[\x20-\x7e]*$`)

// TestReports has guests that lie in their first report, each about itself only.
func TestReports(t *testing.T) {
	t.Parallel()
	s := newFakeStage(t)
	witness, _ := s.booting(t, "witness")
	limits := atLimits()
	for _, kind := range append(limits[:], lies...) {
		var attacks []attack
		for _, l := range kind {
			attacks = append(attacks, attack{by: "guest", tries: l.tries, try: func(t *testing.T) string {
				t.Parallel()
				return s.hears(t, l, witness)
			}})
		}
		attemptKind(t, attacks...)
	}
}

// hears boots a machine that lies, beside one that does not.
func (s *fakeStage) hears(t *testing.T, l lie, witness *world.Machine) string {
	t.Helper()
	m, state := s.booting(t, l.name)
	s.vm(state, func(vm *fake.VM) { vm.Report = l.report })
	now := m.Await(t, "report", append(l.shows, heard(l))...)
	text := string(expect.Got(json.Marshal(now.Windows.Status))(t))
	if !printable.MatchString(text) || strings.Contains(text, `\u001b`) {
		t.Errorf("the status has characters that a terminal obeys: %q", text)
	}
	if l.good != nil {
		expect.Same(t, "what is wrong with the status", "", l.good(now.Windows.Status))
	}
	witness.Await(t, "life of another", world.Windows("Ready True Running"), world.Tokens(1))
	return "shown as " + conditions.GetReason(now.Windows, infrav1.BootstrapSucceededCondition)
}

// heard waits for the report if nothing else says that it was taken.
func heard(l lie) func(world.State) string {
	return func(s world.State) string {
		if len(l.shows) == 0 && s.Windows.Status.Bootstrap == nil {
			return "the guest has not been heard"
		}
		return ""
	}
}
