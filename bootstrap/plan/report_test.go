package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// sentReport is one as agent.ps1 writes it.
const sentReport = `{"version":1,"uid":"u","state":"Failed","reason":"TokenRejected","message":"m",` +
	`"phase":{"index":5,"of":6,"name":"join"},"step":"kubeadm-join","exitCode":-1,"reboots":1,"elapsed":120,` +
	`"lastLines":["a","b"],"warnings":["w"],"durations":{"prepare":2},"facts":{"os":"20348.2700","memoryMiB":"8191","cpus":"4"},` +
	`"at":"20260102T030405Z","boot":{"state":"Succeeded","reason":"","message":"","at":"20260103T030405Z"}}`

func TestDecodeReport(t *testing.T) {
	got := expect.Got(plan.DecodeReport([]byte(sentReport)))(t)
	want := &plan.Report{
		Version: 1, UID: "u", State: plan.StateFailed, Reason: "TokenRejected", Message: "m",
		Phase: plan.ReportPhase{Index: 5, Of: 6, Name: "join"}, Step: "kubeadm-join", ExitCode: -1, Reboots: 1, Elapsed: 120,
		LastLines: []string{"a", "b"}, Warnings: []string{"w"}, Durations: map[string]int{"prepare": 2},
		Facts: plan.ReportFacts{OS: "20348.2700", MemoryMiB: "8191", CPUs: "4"}, At: "20260102T030405Z",
		Boot: &plan.ReportBoot{State: plan.StateSucceeded, At: "20260103T030405Z"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The one line for Azure's host agent is read as a report of a failure.
func TestDecodeMarkedReport(t *testing.T) {
	got := expect.Got(plan.DecodeReport([]byte("capwin1|u|join|kubeadm-join|TokenRejected|-1|a | b")))(t)
	want := &plan.Report{
		Version: 1, UID: "u", State: plan.StateFailed, Reason: "TokenRejected", Message: "a | b",
		Phase: plan.ReportPhase{Name: "join"}, Step: "kubeadm-join", ExitCode: -1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A guest can write anything.
func TestDecodeReportRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "read report"},
		{"no JSON", "hello", "read report"},
		{"other type", `{"version":"1"}`, "read report"},
		{"no version", `{}`, "report version 0 is not 1"},
		{"newer version", strings.Replace(sentReport, `"version":1`, `"version":2`, 1), "report version 2 is not 1"},
		{"short behind its mark", "capwin1|u|join|kubeadm|TokenRejected|1", "5 parts behind its mark, want 6"},
		{"odd exit code", "capwin1|u|join|kubeadm|TokenRejected|x|m", "read exit code"},
		{"another mark", "capwin2|u|join|kubeadm|TokenRejected|1|m", "read report"},
		{"odd state", strings.Replace(sentReport, `"Failed"`, `"happy"`, 1), `report state "happy" is not known`},
		{"state in small letters", strings.Replace(sentReport, `"Failed"`, `"failed"`, 1), `report state "failed" is not known`},
		{"too long", strings.Replace(sentReport, `"m"`, `"`+strings.Repeat("m", plan.MaxReportBytes)+`"`, 1), "more than 16384"},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, err := plan.DecodeReport([]byte(test.text))
			if err == nil || report != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v, want %q", report, err, test.want)
			}
		})
	}
}

func TestDecodeReportTakes(t *testing.T) {
	for _, test := range []struct{ name, reason, text string }{
		{"newer field", "the node may be newer than we are", strings.Replace(sentReport, `"uid"`, `"mood":"good","uid"`, 1)},
		{"little", "a report may be cut to what fits", `{"version":1,"state":"Running"}`},
		{"nulls", "PowerShell writes them", `{"version":1,"state":"Running","lastLines":null,"durations":null,"boot":null}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := plan.DecodeReport([]byte(test.text)); err != nil {
				t.Errorf("%v, though %s", err, test.reason)
			}
		})
	}
}
