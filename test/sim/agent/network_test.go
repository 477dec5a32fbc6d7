package agent

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

var update = flag.Bool("update", false, "write the ends of the network plans anew")

// networkPlans is how many golden plans of networks there are: none is skipped, none is lost.
const networkPlans = 26

// Windows is installed with a page file that it manages itself.
const memoryKey = windows.ControlKey + `\Session Manager\Memory Management`

var managedPageFile = map[string]any{"PagingFiles": []any{`?:\pagefile.sys`}}

// networkWorld is a machine whose image was made of a node: what that one left must go. The user's own stays.
func networkWorld(golden []byte) *vector {
	return &vector{Plan: golden, World: world{
		Facts: map[string]string{"diskFreeMiB": largeDisk},
		Files: map[string]string{
			`C:\k\kubeadm.exe`: "program", `C:\k\SourceVip.json`: "old", `C:\run\flannel\subnet.env`: "old",
			`C:\sourcevip\sourceVip.json`:             "old",
			`C:\var\lib\cni\networks\cbr0\10.244.9.2`: "old",
			`C:\etc\cni\net.d\10-calico.conf`:         "old", `C:\etc\cni\net.d\99-mine.conf`: "mine",
			`C:\Windows\System32\azure-vnet.json`: "old", `C:\k\azure-vnet-ipam.json.lock`: "old",
			`C:\opt\cni\bin\win-bridge.exe`: "p", `C:\opt\cni\bin\win-overlay.exe`: "p", `C:\opt\cni\bin\host-local.exe`: "p",
			`C:\opt\cni\bin\flannel.exe`: "p", `C:\k\flanneld.exe`: "p", `C:\k\nssm.exe`: "p", `C:\k\kube-proxy.exe`: "p",
			`C:\opt\cni\bin\azure-vnet.exe`: "p", `C:\opt\cni\bin\azure-vnet-ipam.exe`: "p", `C:\opt\cni\bin\azure-vnet-ipamv6.exe`: "p",
		},
		Features: map[string]string{
			"RemoteAccess": "Installed", "Routing": "Installed", "RSAT-RemoteAccess-PowerShell": "Available",
			"Hyper-V": "Installed", "Hyper-V-PowerShell": "Available",
		},
		Registry: map[string]map[string]any{
			windows.VersionKey: {"UBR": float64(4000), "InstallationType": "Server"}, memoryKey: managedPageFile,
		},
		Services: map[string]*windows.Service{
			"containerd": {State: "Running", ImagePath: `C:\containerd.exe`},
			"VMTools":    {State: "Running", ImagePath: `C:\vmtoolsd.exe`},
			"hns":        {State: "Running", ImagePath: `C:\svchost.exe`}, "RemoteAccess": {State: "Stopped", ImagePath: `C:\svchost.exe`},
		},
		HNS:   stale("Old"),
		Pipes: []string{"containerd-containerd"},
		TLS:   map[string]any{"10.0.0.10:6443": true},
		Adapters: []worldAdapter{
			{Index: 9, MAC: "00-50-56-00-00-01", Name: "Ethernet0 2"}, {Index: 12, MAC: "00-50-56-00-00-02", Name: "Ethernet1"},
		},
		Addresses:    []worldAddress{{Index: 9, Address: "10.0.0.5/24", Origin: "Dhcp"}},
		Routes:       []worldRoute{{Index: 9, To: "0.0.0.0/0", Via: "10.0.0.1"}},
		ManagementIP: "10.0.0.5",
		Commands: append(imagePrograms(), []*command{
			{Argv: []string{kubeadmPath, "join"}, Writes: map[string]string{kubeletPEM: "joined"}},
			registered(),
			{Argv: []string{kubectlPath}, Out: "Error from server", Exit: 1, Times: new(1)},
			{Argv: []string{kubectlPath}, Out: `["10.244.3.0/24"]`},
			{Argv: []string{"cmd.exe", "/d", "/c", "echo", "10.244.3.0/24"}, Out: "10.244.3.0/24\r\n"},
			{Argv: []string{"cmd.exe", "/d", "/c", "echo", "10.244.3.1"}, Out: "10.244.3.1\r\n"},
			{Argv: []string{`C:\Program Files\VMware\VMware Tools\rpctool.exe`}},
			{Argv: []string{`C:\Program Files\VMware\VMware Tools\VMwareToolboxCmd.exe`}},
			{Argv: []string{`C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe`}},
			{Argv: []string{`C:\k\kube-proxy.exe`, "--version"}, Out: "Kubernetes v1.36.3"},
			rulesAreSet(),
			copied(`C:\k\config`), copied(`C:\etc\kube-proxy\kubeconfig.conf`), copied(`C:\etc\kube-flannel\kubeconfig.conf`),
		}...),
	}}
}

