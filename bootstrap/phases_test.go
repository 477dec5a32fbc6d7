package bootstrap_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// names of the steps of a phase, in their order.
func names(p *plan.Plan, phase string) []string {
	var names []string
	for in, step := range every[plan.Step](p) {
		if in == phase {
			names = append(names, step.Base().Name)
		}
	}
	return names
}

// shown are values as people see them.
func shown(values []plan.Value) []string {
	var texts []string
	for _, value := range values {
		texts = append(texts, value.String())
	}
	return texts
}

// A bootstrap that succeeded has a Node, in every mode; what a mode asks of the Node is asked after it is there.
func TestNodeMustBeRegistered(t *testing.T) {
	for _, golden := range goldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		verify := names(p, "verify")
		asked := slices.Index(verify, "node-registered")
		if asked < 0 || slices.Index(verify[asked+1:], "node-registered") >= 0 {
			t.Fatalf("%s: the Node is not asked for once: %v", golden.name, verify)
		}
		for name, after := range map[string]bool{
			"kubelet-registered": false, "kubelet-running": false, "kubelet-arguments": false, "pod-cidr": true,
		} {
			if at := slices.Index(verify, name); at >= 0 && (at > asked) != after {
				t.Errorf("%s: %s is in the wrong place: %v", golden.name, name, verify)
			}
		}
		got := stepOf[*plan.Fact](t, p, "node-registered")
		if got.Optional || got.Reason != step.ReasonNodeNotRegistered || got.Attempts*5 < 120 {
			t.Errorf("%s: %+v", golden.name, got.Common)
		}
	}
}

// kubectl names the Node also where it says that there is none.
func TestNodeRegisteredMatches(t *testing.T) {
	match := regexp.MustCompile("(?i)" + stepOf[*plan.Fact](t, render(t, plainInput(t)).Plan(), "node-registered").Match)
	for output, want := range map[string]bool{
		"registered=blue-win-x7k2p":                                      true,
		`Error from server (NotFound): nodes "blue-win-x7k2p" not found`: false,
		`Error from server (Forbidden): nodes "blue-win-x7k2p" is forbidden: User "system:node:blue-win-x7k2p" cannot ` +
			`get resource "nodes"`: false,
		`Unable to connect to the server: Get "https://10.0.0.10:6443/api/v1/nodes/blue-win-x7k2p?timeout=32s": dial ` +
			`tcp`: false,
		"registered=": false, "": false,
	} {
		if got := match.MatchString(output); got != want {
			t.Errorf("%q: %t, want %t", output, got, want)
		}
	}
}

// What SYSTEM runs or obeys must not be for users to write.
func TestFoldersThatAreClosed(t *testing.T) {
	for _, golden := range goldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		for _, path := range []string{`C:\k`, `C:\opt\cni\bin`, `C:\etc\cni\net.d`, `C:\etc\kubernetes`, `C:\run\kubeadm`} {
			if !closes(p, path) {
				t.Errorf("%s: %s is left open", golden.name, path)
			}
		}
	}
}

func closes(p *plan.Plan, path string) bool {
	for phase, folder := range every[*plan.Directory](p) {
		if phase == "prepare" && folder.Path.String() == path {
			return folder.Access == plan.AccessAdmin && !folder.Optional
		}
	}
	return false
}

// Windows stops its time service at the start of a machine that is in no domain.
func TestTimeServiceOutlivesAReboot(t *testing.T) {
	p := render(t, plainInput(t, withTime)).Plan()
	for name, want := range map[string]string{
		"time-zone":             "tzutil.exe /s W. Europe Standard Time",
		"time-servers":          "w32tm.exe /config /manualpeerlist:time.example.com,0x8 10.0.0.2,0x8 /syncfromflags:manual /update",
		"time-asked":            "w32tm.exe /resync /nowait",
		"time-service":          "sc.exe config w32time start= auto",
		"time-service-triggers": "sc.exe triggerinfo w32time start/networkon stop/networkoff",
	} {
		run := stepOf[*plan.Run](t, p, name)
		if got := strings.Join(shown(run.Argv), " "); got != want || run.Reason != step.ReasonTimeFailed {
			t.Errorf("%s: %s (%s), want %s", name, got, run.Reason, want)
		}
	}
	if got := names(p, "windows"); slices.Index(got, "time-servers") > slices.Index(got, "time-service") {
		t.Errorf("the service is looked at before it is set: %v", got)
	}
	zone := render(t, plainInput(t, ofWindows(`timeZone: UTC`))).Plan()
	if slices.Contains(names(zone, "windows"), "time-service") {
		t.Error("a zone alone changes the time service")
	}
}

func withPrepull(images int, deadline int32) change {
	return func(in *bootstrap.Input) {
		in.Config.Spec.BootstrapDeadlineSeconds = deadline
		in.Config.Spec.Containerd.PrepullImages = slices.Repeat([]string{"a.example.com/b:1"}, images)
	}
}

// The deadline is final for optional steps too: pulling must leave time to join.
func TestPrepullLeavesTimeToJoin(t *testing.T) {
	for _, test := range []struct {
		images   int
		deadline int32
		each     int
		reason   string
	}{
		{1, 0, 450, "half of the default"},
		{1, 7200, 600, "more helps no image"},
		{2, 0, 225, "they share"},
		{15, 0, 30, "the most that fit"},
		{16, 0, 0, "56 s each are too few"},
		{2, 300, 37, "a short deadline"},
		{3, 300, 0, "too short a deadline"},
		{32, 7200, 56, "the most that the API takes"},
	} {
		userData, err := bootstrap.Render(plainInput(t, withPrepull(test.images, test.deadline)))
		if test.each == 0 {
			checkRefusal(t, err, "")
			expect.Says(t, test.reason, err, "list fewer images, or raise spec.bootstrapDeadlineSeconds")
			continue
		}
		expect.OK(t, err)
		got := stepOf[*plan.Run](t, userData.Plan(), "pull-1")
		if got.TimeoutSeconds != test.each || got.Attempts != 2 || !got.Optional {
			t.Errorf("%d images in %d s: %+v, want %d s: %s", test.images, test.deadline, got.Common, test.each, test.reason)
		}
	}
}
