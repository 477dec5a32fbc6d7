package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

const (
	kubeadmPath = `C:\k\kubeadm.exe`
	kubeletPEM  = `C:\var\lib\kubelet\pki\kubelet-client-current.pem`
)

// settled is a machine of image-builder's on which the golden plan with all settings can run.
func settled(t *testing.T, golden string) *vector {
	t.Helper()
	text, err := os.ReadFile("../../../bootstrap/testdata/golden/" + golden + ".json")
	if err != nil {
		t.Fatal(err)
	}
	running := func() *windows.Service { return &windows.Service{State: windows.Running, ImagePath: `C:\a.exe`} }
	return &vector{Plan: text, World: world{
		Files:    map[string]string{`C:\k\csi-proxy.exe`: "a program"},
		Services: map[string]*windows.Service{"containerd": running(), "kubelet": running(), "VMTools": running(), "w32time": running()},
		Registry: map[string]map[string]any{windows.ServicesKey + `\kubelet`: {"ImagePath": `C:\a.exe`}, memoryKey: managedPageFile},
		Features: map[string]string{"Containers": "Installed", "Hyper-V": "Available"}, FeatureReboot: true,
		Pipes: []string{"containerd-containerd"},
		TLS:   map[string]any{"10.0.0.10:6443": true},
		Commands: []*command{
			{Argv: []string{kubeadmPath, "version"}, Out: "v1.36.3\n"},
			{Argv: []string{kubeadmPath, "join"}, Writes: map[string]string{kubeletPEM: "joined"}},
			{Argv: []string{`C:\Program Files\VMware\VMware Tools\rpctool.exe`}},
			domainJoin(),
			{Argv: []string{"certutil.exe"}},
			{Argv: []string{"powershell.exe"}},
			{Argv: []string{"cmd.exe"}},
			{Argv: []string{`C:\Program Files\containerd\ctr.exe`}},
		},
	}}
}

// domainJoin is the script's first run; the machine is a member after the restart, and it is not run again.
func domainJoin() *command {
	once := 1
	return &command{
		Argv: []string{"powershell.exe", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", `C:\run\capwin\domain-join.ps1`},
		Exit: 3010, Times: &once,
	}
}

// settle lives with a containerd that listens after every start of the machine.
func (s *stage) settle() {
	s.t.Helper()
	for s.start() {
		s.boot()
		s.machine.OpenPipe("containerd-containerd")
	}
}

func (s *stage) end() plan.Report {
	s.t.Helper()
	var report plan.Report
	s.read(Root+`\report.json`, &report)
	return report
}

func (s *stage) text(path string) string {
	s.t.Helper()
	text, err := s.machine.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// Every setting at once must be carried out, in an order in which each finds what it needs.
func TestEverySettingIsCarriedOut(t *testing.T) {
	t.Parallel()
	for _, golden := range []string{"everything", "everything-azure"} {
		t.Run(golden, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, settled(t, golden))
			s.settle()
			if report := s.end(); report.State != plan.StateSucceeded || len(report.Warnings) > 0 || report.Reboots != 2 {
				t.Fatalf("%s of %s/%s: %s %s, reboots %d, warnings %q", report.State, report.Phase.Name, report.Step, report.Reason,
					report.Message, report.Reboots, report.Warnings)
			}
			s.checkOrder("feature.install", `run ["powershell.exe"`, `run ["cmd.exe"`, `"pull"`, `"join"`, `run ["powershell.exe"`)
			s.checkSettings()
		})
	}
}

// checkOrder wants an effect with each of the words, in this order.
func (s *stage) checkOrder(words ...string) {
	s.t.Helper()
	at := 0
	for _, word := range words {
		found := slices.IndexFunc(s.effects[at:], func(effect string) bool { return strings.Contains(effect, word) })
		if found < 0 {
			s.t.Fatalf("no %s after effect %d of:\n%s", word, at, strings.Join(s.effects, "\n"))
		}
		at += found
	}
}

