package security

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/agent"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// mallory is a local user of a node who is no administrator.
const mallory = "S-1-5-21-1-2-3-1001"

// node is a simulated Windows on which a golden plan runs, with a user who acts before it and after each of its steps.
type node struct {
	t       *testing.T
	machine *windows.Machine
	user    *windows.Account
	// between is what the user does after every step.
	between func()
	// ran are the scripts that SYSTEM has run, as they were at that moment.
	ran []string
}

func newNode(t *testing.T) *node {
	t.Helper()
	machine := expect.Got(windows.New(t.TempDir()))(t)
	machine.Clock = windows.NewVirtualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	machine.Hardware = windows.Hardware{SMBIOS: "S", OSBuild: "20348", CPUs: 4, MemoryMiB: 8192, DiskFreeMiB: 60000}
	machine.PaperServices = true
	n := &node{t: t, machine: machine, user: machine.As(mallory), between: func() {}}
	machine.Intercept = n.program
	// The loader has made the agent's folder.
	expect.OK(t, machine.MakeDirectory(agent.Root))
	expect.OK(t, machine.Protect(agent.Root, windows.AdminOnly))
	for _, folder := range []string{`C:\Users\mallory`, `C:\Program Files`, `C:\ProgramData`} {
		expect.OK(t, machine.MakeDirectory(folder))
	}
	expect.OK(t, machine.Protect(`C:\Users\mallory`, "O:"+mallory+"D:AI"))
	return n
}

// program is the user between two steps, and what runs scripts.
func (n *node) program(call *windows.Call) windows.Program {
	return func(context.Context, *windows.Call) int {
		last := call.Argv[len(call.Argv)-1]
		if text, err := n.machine.ReadFile(last); err == nil {
			n.ran = append(n.ran, string(text))
		}
		n.between()
		return 0
	}
}

// run carries out those steps of a golden plan that write files, protect folders and run scripts; the user acts after each.
func (n *node) run(golden string) plan.Report {
	n.t.Helper()
	text := expect.Got(os.ReadFile("../../../bootstrap/testdata/golden/" + golden + ".json"))(n.t)
	p := expect.Got(plan.Decode(text))(n.t)
	var steps []plan.Step
	for _, phase := range p.Phases {
		for _, one := range phase.Steps {
			run, runs := one.(*plan.Run)
			switch one.(type) {
			case *plan.File, *plan.Directory, *plan.Remove, *plan.Run:
				if runs && step.ScriptOf(run) == "" {
					continue
				}
				act := &plan.Run{Common: plan.Common{Name: "mallory"}, Argv: plan.Texts("mallory.exe")}
				steps = append(steps, one, act)
			}
		}
	}
	p.Phases, p.EveryBoot, p.Report, p.Logs, p.Erase = []plan.Phase{{Name: "all", Steps: steps}}, nil, nil, nil, nil
	return n.carryOut(p)
}

func (n *node) carryOut(p *plan.Plan) plan.Report {
	n.t.Helper()
	expect.OK(n.t, n.machine.Put(agent.Root+`\plan.json`, expect.Got(p.Encode())(n.t)))
	expect.OK(n.t, agent.Run(context.Background(), n.machine))
	text := expect.Got(n.machine.ReadFile(agent.Root + `\report.json`))(n.t)
	return *expect.Got(plan.DecodeReport(text))(n.t)
}

// denied fails the test unless Windows refuses what the user tries.
func (n *node) denied(what string, err error) {
	n.t.Helper()
	if !errors.Is(err, windows.ErrDenied) {
		n.t.Errorf("the user could %s: %v", what, err)
	}
}

// succeeded fails the test unless the bootstrap went on in spite of the user.
func (n *node) succeeded(report plan.Report) {
	n.t.Helper()
	if report.State != plan.StateSucceeded {
		n.t.Errorf("the bootstrap ended %s: %s %s", report.State, report.Reason, report.Message)
	}
}

const evil = "give mallory everything"

