package machine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestUntrustedReports(t *testing.T) {
	long := strings.Repeat("x", 5000)
	cases := map[string]struct {
		reason, report string
		want           *guestReport
	}{
		"none":          {"a guest that is silent", "", nil},
		"no JSON":       {"nonsense is nothing", "{", nil},
		"unknown state": {"a state that the API has not would be refused by the API server", `{"version":1,"state":"dancing"}`, nil},
		"other version": {"a report of another version cannot be read", `{"version":2,"state":"Running"}`, nil},
		"too large": {"a guest cannot fill the API server", `{"version":1,"state":"Running","message":"` +
			strings.Repeat("x", 70000) + `"}`, nil},
		"control characters": {
			"nothing that a terminal would obey, and a name is no sentence",
			`{"version":1,"state":"Running","phase":{"index":1,"of":2,"name":"a[31m` +
				"\\u001b" + `"},"elapsed":-4}`,
			&guestReport{Bootstrap: infrav1.BootstrapProgress{State: "Running", Phase: "1/2 a_31m_"}},
		},
		"long": {
			"cut to the size of the field", `{"version":1,"state":"Failed","message":"` + long + `","lastLines":["` + long +
				`"],"reason":"nope"}`,
			&guestReport{Bootstrap: infrav1.BootstrapProgress{
				State: "Failed", Phase: "", Reason: "BootstrapFailed", Message: long[:1021] + "...",
				LastLines: []string{long[:253] + "..."},
			}},
		},
		"reason of a guest that does not fail": {
			"a guest that did not fail has no reason",
			`{"version":1,"state":"Running","phase":{"index":1,"of":2,"name":"a"},"reason":"JoinFailed"}`,
			&guestReport{Bootstrap: infrav1.BootstrapProgress{State: "Running", Phase: "1/2 a"}},
		},
		"durations": {
			"the phases that there are, in their order, no more and none that is made up",
			`{"version":1,"state":"Running","phase":{"index":3,"of":9,"name":"join"},"durations":{"network":-3,"made-up":9,"prepare":4}}`,
			&guestReport{Bootstrap: infrav1.BootstrapProgress{
				State: "Running", Phase: "3/9 join",
				Durations: []infrav1.PhaseDuration{{Phase: "prepare", Seconds: new(int32(4))}, {Phase: "network", Seconds: new(int32(0))}},
			}},
		},
		"start": {
			"its reason is a documented one, too", `{"version":1,"state":"Succeeded","phase":{"index":9,"of":9,"name":"join"},
				"boot":{"state":"Failed","reason":"x","message":"` + long + `"}}`,
			&guestReport{
				Bootstrap: infrav1.BootstrapProgress{State: "Succeeded", Phase: "9/9 join"},
				LastBoot:  &infrav1.BootResult{State: "Failed", Reason: "LastBootFailed", Message: long[:1021] + "..."},
			},
		},
		"start of an unknown state": {
			"it would be refused by the API server", `{"version":1,"state":"Succeeded","phase":{"index":9,"of":9,"name":"join"},
				"boot":{"state":"Rebooting"}}`,
			&guestReport{Bootstrap: infrav1.BootstrapProgress{State: "Succeeded", Phase: "9/9 join"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := readReport(c.report)
			expect.Same(t, c.reason, c.want, got)
			if (err != nil) != (c.want == nil && c.report != "") {
				t.Errorf("%s: the error is %v", c.reason, err)
			}
		})
	}
}

// What the largest report makes must fit the API's own limits: the number of phases that there may be is one of them.
func TestDurationsFitTheAPI(t *testing.T) {
	all := map[string]int{}
	for i := range 300 {
		all[fmt.Sprint("phase", i)] = 1
	}
	for _, name := range bootstrap.PhaseNames() {
		all[name] = 1
	}
	report := expect.Got(json.Marshal(map[string]any{"version": 1, "state": "Running", "durations": all}))(t)
	told := expect.Got(readReport(string(report)))(t)
	var names []string
	for _, d := range told.Bootstrap.Durations {
		names = append(names, d.Phase)
	}
	if !slices.Equal(names, bootstrap.PhaseNames()) || len(names) > 16 {
		t.Errorf("durations of %v", names)
	}
}

func TestTakeOver(t *testing.T) {
	first, second := metav1.NewTime(begin), metav1.NewTime(begin.Add(1))
	status := func(at metav1.Time, told guestReport) infrav1.WindowsMachineStatus {
		told.Bootstrap.LastReportTime = at
		return infrav1.WindowsMachineStatus{Bootstrap: &told.Bootstrap, LastBoot: told.LastBoot, WindowsBuild: "20348.2700"}
	}
	said := func(report string) guestReport { return *expect.Got(readReport(report))(t) }
	inBoot := said(succeeded)
	inBoot.LastBoot = &infrav1.BootResult{State: "Running"}
	cases := map[string]struct {
		reason string
		known  infrav1.WindowsMachineStatus
		told   guestReport
		want   infrav1.WindowsMachineStatus
	}{
		"first":      {"it has its time", infrav1.WindowsMachineStatus{}, said(running), status(second, said(running))},
		"same again": {"or each look would write", status(first, said(running)), said(running), status(first, said(running))},
		"time alone": {
			"that time has passed is no news", status(first, said(running)),
			said(strings.Replace(running, `"elapsed":12`, `"elapsed":40`, 1)), status(first, said(running)),
		},
		"next":       {"it has its own time", status(first, said(running)), said(succeeded), status(second, said(succeeded))},
		"in a start": {"its own phase and durations stay", status(first, said(succeeded)), said(bootRunning), status(first, inBoot)},
		"after it":   {"the bootstrap has no news", status(first, inBoot), said(bootFailed), status(first, said(bootFailed))},
		"moved": {
			"better this than nothing",
			infrav1.WindowsMachineStatus{},
			said(bootRunning), status(second, said(bootRunning)),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			takeOver(&c.known, c.told, second)
			expect.Same(t, c.reason, c.want, c.known)
		})
	}
}