func (s *stage) checkSettings() {
	s.t.Helper()
	for path, want := range map[string]string{
		`C:\etc\app.conf`: "pool=blue", `C:\etc\app.key`: "correct-horse-battery",
		`C:\Program Files\containerd\conf.d\10-capwin.toml`:                   "runhcs-wcow-hypervisor",
		`C:\ProgramData\containerd\certs.d\docker.io\hosts.toml`:              "harbor.example.com:8443/v2/docker-hub",
		`C:\ProgramData\containerd\certs.d\harbor.example.com8443\hosts.toml`: "authorization = ['Basic ",
		`C:\ProgramData\containerd\certs.d\harbor.example.com8443\ca.crt`:     "BEGIN CERTIFICATE",
		`C:\Users\ops\.ssh\authorized_keys`:                                   "ssh-ed25519 ",
	} {
		if text := s.text(path); !strings.Contains(text, want) {
			s.t.Errorf("%s has no %q: %s", path, want, text)
		}
	}
	for _, path := range []string{`C:\run\capwin\scripts\pre-join-agent.ps1`, `C:\run\capwin\domain-join.json`} {
		if s.there(path) {
			s.t.Errorf("%s is still there", path)
		}
	}
	all := strings.Join(s.effects, "\n")
	for _, want := range []string{
		`run ["certutil.exe","-f","-addstore","Root","C:\\run\\capwin\\certificates\\company-2.crt"]`,
		`defender.path C:\data`, `defender.process app.exe`, `group.add S-1-5-32-544 ops`,
	} {
		if !strings.Contains(all, want) {
			s.t.Errorf("no effect %s in:\n%s", want, all)
		}
	}
	if report := fmt.Sprint(s.end()); strings.Contains(report, "correct-horse") || strings.Contains(report, "proxy-password") {
		s.t.Errorf("the report tells a secret: %s", report)
	}
}

// What goes wrong has the name that docs/conditions.md explains.
func TestSettingsFailByTheirNames(t *testing.T) {
	t.Parallel()
	for reason, change := range map[string]func(w *world){
		"ImageVersionMismatch": func(w *world) { w.Commands[0].Out = "v1.35.1\n" },
		"TrustFailed":          func(w *world) { w.Commands[4].Exit = 5 },
		"DomainJoinFailed":     func(w *world) { w.Commands[3].Exit, w.Commands[3].Times = 1, nil },
		"FeatureFailed":        func(w *world) { w.FeatureFails = true },
		"PreJoinScriptFailed":  func(w *world) { w.Commands[5].Exit = 1 },
		"CsiProxyFailed":       func(w *world) { delete(w.Files, `C:\k\csi-proxy.exe`) },
		"TimeFailed":           func(w *world) { w.Commands = append(w.Commands, &command{Argv: []string{"tzutil.exe"}, Exit: 1}) },
		"PostJoinScriptFailed": func(w *world) {
			once := 1
			w.Commands = slices.Insert(w.Commands, 5, &command{Argv: []string{"powershell.exe"}, Times: &once})
			w.Commands[6].Exit = 1
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			v := settled(t, "everything")
			change(&v.World)
			s := newStage(t, v)
			s.settle()
			if report := s.end(); report.State != plan.StateFailed || report.Reason != reason {
				t.Errorf("%s %s (%s)", report.State, report.Reason, report.Message)
			}
			if !s.there(Root + `\logs.zip`) {
				t.Error("no logs were collected")
			}
		})
	}
}

// What is only good to have must not keep a node away.
func TestSettingsThatOnlyWarn(t *testing.T) {
	t.Parallel()
	v := settled(t, "everything")
	v.World.Commands[7].Exit = 1 // ctr
	delete(v.World.Services, "VMTools")
	s := newStage(t, v)
	s.settle()
	if report := s.end(); report.State != plan.StateSucceeded || len(report.Warnings) != 3 {
		t.Errorf("%s %s, warnings %q", report.State, report.Reason, report.Warnings)
	}
}