// ranNothingOfTheirs checks that no script that SYSTEM ran was the user's.
func (n *node) ranNothingOfTheirs() {
	n.t.Helper()
	if len(n.ran) == 0 {
		n.t.Error("no script has run")
	}
	if slices.ContainsFunc(n.ran, func(one string) bool { return strings.Contains(one, evil) }) {
		n.t.Errorf("SYSTEM has run %q", evil)
	}
}

// meddle writes everywhere in our folders, in every way, as often as the user acts. Once a folder is closed, all is denied.
func (n *node) meddle(paths ...string) {
	for _, path := range paths {
		_ = n.user.Write(path, evil)
		_ = n.user.Replace(path, evil)
		if cut := strings.LastIndexByte(path, '\\'); n.machine.DirectoryExists(path[:cut]) {
			_ = n.user.Remove(path[:cut])
			_ = n.user.MakeDirectory(path[:cut])
			_ = n.user.Write(path, evil)
		}
	}
}

// own is a folder with a file in it that the user has made before us.
func (n *node) own(folder string, files ...string) {
	n.t.Helper()
	at := "C:"
	for _, part := range strings.Split(folder, `\`)[1:] {
		if at += `\` + part; !n.machine.DirectoryExists(at) {
			expect.OK(n.t, n.user.MakeDirectory(at))
		}
	}
	for _, file := range files {
		expect.OK(n.t, n.user.Write(folder+`\`+file, evil))
	}
}

// TestNode plays a user of a node against its bootstrap, which runs as SYSTEM.
func TestNode(t *testing.T) {
	t.Parallel()
	attempt(t,
		attack{"node user", "makes our folder before us and swaps the scripts that SYSTEM runs", func(t *testing.T) string {
			n := newNode(t)
			n.own(`C:\run\capwin\scripts`, "pre-join-agent.ps1")
			n.between = func() { n.meddle(scriptsOf(t)...) }
			n.succeeded(n.run("scripts"))
			n.ranNothingOfTheirs()
			n.denied("write a script", n.user.Write(`C:\run\capwin\scripts\more.ps1`, evil))
			return "the folder is made anew, and is closed before a script is in it"
		}},
		attack{"node user", "swaps a script after it is written and before it runs", func(t *testing.T) string {
			n := newNode(t)
			n.between = func() { n.meddle(scriptsOf(t)...) }
			n.succeeded(n.run("scripts"))
			n.ranNothingOfTheirs()
			return "access is denied, at every step"
		}},
		attack{"node user", "owns the folder above ours, and moves ours away", func(t *testing.T) string {
			n := newNode(t)
			n.own(`C:\run`)
			n.between = func() {
				if n.machine.DirectoryExists(`C:\run\capwin`) && n.user.Remove(`C:\run\capwin`) == nil && len(n.ran) > 3 {
					n.own(`C:\run\capwin\scripts`, "pre-join-agent.ps1")
				}
			}
			n.succeeded(n.run("scripts"))
			n.ranNothingOfTheirs()
			n.denied("remove our folder", n.user.Remove(`C:\run\capwin`))
			n.denied("make a folder beside ours", n.user.MakeDirectory(`C:\run\mine`))
			return "the parent folder belongs to administrators first"
		}},
		attack{"node user", "makes our folder a junction to a folder of their own", func(t *testing.T) string {
			n := newNode(t)
			n.own(`C:\theirs\scripts`, "pre-join-agent.ps1")
			n.own(`C:\run`)
			expect.OK(t, n.user.Link(`C:\run\capwin`, `C:\theirs`))
			n.between = func() { n.meddle(`C:\theirs\scripts\pre-join-agent.ps1`) }
			n.succeeded(n.run("scripts"))
			n.ranNothingOfTheirs()
			return "the link is removed, what it leads to is left alone"
		}},
		attack{"node user", "makes the folder above ours a junction", func(t *testing.T) string {
			n := newNode(t)
			n.own(`C:\theirs\capwin\scripts`)
			expect.OK(t, n.user.Link(`C:\run`, `C:\theirs`))
			report := n.run("scripts")
			expect.Same(t, "message", "a link is in the way: run; make it a folder", report.Message)
			if len(n.ran) > 0 {
				t.Errorf("SYSTEM ran %q", n.ran)
			}
			return "refused: " + report.Reason
		}},
		attack{"node user", "makes a secret's file before us, to stay its owner and read it", func(t *testing.T) string {
			n := newNode(t)
			n.own(`C:\etc\kubernetes`, "bootstrap-kubelet.conf")
			n.own(`C:\run\kubeadm`, "join-config.yaml", "join-config.yaml.capwin-new")
			read := 0
			n.between = func() {
				for _, name := range []string{"join-config.yaml", "join-config.yaml.capwin-new"} {
					if text, err := n.user.Read(`C:\run\kubeadm\` + name); err == nil && strings.Contains(string(text), "token") {
						read++
					}
				}
			}
			n.succeeded(n.run("vsphere"))
			expect.Same(t, "reads of the token", 0, read)
			_, err := n.user.Read(`C:\run\kubeadm\join-config.yaml`)
			n.denied("read the token", err)
			return "the file is made anew, under a name that they do not know"
		}},
		attack{"node user", "opens the lock of the agent before it starts", func(t *testing.T) string {
			n := newNode(t)
			_, err := n.user.Hold(agent.Root + `\agent.lock`)
			n.denied("take the lock", err)
			n.succeeded(n.run("scripts"))
			_, err = n.user.Hold(agent.Root + `\agent.lock`)
			n.denied("take the lock later", err)
			return "access is denied: the lock is a file of administrators"
		}},
		attack{"node user", "makes the folders first in which the kubelet looks for drivers", func(t *testing.T) string {
			n := newNode(t)
			sockets := []string{
				`C:\var\lib\kubelet\plugins_registry\evil.sock`, `C:\var\lib\kubelet\device-plugins\evil.sock`,
				`C:\var\lib\kubelet\plugins\evil\csi.sock`,
			}
			n.own(`C:\var\lib\kubelet\plugins_registry`, "evil.sock")
			n.own(`C:\var\lib\kubelet\plugins\evil`, "csi.sock")
			n.own(`C:\var\lib\kubelet\device-plugins`)
			n.between = func() { n.meddle(sockets...) }
			n.succeeded(n.run("vsphere"))
			for _, socket := range sockets {
				if n.machine.FileExists(socket) {
					t.Errorf("there is %s", socket)
				}
				n.denied("make "+socket, n.user.Write(socket, ""))
			}
			return "their folders are removed, and ours are closed"
		}},
		attack{"node user", "writes the kubelet's configuration before kubeadm does", func(t *testing.T) string {
			n := newNode(t)
			n.own(`C:\var\lib\kubelet`, "config.yaml", "kubeadm-flags.env")
			n.between = func() { n.meddle(`C:\var\lib\kubelet\config.yaml`) }
			n.succeeded(n.run("vsphere"))
			if n.machine.FileExists(`C:\var\lib\kubelet\config.yaml`) {
				t.Error("the user's configuration is still there")
			}
			n.denied("write it", n.user.Write(`C:\var\lib\kubelet\config.yaml`, evil))
			return "it is removed, and the folder is guarded"
		}},
	)
	attempt(t, imageAttacks()...)
}

// planOf is a plan of some steps.
func planOf(steps ...plan.Step) *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, Machine: plan.Machine{Namespace: "a", Name: "m", UID: "u", Node: "n", Cluster: "c"},
		Phases: []plan.Phase{{Name: "main", Steps: steps}},
	}
}

// scriptsOf are the scripts of the golden plan.
func scriptsOf(t *testing.T) []string {
	t.Helper()
	text := expect.Got(os.ReadFile("../../../bootstrap/testdata/golden/scripts.json"))(t)
	p := expect.Got(plan.Decode(text))(t)
	var paths []string
	for _, phase := range p.Phases {
		for _, one := range phase.Steps {
			if run, ok := one.(*plan.Run); ok && step.ScriptOf(run) != "" {
				paths = append(paths, step.ScriptOf(run))
			}
		}
	}
	return paths
}
