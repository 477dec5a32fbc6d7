package lab_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

const (
	settingsPool = "settings"
	pluginClass  = "CCC2A336-D7F3-4818-A213-272B7924213E"
	proxyAddress = "http://proxy.example.com:3128"
)

// settingsPool asks for all of Windows that can be asked for at once: three of the settings take a reboot.
func (j *joins) settingsPool() lab.Pool {
	j.worlds[settingsPool] = func(g *guest.Simulated) {
		g.Domain = guest.Domain{Name: "corp.example.com", Username: "joiner", Password: "not-for-people"}
		g.Faults.Features.NeedsReboot = true
		g.Image = func(s *windows.State) {
			s.Features["Web-Server"] = "Available"
			s.Disks, s.Volumes = []windows.Disk{{Partitions: 1}, {}}, map[string]string{"D": windows.CDROM}
			s.SetValue(`HKEY_LOCAL_MACHINE\SOFTWARE\Classes\CLSID\{`+pluginClass+`}\InprocServer32`, "", windows.Text(`C:\plugin.dll`))
		}
		g.Programs = map[string]windows.Program{`C:\k\csi-proxy.exe`: func(ctx context.Context, call *windows.Call) int {
			call.Running()
			<-ctx.Done()
			return 0
		}}
	}
	script := func(name, text string) []bootstrapv1.CustomScript {
		content := "@echo off\r\nrem a user's own\r\necho " + text + ">C:\\app\\" + name + ".txt\r\n"
		return []bootstrapv1.CustomScript{{Name: name, Type: bootstrapv1.ScriptCmd, Content: content}}
	}
	return lab.Pool{Name: settingsPool, Replicas: 1, Config: &bootstrapv1.WindowsBootstrapConfigSpec{
		Containerd: bootstrapv1.Containerd{
			PauseImage: "registry.k8s.io/pause:3.10.2", PrepullImages: []string{j.registry() + "/app:1"},
			HyperVIsolation: bootstrapv1.HyperVIsolationEnabled,
			Registries: []bootstrapv1.Registry{
				{Host: "docker.io", Mirrors: []bootstrapv1.RegistryMirror{{URL: "https://mirror.example.com"}}},
			},
		},
		Windows: bootstrapv1.Windows{
			Proxy:     bootstrapv1.Proxy{HTTPS: proxyAddress},
			PageFile:  bootstrapv1.PageFile{Policy: bootstrapv1.PageFileFixed, SizeMiB: 4096},
			DataDrive: bootstrapv1.DataDrive{Letter: "E", Format: bootstrapv1.DataDriveIfEmpty},
			TimeZone:  "W. Europe Standard Time", NTPServers: []string{"time.example.com"},
			TrustedCertificates: []bootstrapv1.TrustedCertificate{{Name: "corp", Content: string(j.lab.Workload.CA)}},
			Users: []bootstrapv1.LocalUser{
				{Name: "ops", Role: bootstrapv1.UserRoleAdministrator, SSHAuthorizedKeys: []string{publicKey}},
			},
			Features:   []string{"Web-Server"},
			CSIProxy:   bootstrapv1.CSIProxy{Path: `C:\k\csi-proxy.exe`},
			GMSAPlugin: bootstrapv1.GMSAPlugin{ClassID: pluginClass},
			Domain: bootstrapv1.Domain{
				Name: "corp.example.com", CredentialsRef: bootstrapv1.SecretReference{Name: domainSecret},
			},
		},
		Custom: bootstrapv1.Custom{
			Files:   []bootstrapv1.CustomFile{{Path: `C:\app\settings.txt`, Content: "new"}},
			PreJoin: script("before", "not yet"), PostJoin: script("after", "joined"),
		},
	}}
}

// registry has one image and counts who asks for it.
func (j *joins) registry() string {
	j.pulls = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/app/manifests/1" {
			http.NotFound(w, r)
			return
		}
		j.pulls.Add(1)
	}))
	j.Cleanup(server.Close)
	return "localhost:" + server.URL[strings.LastIndex(server.URL, ":")+1:]
}