// rulesAreSet is what kube-proxy says of itself once it has set the rules of Services.
func rulesAreSet() *command {
	return &command{
		Argv: []string{"curl.exe", "--silent", "--noproxy", "*", "http://127.0.0.1:10249/metrics"},
		Out:  "kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family=\"IPv4\"} 1.767225602e+09\n",
	}
}

// copied is the kubelet's login in another folder.
func copied(to string) *command {
	return &command{
		Argv:   []string{"cmd.exe", "/d", "/c", "copy", "/y", `C:\etc\kubernetes\kubelet.conf`, to},
		Writes: map[string]string{to: "kubelet.conf"},
	}
}

func network(id, name, managementIP string) map[string]any {
	return map[string]any{"kind": "networks", "ID": id, "Name": name, "Type": "Overlay", "ManagementIP": managementIP}
}

// stale is what CNIs leave in HNS; nat and unknown networks stay.
func stale(id string) []map[string]any {
	var items []map[string]any
	for i, name := range []string{"nat", "mine", "Calico", "flannel.4096", "cbr0", "azure"} {
		items = append(items, network(fmt.Sprint(id, i), name, "10.9.9.9"))
	}
	for i, name := range []string{"mine", "Calico_ep", "abc_cbr0", "abc_flannel.4096", "abc-eth0"} {
		items = append(items, map[string]any{"kind": "endpoints", "ID": fmt.Sprint(id, "-ep", i), "Name": name})
	}
	return items
}

// Each golden plan of a network is run as a whole; its end is kept in testdata/network. Two later starts of the machine,
// with what a reboot leaves, end there again.
func TestNetworkPlans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../bootstrap/testdata/golden/network-*.json")
	if err != nil || len(files) != networkPlans {
		t.Fatalf("%d golden plans of networks, %d are pinned (%v)", len(files), networkPlans, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden := mustRead(t, name)
			s := newStage(t, networkWorld(golden))
			s.cniComes(golden)
			s.live()
			s.mustSucceed()
			end := s.networkEnd()
			compareEnd(t, filepath.Join("testdata", "network", name+".txt"), end)
			s.startAgain(golden, end)
		})
	}
}

const startFlanneld = "sc.exe start flanneld"

// cniComes has the daemon of the CNI make the networks that the plan waits for, each time when the kubelet starts.
func (s *stage) cniComes(golden []byte) {
	s.t.Helper()
	awaited, made := map[string]bool{}, map[string]bool{}
	p := expect.Got(plan.Decode(golden))(s.t)
	for _, phase := range slices.Concat(p.Phases, p.Background) {
		for _, step := range phase.Steps {
			if network, ok := step.(*plan.HNSNetwork); ok {
				name := network.Request["Name"].(string)
				made[name] = made[name] || !network.Wait
				awaited[name] = !made[name]
			}
		}
	}
	scripted := s.Machine.Intercept
	s.Machine.Intercept = func(call *windows.Call) windows.Program {
		line := strings.Join(call.Argv, " ")
		if line == startFlanneld {
			s.writeSubnet()
		}
		if strings.HasPrefix(line, kubeadmPath+" join") || line == "sc.exe start kubelet" {
			expect.OK(s.t, s.Machine.Setup(func(state *windows.State) {
				for name, missing := range awaited {
					if !missing || slices.ContainsFunc(state.HNS, func(item map[string]any) bool { return item["Name"] == name }) {
						continue
					}
					state.HNS = append(state.HNS, network("awaited-"+name, name, s.Machine.ManagementIP))
				}
			}))
		}
		return scripted(call)
	}
}

func (s *stage) mustSucceed() {
	s.t.Helper()
	if report := s.end(); report.State != plan.StateSucceeded || len(report.Warnings) > 0 {
		s.t.Fatalf("%s at %s: %s %q %q", report.State, report.Step, report.Reason, report.Message, report.Warnings)
	}
}

// startAgain boots twice, with networks of a CNI that has run meanwhile.
func (s *stage) startAgain(golden []byte, end string) {
	s.t.Helper()
	p := expect.Got(plan.Decode(golden))(s.t)
	if len(p.EveryBoot) == 0 {
		if !s.Has("task.disable " + TaskName) {
			s.t.Error("the task is left without work")
		}
		return
	}
	for range 2 {
		if p.EveryBoot[0].Steps[0].Base().Name == "kubelet-waits" {
			s.put(`C:\var\lib\cni\networks\x\10.244.3.7`, "old")
			s.put(`C:\sourcevip\sourceVip.json`, "old")
		}
		s.bootAgain()
		s.cniWasHere(p.EveryBoot[0])
		s.start()
		report := s.end()
		if report.Boot == nil || report.Boot.State != plan.StateSucceeded || len(report.Warnings) > 0 {
			s.t.Fatalf("boot: %+v %q", report.Boot, report.Warnings)
		}
		if difference := cmp.Diff(end, s.networkEnd()); difference != "" {
			s.t.Errorf("a later start ends elsewhere (-first +later):\n%s", difference)
		}
	}
}

