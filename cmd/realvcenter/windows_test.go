package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// goodAnswers are those of a Windows that does what we rely on.
func goodAnswers() map[string]any {
	return map[string]any{
		"events": 12, "eventsWithCanary": 0, "eventsWithPacked": 0, "logsEveryScript": false, "chainSeconds": 15.2,
		"leaseAtOnce": "Dhcp", "leaseAfter10s": "gone", "taskRuns": 1, "taskRunsLater": 1, "sddl": adminOnly,
	}
}

func packed(t *testing.T, answers any) string {
	t.Helper()
	return base64.StdEncoding.EncodeToString(expect.Got(json.Marshal(answers))(t))
}

// guest is Windows in the VM of a run: it acts when the program says that it waits for it.
type guest struct {
	*stage
	t       *testing.T
	answers any
	behind  []string // its addresses when it has a vSwitch
	plan    *plan.Plan
}

// Write implements io.Writer.
func (g *guest) Write(text []byte) (int, error) {
	switch said := string(text); {
	case strings.Contains(said, "waiting for Windows"):
		g.bootstrap()
	case strings.Contains(said, "Windows: Running"):
		g.end()
	case strings.Contains(said, "Windows restarts"):
		g.start()
	}
	return g.said.Write(text)
}

func (g *guest) name() string {
	g.t.Helper()
	for _, name := range g.VMs() {
		if strings.HasPrefix(name, "cw-") {
			return name
		}
	}
	g.t.Fatal("there is no VM")
	return ""
}

func (g *guest) tell(report plan.Report) {
	g.t.Helper()
	report.Version, report.UID, report.Phase = 1, g.plan.Machine.UID, plan.ReportPhase{Index: 2, Of: 2, Name: "network"}
	g.SetExtra(g.name(), reportKey, string(expect.Got(json.Marshal(report))(g.t)))
}

// bootstrap runs the plan in the user data.
func (g *guest) bootstrap() {
	g.t.Helper()
	text := expect.Got(scripts.Plan(g.Guestinfo(g.name(), "userdata")))(g.t)
	g.plan = expect.Got(plan.Decode(text))(g.t)
	g.has("10.0.0.9", "10.0.0.10")
	g.tell(plan.Report{State: plan.StateRunning})
}

// has gives Windows addresses, which VMware Tools report.
func (g *guest) has(ips ...string) {
	g.t.Helper()
	g.Update(g.VM(g.name()).Reference(), types.PropertyChange{Name: "guest.net", Val: []types.GuestNicInfo{{IpAddress: ips}}})
}

func (g *guest) end() {
	g.t.Helper()
	g.has(g.behind...)
	g.SetExtra(g.name(), probeKey, packed(g.t, g.answers))
	g.tell(plan.Report{State: plan.StateSucceeded})
}

func (g *guest) start() {
	g.t.Helper()
	report := base64.StdEncoding.EncodeToString([]byte(`{"version":1,"uid":"x","state":"Succeeded"}`))
	empty := base64.StdEncoding.EncodeToString([]byte(`{}`))
	g.SetExtra(g.name(), filesKey, packed(g.t, map[string]string{
		"sddl": "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", "plan.json": empty, "state.json": empty, "report.json": report,
	}))
	host := types.PropertyChange{Name: "guest.hostName", Val: strings.ToUpper(g.name()) + ".example.com"}
	g.Update(g.VM(g.name()).Reference(), host)
	g.tell(plan.Report{State: plan.StateSucceeded, Boot: &plan.ReportBoot{State: plan.StateSucceeded}})
}

// A guest that does what we rely on, and one that does not.
func TestWindows(t *testing.T) {
	t.Parallel()
	windows := []string{
		"event-log", "probe-time", "dhcp-disabled", "scheduled-task", "addresses-behind-vswitch", "user-data-gone", "own-files",
	}
	bad := goodAnswers()
	maps.Copy(bad, map[string]any{"eventsWithCanary": 2, "chainSeconds": 31, "leaseAfter10s": "Manual", "taskRuns": 2})
	for name, c := range map[string]struct {
		answers any
		behind  []string
		want    []verdict
	}{
		"good": {goodAnswers(), []string{"10.0.0.10", "10.0.0.9"}, []verdict{holds, holds, holds, holds, holds, holds, holds}},
		"bad":  {bad, []string{"10.0.0.10"}, []verdict{doesNot, doesNot, doesNot, doesNot, doesNot, holds, holds}},
		"none": {"", nil, []verdict{notChecked, notChecked, notChecked, notChecked, doesNot, holds, holds}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.times.guest, s.names = time.Minute, windows
			s.out = &guest{stage: s, t: t, answers: c.answers, behind: c.behind}
			told := expect.Got(run(t.Context(), s.options))(t)
			want := map[string]verdict{}
			for i, name := range windows {
				want[name] = c.want[i]
			}
			t.Log(s.said.String())
			expect.Same(t, "verdicts", want, verdicts(told))
			s.noneLeft(t, "after a guest")
		})
	}
}

// Files that the agent must not leave like that.
func TestJudgeFiles(t *testing.T) {
	const report = `{"version":1,"uid":"x","state":"Succeeded"}`
	for name, c := range map[string]struct {
		sddl, plan, report string
		want               verdict
	}{
		"as set":          {adminOnly, "{}", report, holds},
		"with a group":    {strings.Replace(adminOnly, "D:", "G:SYD:", 1), "{}", report, holds},
		"others may read": {adminOnly + "(A;;FR;;;BU)", "{}", report, doesNot},
		"a secret":        {adminOnly, `{"a":"canary"}`, report, doesNot},
		"not JSON":        {adminOnly, "{", report, doesNot},
		"no report":       {adminOnly, "{}", "", doesNot},
	} {
		kept := map[string]string{"sddl": c.sddl}
		for file, text := range map[string]string{"plan.json": c.plan, "state.json": "{}", "report.json": c.report} {
			kept[file] = base64.StdEncoding.EncodeToString([]byte(text))
		}
		found := judgeFiles(kept, "canary")
		expect.Same(t, fmt.Sprintf("%s (%s)", name, found.reason), c.want, found.verdict)
	}
}