// assertSettings waits for the node and looks at its Windows.
func (j *joins) assertSettings(ctx context.Context) {
	computer := ""
	j.until("the end of the bootstrap", func() (any, bool) {
		m := j.machine(ctx, settingsPool)
		if m == nil || m.Status.Phase != infrav1.PhaseRunning {
			return m, false
		}
		computer = m.Status.ComputerName
		report, err := j.report(computer)
		return []any{report, err}, err == nil && report.State == plan.StateSucceeded
	}, func() { j.showGuest(computer) })
	report, err := j.report(computer)
	j.must(err)
	if report.Reboots != 3 || len(report.Warnings) > 0 || j.pulls.Load() != 1 {
		j.Errorf("%d reboots for page file, feature and domain, %d pulls, warnings %q", report.Reboots, j.pulls.Load(), report.Warnings)
	}
	state, err := j.state(computer)
	j.must(err)
	expect.Same(j, "Windows is another one", settingsWanted, j.settingsHave(computer, state))
}

// settingsWanted is sorted.
var settingsWanted = []string{
	"containerd has HTTPS_PROXY=" + proxyAddress,
	"csiproxy Running",
	"disks [{1} {2}] E: NTFS",
	"domain corp.example.com",
	"file Program Files/containerd/conf.d/10-capwin.toml",
	"file ProgramData/containerd/certs.d/docker.io/hosts.toml",
	"file ProgramData/ssh/administrators_authorized_keys",
	"file Users/ops/.ssh/authorized_keys",
	"file app/after.txt: joined",
	"file app/before.txt: not yet",
	"file app/settings.txt: new",
	"gmsa plug-ins 1",
	"gone run/capwin/domain-join.json",
	"gone run/capwin/scripts/post-join-after.cmd",
	"gone run/capwin/scripts/pre-join-before.cmd",
	"kubelet has HTTPS_PROXY=" + proxyAddress,
	"machine has HTTPS_PROXY=" + proxyAddress,
	"ops in S-1-5-32-544",
	`page file E:\pagefile.sys 4096 4096`,
	"time of time.example.com,0x8 in W. Europe Standard Time",
	"trusts 1 more",
	"web server Installed",
}

func (j *joins) settingsHave(computer string, state *windows.State) []string {
	key := func(key string) windows.RegistryKey { return state.Registry[key] }
	lines := []string{
		"csiproxy " + state.Services["csiproxy"].State,
		fmt.Sprintf("disks %v E: %s", state.Disks, state.Volumes["E"]),
		"domain " + state.Domain,
		"machine has HTTPS_PROXY=" + key(windows.ControlKey + `\Session Manager\Environment`)["HTTPS_PROXY"].Text,
		"ops in " + strings.Join(state.Users["ops"].Groups, ","),
		"page file " + key(windows.ControlKey + `\Session Manager\Memory Management`)["PagingFiles"].String(),
		"time of " + key(windows.ServicesKey + `\W32Time\Parameters`)["NtpServer"].Text + " in " + state.TimeZone,
		"web server " + state.Features["Web-Server"],
	}
	trusted, plugins := 0, 0
	for name := range state.Registry {
		if strings.Contains(name, `CCG\COMClasses\{`+pluginClass) {
			plugins++
		}
		if strings.Contains(name, `SystemCertificates\ROOT\Certificates\`) {
			trusted++
		}
	}
	lines = append(lines, fmt.Sprintf("trusts %d more", trusted), fmt.Sprintf("gmsa plug-ins %d", plugins))
	for _, service := range []string{"containerd", "kubelet"} {
		for _, line := range key(windows.ServicesKey + `\` + service)["Environment"].List {
			if strings.HasPrefix(line, "HTTPS_PROXY=") {
				lines = append(lines, service+" has "+line)
			}
		}
	}
	lines = append(lines, j.settingsFiles(computer)...)
	slices.Sort(lines)
	return lines
}

// settingsFiles: what had to be written, and what must not stay.
func (j *joins) settingsFiles(computer string) []string {
	var lines []string
	for _, line := range settingsWanted {
		kind, name, _ := strings.Cut(line, " ")
		path, _, small := strings.Cut(name, ": ")
		text, err := os.ReadFile(filepath.Join(j.lab.GuestsDir(), computer, "C", path))
		switch {
		case kind == "gone" && err != nil, kind == "file" && err == nil && !small:
			lines = append(lines, line)
		case kind == "file" && err == nil:
			lines = append(lines, "file "+path+": "+strings.TrimSpace(string(text)))
		}
	}
	return lines
}
