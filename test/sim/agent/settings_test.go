package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const (
	kubeadmPath = `C:\k\kubeadm.exe`
	kubeletPEM  = `C:\var\lib\kubelet\pki\kubelet-client-current.pem`
)

// largeDisk is as free as a node's disk should be.
const largeDisk = "110000"

// settled is a machine of image-builder's on which the golden plan with all settings can run.
func settled(t *testing.T, golden string) *vector {
	t.Helper()
	running := func() *windows.Service { return &windows.Service{State: windows.Running, ImagePath: `C:\a.exe`} }
	return &vector{Plan: mustRead(t, golden), World: world{
		Files: map[string]string{`C:\k\csi-proxy.exe`: "a program"},
		Facts: map[string]string{"diskFreeMiB": largeDisk},
		Services: map[string]*windows.Service{
			"containerd": running(), "kubelet": running(), "VMTools": running(), "w32time": running(),
		},
		Registry: map[string]map[string]any{
			windows.ServicesKey + `\kubelet`: {"ImagePath": `C:\a.exe`}, memoryKey: managedPageFile, pluginKey: {"": `C:\plugin.dll`},
			windows.VersionKey: {"InstallationType": "Server"},
		},
		Features: map[string]string{"Containers": "Installed", "Hyper-V": "Available"}, FeatureReboot: true,
		Adapters:  []worldAdapter{{Index: 9, MAC: "00-50-56-00-00-01", Name: "Ethernet0"}},
		Addresses: []worldAddress{{Index: 9, Address: "10.0.0.5/24", Origin: "Dhcp"}},
		Routes:    []worldRoute{{Index: 9, To: "0.0.0.0/0", Via: "10.0.0.1"}},
		Pipes:     []string{"containerd-containerd"},
		TLS:       map[string]any{"10.0.0.10:6443": true},
		Commands: append(imagePrograms(), []*command{
			{Argv: []string{kubeadmPath, "join"}, Writes: map[string]string{kubeletPEM: "joined"}},
			registered(),
			{Argv: []string{`C:\Program Files\VMware\VMware Tools\rpctool.exe`}},
			{Argv: []string{`C:\Program Files\VMware\VMware Tools\VMwareToolboxCmd.exe`}},
			domainJoin(),
			{Argv: []string{"certutil.exe"}},
			{Argv: []string{step.PowerShell}},
			{Argv: []string{"cmd.exe"}},
			{Argv: []string{ctrPath}},
		}...),
	}}
}

const (
	containerdPath = `C:\Program Files\containerd\containerd.exe`
	ctrPath        = `C:\Program Files\containerd\ctr.exe`
	// imagesHead is what ctr writes above the images it has.
	imagesHead = "REF\tTYPE\tDIGEST\tSIZE\tPLATFORMS\tLABELS\t\n"
)

// kubectlPath is the program by which a node asks for itself.
const kubectlPath = `C:\k\kubectl.exe`

// registered is what kubectl says of the Node that is there.
func registered() *command {
	return &command{
		Argv: strings.Fields(kubectlPath + ` --kubeconfig C:\etc\kubernetes\kubelet.conf get node blue-win-x7k2p` +
			` --output jsonpath=registered={.metadata.name}`),
		Out: "registered=blue-win-x7k2p",
	}
}

// pluginKey is where the gMSA plug-in of the golden plan is in COM, once it is installed.
const pluginKey = `HKEY_LOCAL_MACHINE\SOFTWARE\Classes\CLSID\{CCC2A336-D7F3-4818-A213-272B7924213E}\InprocServer32`