// TestLinesOfAReport: the API takes 20 lines and 20 warnings; of more the last ones are told.
func TestLinesOfAReport(t *testing.T) {
	for _, told := range []int{19, 20, 21, 300} {
		var lines []string
		for i := range told {
			lines = append(lines, fmt.Sprintf("%q", fmt.Sprint("line ", i+1)))
		}
		list := "[" + strings.Join(lines, ",") + "]"
		progress := expect.Got(readReport(reported("Failed", "4/5 join", `"lastLines":`+list+`,"warnings":`+list)))(t).Bootstrap
		for name, got := range map[string][]string{"lines": progress.LastLines, "warnings": progress.Warnings} {
			ends := []string{got[0], got[len(got)-1]}
			expect.Same(t, fmt.Sprint(told, " told: how many ", name), min(told, 20), len(got))
			expect.Same(t, name, []string{fmt.Sprint("line ", max(1, told-19)), fmt.Sprint("line ", told)}, ends)
		}
	}
}

// TestCleanName: names keep their letters and digits, to the last of each.
func TestCleanName(t *testing.T) {
	expect.Same(t, "a good name", "azAZ09-_.", cleanName("azAZ09-_."))
	expect.Same(t, "the characters beside them", "________", cleanName("`{@[/: \u00e4"))
}

// TestSizesOfAReport are those that the API takes, to the byte.
func TestSizesOfAReport(t *testing.T) {
	long := strings.Repeat("x", 600)
	told := expect.Got(readReport(reported("Running", "2/5 "+long,
		`"step":"`+long+`","elapsed":99999999999,"warnings":["`+long+`"],"facts":{"os":"`+long+`"}`)))(t)
	expect.Same(t, "phase", "2/5 "+long[:121]+"...", told.Bootstrap.Phase)
	expect.Same(t, "step", long[:125]+"...", told.Bootstrap.Step)
	expect.Same(t, "warnings", []string{long[:509] + "..."}, told.Bootstrap.Warnings)
	expect.Same(t, "build", long[:61]+"...", told.Build)
	expect.Same(t, "seconds", int32(1<<30), told.Bootstrap.ElapsedSeconds)
}

// TestUpdated: the day of Windows' last update is taken from a report only if it is a day, and stays when it is not told again.
func TestUpdated(t *testing.T) {
	status := infrav1.WindowsMachineStatus{}
	for _, test := range []struct{ told, want string }{
		{"", ""},
		{"yesterday", ""},
		{"8 Sep 2026", "2026-09-08"},
		{"", "2026-09-08"},
		{"31 Feb 2026", "2026-09-08"},
		{"18 Sep 20260", "2026-09-08"},
		{"18 Oct 2026", "2026-10-18"},
	} {
		report := strings.Replace(running, `"facts":{`, `"facts":{"updated":"`+test.told+`",`, 1)
		takeOver(&status, *expect.Got(readReport(report))(t), metav1.NewTime(begin))
		expect.Same(t, "day after "+test.told, test.want, status.WindowsUpdated)
	}
}

// TestStarts: a start that has ended well is told, too, and only one that runs hides what the bootstrap says.
func TestStarts(t *testing.T) {
	ended := reported("Succeeded", "1/1 every-boot", atEnd+`,"boot":{"state":"Succeeded"}`)
	f := world(vm(cloud.Running, ended), seen)
	expect.Same(t, "condition", "True LastBootSucceeded", short(f.windows, infrav1.LastBootSucceededCondition))
	status := world(vm(cloud.Running, running), seen).windows.Status
	takeOver(&status, *expect.Got(readReport(ended))(t), metav1.NewTime(begin))
	expect.Same(t, "state", "Succeeded", status.Bootstrap.State)
	expect.Same(t, "build", "20348.2700", status.WindowsBuild)
	takeOver(&status, guestReport{}, metav1.NewTime(begin))
	expect.Same(t, "build, when it is not told", "20348.2700", status.WindowsBuild)
}
