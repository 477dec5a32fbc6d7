package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

func TestMain(m *testing.M) { wait.Main(m, 8) }

// stage is a vCenter, and a run against it.
type stage struct {
	*vcenter.Owner
	options
	said strings.Builder
}

func newStage(t *testing.T, guards ...vcenter.Guard) *stage {
	t.Helper()
	v := vcenter.New(t)
	s := &stage{Owner: v.Owner(t)}
	door := v.Open(guards...)
	t.Cleanup(door.Close)
	data := door.Credentials()
	s.options = options{
		out: &s.said, dir: t.TempDir(), yes: true,
		times: times{
			poll: 20 * time.Millisecond, settle: 3 * time.Second, make: time.Minute, guest: 100 * time.Millisecond, clean: time.Minute,
		},
		config: config{
			Server: string(data["server"]), Thumbprint: string(data["thumbprint"]),
			user: user{Username: vcenter.Username, password: func() string { return vcenter.Password }},
			VSphere: infrav1.VSphereVM{
				Datacenter: vcenter.Datacenter, Image: infrav1.VSphereImage{Template: vcenter.Template}, Folder: vcenter.Folder,
				ResourcePool: vcenter.ResourcePool, CPUs: 4, MemoryMiB: 8192,
			},
		},
		ask: func(context.Context, string) bool { t.Error("asked in spite of -yes"); return false },
	}
	return s
}

// verdicts are how the checks ended, by their names.
func verdicts(r report) map[string]verdict {
	all := map[string]verdict{}
	for _, one := range r.Results {
		all[one.Check] = one.Verdict
	}
	return all
}

// noneLeft says that the vCenter has the VMs that it had.
func (s *stage) noneLeft(t *testing.T, what string) {
	t.Helper()
	ours := slices.DeleteFunc(s.VMs(), func(name string) bool { return !strings.HasPrefix(name, "cw-") })
	if len(ours) > 0 {
		t.Errorf("%s: left are %v", what, ours)
	}
}

// What the simulator plays ends as it should, the rest says why not, and nothing is left.
func TestWholeRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.config.Limited = &user{Username: vcenter.Another, password: func() string { return vcenter.Password }}
	before := s.VMs()
	told := expect.Got(run(t.Context(), s.options))(t)
	t.Log(s.said.String())
	want := map[string]verdict{}
	for _, c := range checks {
		want[c.name] = notChecked // without Windows, DRS, a restart and a restore
	}
	for _, name := range []string{
		"limited-role", "clone-identity", "adapters-connected", "keyed-pushes", "task-leaves", "vm-leaves",
	} {
		want[name] = holds
	}
	expect.Same(t, "verdicts", want, verdicts(told))
	expect.Same(t, "VMs", before, s.VMs())
	for _, one := range told.Results {
		if one.Reason == "" {
			t.Errorf("%s says nothing", one.Check)
		}
	}
}

// What a report must not have is not in it, nor in what the program prints for others to see over one's shoulder.
func TestNoSecretInTheReport(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Deny("CloneVM_Task", "VirtualMachine.Provisioning.DeployTemplate")
	told := expect.Got(run(t.Context(), s.options))(t)
	files := expect.Got(filepath.Glob(filepath.Join(s.dir, "*")))(t)
	expect.Same(t, "files", 2, len(files))
	var all strings.Builder
	for _, name := range files {
		all.Write(expect.Got(os.ReadFile(name))(t))
	}
	for _, secret := range []string{
		vcenter.Password, vcenter.Username, "capwin@", s.config.Server, host(s.config.Server), s.config.Thumbprint, vcenter.Template,
		vcenter.Folder + "\"", vcenter.ResourcePool,
	} {
		if strings.Contains(all.String(), secret) {
			t.Errorf("the report has %q", secret)
		}
	}
	if strings.Contains(s.said.String(), vcenter.Password) {
		t.Error("the password is printed")
	}
	if !strings.Contains(all.String(), "DeployTemplate") {
		t.Error("the report does not say which privilege is missing")
	}
	var back report
	expect.OK(t, json.Unmarshal(expect.Got(os.ReadFile(files[0]))(t), &back))
	expect.Same(t, "JSON", verdicts(told), verdicts(back))
	s.hideServer = true
	expect.Same(t, "server", "", expect.Got(run(t.Context(), s.options))(t).Server)
}

// A check that fails or falls over does not keep what was made.
func TestRemovedAfterAFailure(t *testing.T) {
	s := newStage(t)
	all := checks
	defer func() { checks = all }()
	checks = []check{cloneIdentity, {name: "falls over", run: func(context.Context, *runner) outcome { panic("oh") }}, {
		name: "fails", run: func(context.Context, *runner) outcome { return decide(nil, "", "it is wrong") }, means: "trouble",
	}}
	told := expect.Got(run(t.Context(), s.options))(t)
	want := map[string]verdict{"clone-identity": holds, "falls over": notChecked, "fails": doesNot}
	expect.Same(t, "verdicts", want, verdicts(told))
	expect.Same(t, "what it means", "trouble", told.Results[2].Means)
	s.noneLeft(t, "after a failure")
}