// imagePrograms are those of an image that say what they are: one with all that 1.36 needs.
func imagePrograms() []*command {
	return []*command{
		{Argv: []string{kubeadmPath, "version"}, Out: "v1.36.3\n"},
		{
			Argv: []string{"curl.exe", "--silent", "--head"},
			Out:  "Content-Length: 1\nAccept-ranges: bytes\nLast-Modified: Tue, 12 May 2026 01:02:03 GMT\n",
		},
		{Argv: []string{"sc.exe", "query", "vid"}, Out: "SERVICE_NAME: vid\n  TYPE : 1  KERNEL_DRIVER\n  STATE : 4  RUNNING\n"},
		{Argv: []string{`C:\k\kubelet.exe`, "--version"}, Out: "Kubernetes v1.36.3\n"},
		{Argv: []string{containerdPath, "--version"}, Out: "containerd github.com/containerd/containerd/v2 v2.3.2 0123456\n"},
		{
			Argv: []string{containerdPath, "config", "dump"},
			Out: "version = 4\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\n  sandbox = 'registry.example.com/pause:3.10.2'\n" +
				"[plugins.'io.containerd.cri.v1.images'.registry]\n  config_path = 'C:\\ProgramData\\containerd\\certs.d'\n" +
				"[plugins.'io.containerd.cri.v1.runtime'.cni]\n  bin_dirs = ['C:\\opt\\cni\\bin']\n" +
				"  conf_dir = 'C:\\etc\\cni\\net.d'\n[timeouts]\n  capwin = '1s'\n",
		},
		{
			Argv: []string{ctrPath, "--namespace", "k8s.io", "images", "list", "name==registry.example.com/pause:3.10.2"},
			Out:  imagesHead + "registry.example.com/pause:3.10.2\tapplication/vnd.oci.image.index.v1+json\tsha256:0123456789ab\n",
		},
	}
}

// programOf is that of the world for this command line.
func programOf(w *world, argv ...string) *command {
	return w.Commands[slices.IndexFunc(w.Commands, func(c *command) bool { return slices.Equal(c.Argv, argv) })]
}

// domainJoin is the script's first run; the machine is a member after the restart, and it is not run again.
func domainJoin() *command {
	const script = `-NoProfile -NonInteractive -ExecutionPolicy Bypass -File C:\run\capwin\domain-join.ps1`
	return &command{Argv: append([]string{step.PowerShell}, strings.Fields(script)...), Exit: 3010, Times: new(1)}
}

// settledOn is a stage that has lived, with a containerd that listens after every start of the machine.
func settledOn(t *testing.T, v *vector) *stage {
	t.Helper()
	s := newStage(t, v)
	for s.start() {
		expect.OK(s.t, s.Boot())
		s.Machine.OpenPipe("containerd-containerd")
	}
	return s
}

func (s *stage) end() plan.Report {
	s.t.Helper()
	var report plan.Report
	s.read(Root+`\report.json`, &report)
	return report
}

func (s *stage) text(path string) string {
	s.t.Helper()
	return string(expect.Got(s.Machine.ReadFile(path))(s.t))
}

// Every setting at once must be carried out, in an order in which each finds what it needs.
func TestEverySettingIsCarriedOut(t *testing.T) {
	t.Parallel()
	for _, golden := range []string{"everything", "everything-azure"} {
		t.Run(golden, func(t *testing.T) {
			t.Parallel()
			s := settledOn(t, settled(t, golden))
			if report := s.end(); report.State != plan.StateSucceeded || len(report.Warnings) > 0 || report.Reboots != 2 {
				t.Fatalf("%s of %s/%s: %s %s, reboots %d, warnings %q", report.State, report.Phase.Name, report.Step, report.Reason,
					report.Message, report.Reboots, report.Warnings)
			}
			const script = `powershell.exe","-NoProfile"`
			s.checkOrder("feature.install", script, `run ["cmd.exe"`, `"pull"`, `"join"`, script)
			s.checkSettings()
		})
	}
}

