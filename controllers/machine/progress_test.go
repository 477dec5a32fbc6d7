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
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

func TestProgressOfUntrustedReports(t *testing.T) {
	long := strings.Repeat("x", 5000)
	cases := map[string]struct {
		reason, report string
		want           *infrav1.BootstrapProgress
	}{
		"none":          {"a guest that is silent", "", nil},
		"no JSON":       {"nonsense is nothing", "{", nil},
		"unknown state": {"a state that the API has not would be refused by the API server", `{"version":1,"state":"dancing"}`, nil},
		"other version": {"a report of another version cannot be read", `{"version":2,"state":"running"}`, nil},
		"too large": {"a guest cannot fill the API server", `{"version":1,"state":"running","message":"` +
			strings.Repeat("x", 70000) + `"}`, nil},
		"control characters": {
			"nothing that a terminal would obey", `{"version":1,"state":"running","phase":{"index":1,"of":2,"name":"a[31m` +
				"\\u001b" + `"},"elapsed":-4}`,
			&infrav1.BootstrapProgress{State: "running", Phase: "1/2 a[31m "},
		},
		"long": {
			"cut to the size of the field", `{"version":1,"state":"failed","message":"` + long + `","lastLines":["` + long +
				`"],"reason":"nope"}`,
			&infrav1.BootstrapProgress{
				State: "failed", Phase: "0/0 ", Reason: "BootstrapFailed", Message: long[:1021] + "...",
				LastLines: []string{long[:253] + "..."},
			},
		},
		"reason of a guest that does not fail": {
			"a guest that did not fail has no reason",
			`{"version":1,"state":"running","phase":{"index":1,"of":2,"name":"a"},"reason":"JoinFailed"}`,
			&infrav1.BootstrapProgress{State: "running", Phase: "1/2 a"},
		},
		"durations": {
			"the phases that there are, in their order, no more and none that is made up",
			`{"version":1,"state":"running","phase":{"index":3,"of":9,"name":"join"},"durations":{"network":-3,"made-up":9,"prepare":4}}`,
			&infrav1.BootstrapProgress{
				State: "running", Phase: "3/9 join",
				Durations: []infrav1.PhaseDuration{{Phase: "prepare", Seconds: new(int32(4))}, {Phase: "network", Seconds: new(int32(0))}},
			},
		},
		"start": {
			"its reason is a documented one, too", `{"version":1,"state":"succeeded","phase":{"index":9,"of":9,"name":"join"},
				"boot":{"state":"failed","reason":"x","message":"` + long + `"}}`,
			&infrav1.BootstrapProgress{
				State: "succeeded", Phase: "9/9 join", EveryBoot: &infrav1.BootResult{
					State: "failed", Reason: "EveryBootFailed",
					Message: long[:1021] + "...",
				},
			},
		},
		"start of an unknown state": {
			"it would be refused by the API server", `{"version":1,"state":"succeeded","phase":{"index":9,"of":9,"name":"join"},
				"boot":{"state":"rebooting"}}`,
			&infrav1.BootstrapProgress{State: "succeeded", Phase: "9/9 join"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, _, err := progressOf(c.report)
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
	report := expect.Got(json.Marshal(map[string]any{"version": 1, "state": "running", "durations": all}))(t)
	progress, _, _ := progressOf(string(report))
	var names []string
	for _, d := range progress.Durations {
		names = append(names, d.Phase)
	}
	if !slices.Equal(names, bootstrap.PhaseNames()) || len(names) > 16 {
		t.Errorf("durations of %v", names)
	}
}

func TestTakeOver(t *testing.T) {
	first, second := metav1.NewTime(begin), metav1.NewTime(begin.Add(1))
	told := func(report string) infrav1.BootstrapProgress {
		progress, _, _ := progressOf(report)
		return *progress
	}
	at := func(p infrav1.BootstrapProgress, now metav1.Time) *infrav1.BootstrapProgress {
		p.LastReportTime = now
		return &p
	}
	inBoot := told(succeeded)
	inBoot.EveryBoot = &infrav1.BootResult{State: "running"}
	cases := map[string]struct {
		reason string
		known  *infrav1.BootstrapProgress
		told   infrav1.BootstrapProgress
		want   *infrav1.BootstrapProgress
	}{
		"first":      {"it has its time", nil, told(running), at(told(running), second)},
		"same again": {"or each look would write", at(told(running), first), told(running), at(told(running), first)},
		"next":       {"it has its own time", at(told(running), first), told(succeeded), at(told(succeeded), second)},
		"in a start": {"its own phase and durations stay", at(told(succeeded), first), told(bootRunning), at(inBoot, second)},
		"after it":   {"the bootstrap is told again", at(inBoot, first), told(bootFailed), at(told(bootFailed), second)},
		"moved":      {"better this than nothing", nil, told(bootRunning), at(told(bootRunning), second)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status := &infrav1.WindowsMachineStatus{Bootstrap: c.known}
			takeOver(status, c.told, second)
			expect.Same(t, c.reason, c.want, status.Bootstrap)
		})
	}
}