// An interrupt, whenever it comes, ends the checks and removes what was made; the report is written.
func TestRemovedAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"CloneVM_Task", "ReconfigVM_Task", "ModifyListView", "Destroy_Task"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			var armed atomic.Bool
			armed.Store(true)
			s := newStage(t, func(called string, next http.Handler, w http.ResponseWriter, r *http.Request) {
				if called == method && armed.Swap(false) {
					interrupt()
				}
				next.ServeHTTP(w, r)
			})
			told := expect.Got(run(ctx, s.options))(t)
			expect.Same(t, "interrupted", true, told.Interrupted || method == "Destroy_Task")
			expect.Same(t, "met", false, armed.Load())
			expect.Same(t, "results", len(checks), len(told.Results))
			s.noneLeft(t, "after an interrupt")
		})
	}
}

// A run of many minutes goes on when its session is lost and the product waits for a new list of VMs.
func TestMayPass(t *testing.T) {
	for kind, want := range map[cloud.Kind]bool{
		cloud.Transient: true, cloud.Throttled: true, cloud.Later: true, cloud.Denied: false, cloud.Invalid: false,
	} {
		expect.Same(t, string(kind), want, mayPass(fmt.Errorf("look: %w", &cloud.Error{Kind: kind})))
	}
}

// A VM that a killed run left is offered for removal; those of others stay.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	killed := &runner{options: s.options, id: "000000"}
	expect.OK(t, killed.connect(t.Context()))
	m := expect.Got(killed.newMachine(forAll, killed.account, nil))(t)
	expect.OK(t, m.make(t.Context(), s.times))
	killed.leave(t.Context())
	before := s.VMs()

	s.yes, s.names = false, []string{"instance-id"}
	var asked []string
	s.ask = func(_ context.Context, question string) bool {
		asked = append(asked, question)
		return len(asked) == 1
	}
	expect.Got(run(t.Context(), s.options))(t)
	expect.Same(t, "VMs after a no", before, s.VMs())
	expect.Same(t, "questions", 2, len(asked))
	s.yes = true
	expect.Got(run(t.Context(), s.options))(t)
	s.noneLeft(t, "after a yes")
	expect.Same(t, "others' VMs", len(before)-1, len(s.VMs()))
}

// Without a yes nothing is made and nothing is written. All that changes a VM is a task.
func TestAsksFirst(t *testing.T) {
	t.Parallel()
	var changes atomic.Int32
	s := newStage(t, func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(method, "_Task") {
			changes.Add(1)
		}
		next.ServeHTTP(w, r)
	})
	s.yes, s.ask = false, func(context.Context, string) bool { return false }
	_, err := run(t.Context(), s.options)
	if err == nil || !isError(err, errNotAgreed) {
		t.Errorf("run ended with %v", err)
	}
	for _, said := range []string{"clone-identity", vcenter.Template, vcenter.Folder, s.config.Server, vcenter.Username} {
		if !strings.Contains(s.said.String(), said) {
			t.Errorf("%q is not said before the question", said)
		}
	}
	expect.Same(t, "files", 0, len(expect.Got(filepath.Glob(filepath.Join(s.dir, "*")))(t)))
	expect.Same(t, "changes after a no", 0, int(changes.Load()))
	s.yes = true
	expect.Got(run(t.Context(), s.options))(t)
	expect.Same(t, "changes are seen after a yes", true, changes.Load() > 0)
}

// A vCenter that restarts: sessions end, and the VM is found again.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.restart, s.names = true, []string{"find-after-restart"}
	s.times.settle = 200 * time.Millisecond
	s.ask = func(context.Context, string) bool { s.EndSessions(); return true }
	expect.Same(t, "verdicts", map[string]verdict{"find-after-restart": holds}, verdicts(expect.Got(run(t.Context(), s.options))(t)))
	s.noneLeft(t, "after a restart")
}

// The instance UUID of an earlier report is compared.
func TestEarlierReport(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.names = []string{"instance-id"}
	first := expect.Got(run(t.Context(), s.options))(t)
	compare := func(want verdict) {
		t.Helper()
		s.config.EarlierReport = filepath.Join(t.TempDir(), "earlier.json")
		expect.OK(t, os.WriteFile(s.config.EarlierReport, expect.Got(json.Marshal(first))(t), 0o600))
		expect.Same(t, "verdict", want, expect.Got(run(t.Context(), s.options))(t).Results[0].Verdict)
	}
	compare(holds)
	first.Instance = "another"
	compare(doesNot)
}

var namedFile = regexp.MustCompile(`\S+/\S+\.(?:go|ps1|md)\b`)

// Every check says what an operator and we need to know of it.
func TestChecksAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range checks {
		if slices.Contains([]string{c.name, c.effect, c.relies, c.decides, c.means}, "") || seen[c.name] || c.run == nil {
			t.Errorf("check %q lacks something, or its name is another's", c.name)
		}
		seen[c.name] = true
		for _, file := range namedFile.FindAllString(c.relies, -1) {
			if _, err := os.Stat(filepath.Join("..", "..", file)); err != nil {
				t.Errorf("%s relies on a file that is not there: %v", c.name, err)
			}
		}
	}
	expect.Same(t, "checks", 16, len(checks))
	describeAll(io.Discard, checks)
	if _, err := choose(checks, []string{"no-such"}); err == nil {
		t.Error("a check that does not exist is chosen")
	}
}

// docs/contributing/realvcenter.md has a row for each check, in its words.
func TestPage(t *testing.T) {
	page := string(expect.Got(os.ReadFile("../../docs/contributing/realvcenter.md"))(t))
	for _, c := range checks {
		row := "| `" + c.name + "` | " + c.effect + " | " + c.means + " |\n"
		if !strings.Contains(page, row) {
			t.Errorf("docs/contributing/realvcenter.md lacks the row\n%s", row)
		}
	}
}