// checkOrder wants an effect with each of the words, in this order.
func (s *stage) checkOrder(words ...string) {
	s.t.Helper()
	at := 0
	for _, word := range words {
		found := slices.IndexFunc(s.Effects[at:], func(effect string) bool { return strings.Contains(effect, word) })
		if found < 0 {
			s.t.Fatalf("no %s after effect %d of:\n%s", word, at, strings.Join(s.Effects, "\n"))
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
		`C:\ProgramData\containerd\certs.d\harbor.example.com8443\hosts.toml`: "Authorization = ['Basic ",
		`C:\ProgramData\containerd\certs.d\harbor.example.com8443\ca.crt`:     "BEGIN CERTIFICATE",
		`C:\Users\ops\.ssh\authorized_keys`:                                   "ssh-ed25519 ",
		`C:\ProgramData\ssh\administrators_authorized_keys`:                   "ssh-ed25519 ",
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
	all := strings.Join(s.Effects, "\n")
	for _, want := range []string{
		`run ["certutil.exe","-f","-addstore","Root","C:\\run\\capwin\\certificates\\company-2.crt"]`,
		`restart/10000/restart/30000/restart/60000`,
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
		"ImageVersionMismatch": func(w *world) { programOf(w, kubeadmPath, "version").Out = "v1.35.1\n" },
		"ContainerdTooOld": func(w *world) {
			programOf(w, containerdPath, "--version").Out = "containerd github.com/containerd/containerd v1.7.24 0123456\n"
		},
		"ContainerdConfigIgnored": func(w *world) { programOf(w, containerdPath, "config", "dump").Out = "version = 4\n" },
		"PauseImageMissing": func(w *world) {
			programOf(w, ctrPath, "--namespace", "k8s.io", "images", "list", "name==registry.example.com/pause:3.10.2").Out = imagesHead
			programOf(w, ctrPath).Exit = 1
		},
		"TrustFailed": func(w *world) { programOf(w, "certutil.exe").Exit = 5 },
		"DomainJoinFailed": func(w *world) {
			join := programOf(w, domainJoin().Argv...)
			join.Exit, join.Times = 1, nil
		},
		"HypervisorNotRunning": func(w *world) { programOf(w, "sc.exe", "query", "vid").Out = "  STATE : 1  STOPPED\n" },
		"GmsaPluginFailed":     func(w *world) { delete(w.Registry, pluginKey) },
		"FeatureFailed":        func(w *world) { w.FeatureFails = true },
		"PreJoinScriptFailed":  func(w *world) { programOf(w, step.PowerShell).Exit = 1 },
		"CsiProxyFailed":       func(w *world) { delete(w.Files, `C:\k\csi-proxy.exe`) },
		"NodeNotRegistered": func(w *world) {
			const missing = `Error from server (NotFound): nodes "blue-win-x7k2p" not found`
			*programOf(w, registered().Argv...) = command{Argv: []string{kubectlPath}, Out: missing, Exit: 1}
		},
		"TimeFailed": func(w *world) { w.Commands = append(w.Commands, &command{Argv: []string{"tzutil.exe"}, Exit: 1}) },
		"PostJoinScriptFailed": func(w *world) {
			programOf(w, step.PowerShell).Exit = 1
			join := slices.Index(w.Commands, programOf(w, domainJoin().Argv...))
			before := &command{Argv: []string{step.PowerShell}, Times: new(2)} // the script before the join, and the gMSA plug-in
			w.Commands = slices.Insert(w.Commands, join+1, before)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			v := settled(t, "everything")
			change(&v.World)
			s := settledOn(t, v)
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
	programOf(&v.World, ctrPath).Exit = 1
	delete(v.World.Services, "VMTools")
	s := settledOn(t, v)
	if report := s.end(); report.State != plan.StateSucceeded || len(report.Warnings) != 3 {
		t.Errorf("%s %s, warnings %q", report.State, report.Reason, report.Warnings)
	}
}

// Where only the node knows its memory, it says that it is too small before anything is changed.
func TestTooLittleMemoryForPods(t *testing.T) {
	t.Parallel()
	for memory, want := range map[string]string{"4095": "MachineTooSmall", "6079": "MachineTooSmall", "6080": ""} {
		t.Run(memory, func(t *testing.T) {
			t.Parallel()
			v := settled(t, "everything-azure")
			v.World.Facts = map[string]string{"memoryMiB": memory}
			s := settledOn(t, v)
			report := s.end()
			if report.Reason != want || (want != "") != (report.Step == "memory-for-pods") {
				t.Errorf("%s in %s, want %q", report.Reason, report.Step, want)
			}
		})
	}
}