// bootAgain is a later start of Windows, with which no service starts that has to be asked to.
func (s *stage) bootAgain() {
	s.t.Helper()
	expect.OK(s.t, s.Machine.Boot())
	expect.OK(s.t, s.Machine.Setup(func(state *windows.State) {
		for _, name := range []string{"flanneld", "kube-proxy"} {
			if service := state.Services[name]; service != nil {
				service.State = windows.Stopped
			}
		}
	}))
}

// cniWasHere puts in what the plan's CNI has made since the last start.
func (s *stage) cniWasHere(boot plan.Phase) {
	s.t.Helper()
	found := false
	for _, step := range boot.Steps {
		if run, ok := step.(*plan.Run); ok && strings.HasSuffix(run.Name, "-antrea") {
			found = true // its own script, of which nothing is played here
		}
		cleanup, ok := step.(*plan.HNSCleanup)
		if !ok {
			continue
		}
		found = true
		name := cleanup.Networks[0].String()
		expect.OK(s.t, s.Machine.Setup(func(state *windows.State) {
			state.HNS = append(state.HNS,
				network("cni", name, "10.0.0.5"), map[string]any{"kind": "endpoints", "ID": "cni-ep", "Name": "abc_" + name})
		}))
	}
	if waits := boot.Steps[0].Base().Name == "kubelet-waits"; waits != found {
		s.t.Errorf("the kubelet waits %t, but networks are cleaned up %t", waits, found)
	}
}

// networkEnd is all of the machine that a network plan may change, one thing on a line.
func (s *stage) networkEnd() string {
	s.t.Helper()
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	expect.OK(s.t, s.Machine.Setup(func(state *windows.State) {
		for _, item := range state.HNS {
			shown := maps.Clone(item)
			delete(shown, "ID")
			add("hns %s", asJSON(s.t, shown))
		}
		for _, route := range state.Routes {
			add("route %s via %s on %d", route.To, route.Via, route.Index)
		}
		for _, address := range state.Addresses {
			if address.Origin == "Manual" {
				add("address %s on %d", address.Address, address.Index)
			}
		}
		for _, description := range state.Firewall {
			add("firewall %s", description)
		}
		add("dynamic ports %s", asJSON(s.t, state.DynamicPorts))
		add("kubelet %s", state.Services["kubelet"].State)
		add("router %s", state.Services["RemoteAccess"].State)
		add("firewall is off: %t", state.FirewallOff)
	}))
	start, _, err := s.Machine.ReadRegistry(windows.ServicesKey+`\kubelet`, "Start")
	expect.OK(s.t, err)
	add("kubelet is started by Windows: %t", start.Number == 2)
	for _, folder := range []string{
		`C:\etc\cni`, `C:\var\lib\cni`, `C:\etc\kube-proxy`, `C:\etc\kube-flannel`, `C:\run\flannel`, `C:\k`, `C:\Windows\System32`,
		`C:\sourcevip`,
	} {
		lines = append(lines, s.filesBelow(folder)...)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// filesBelow a folder with their contents. One that programs read as JSON must be JSON.
func (s *stage) filesBelow(folder string) []string {
	s.t.Helper()
	root := expect.Got(s.Machine.HostPath(folder))(s.t)
	var lines []string
	expect.OK(s.t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if os.IsNotExist(err) || err == nil && entry.IsDir() {
			return nil
		}
		text, readErr := os.ReadFile(path)
		if err := errors.Join(err, readErr); err != nil {
			return err
		}
		if strings.HasPrefix(string(text), "{") && !json.Valid(text) {
			s.t.Errorf("%s is no JSON: %s", path, text)
		}
		if strings.HasPrefix(string(text), "a program of the simulated Windows") {
			return nil
		}
		lines = append(lines, fmt.Sprintf("file %s%s %q", folder, strings.ReplaceAll(path[len(root):], "/", `\`), text))
		return nil
	}))
	return lines
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	return string(expect.Got(json.Marshal(value))(t))
}

func compareEnd(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		expect.OK(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want := expect.Got(os.ReadFile(path))(t)
	expect.Same(t, "go test ./test/sim/agent -update writes it anew", string(want), got)
}

func mustRead(t *testing.T, golden string) []byte {
	t.Helper()
	return expect.Got(os.ReadFile("../../../bootstrap/testdata/golden/" + golden + ".json"))(t)
}
