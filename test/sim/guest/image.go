package guest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Where image-builder puts things.
const (
	containerdPath = `C:\Program Files\containerd\containerd.exe`
	containerdPipe = "containerd-containerd"
	kubeadmPath    = `C:\k\kubeadm.exe`
	kubeletPath    = `C:\k\kubelet.exe`
	logRunnerPath  = `C:\k\kube-log-runner.exe`
	kubeProxyPath  = `C:\k\kube-proxy.exe`
	flanneldPath   = `C:\k\flanneld.exe`
	nssmPath       = `C:\k\nssm.exe`
	kubectlPath    = `C:\k\kubectl.exe`
	ctrPath        = `C:\Program Files\containerd\ctr.exe`
	powershellPath = `C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe`
	machinePath    = `C:\Windows\system32;C:\Windows;C:\Windows\System32\WindowsPowerShell\v1.0;C:\Program Files\containerd;C:\k`
	adapterIndex   = 6
)

// install puts the programs in their places, and on a new disk all that image-builder has made.
func (p *power) install() error {
	m := p.machine
	build, revision := p.guest.build()
	m.Hardware = windows.Hardware{
		SMBIOS: p.hardware.UUID, CPUs: p.hardware.CPUs, MemoryMiB: p.hardware.MemoryMiB,
		DiskFreeMiB: cmp.Or(p.guest.DiskFreeMiB, 110000), OSBuild: build,
	}
	p.spoilWorld()
	programs := map[string]windows.Program{
		rpctoolPath: p.rpctool, toolboxPath: toolbox, containerdPath: containerd, kubeadmPath: p.kubeadm, kubeletPath: p.kubelet,
		kubeProxyPath: cni.KubeProxy(p.guest.version(), p.watcher), flanneldPath: cni.Flanneld(p.watcher), nssmPath: cni.NSSM,
		logRunnerPath: p.logRunner, kubectlPath: p.kubectl, ctrPath: p.ctr, powershellPath: p.powershell,
	}
	maps.DeleteFunc(programs, func(path string, _ windows.Program) bool { return slices.Contains(p.guest.Without, path) })
	programs[imagesPath] = images(programs[imagesPath])
	maps.Copy(programs, p.guest.Programs)
	for path, program := range programs {
		if err := m.Install(path, program); err != nil {
			return err
		}
	}
	// Where a person looks first; it leads nowhere until the agent has reported.
	if err := os.Symlink(filepath.FromSlash("C/ProgramData/capwin/report.json"),
		filepath.Join(p.guest.Dir, "report.json")); err != nil && !os.IsExist(err) {
		return err
	}
	ubr, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		return fmt.Errorf("the revision of %s is not a number", p.guest.Build)
	}
	fresh := false
	err = m.Setup(func(s *windows.State) {
		if fresh = s.ComputerName == ""; fresh {
			p.furnish(s, build, ubr)
			p.guest.change(s)
		}
	})
	if !fresh {
		return err
	}
	files := map[string]string{containerdConfig: imageConfig, toolsConf: toolsConfOfImage, windows.Kernel: "MZ"}
	maps.Copy(files, p.guest.Files)
	for path, text := range files {
		if err == nil {
			err = m.Put(path, []byte(text))
		}
	}
	if err == nil && !p.guest.Updated.IsZero() {
		err = m.SetFileTime(windows.Kernel, p.guest.Updated)
	}
	return err
}

func (g *Simulated) change(s *windows.State) {
	if g.Image != nil {
		g.Image(s)
	}
}

// spoilWorld puts the faults where Windows meets them.
func (p *power) spoilWorld() {
	m, faults := p.machine, p.guest.Faults
	m.ManagementIP = p.guest.address()
	if faults.NoDHCP {
		m.ManagementIP = ""
	}
	m.SetTime(faults.Ahead)
	m.OnEffect = p.effect
	m.Intercept = p.instead
	m.Network = windows.RealNetwork{Dial: faults.dialer("powershell.exe")}
	if host, inAzure := p.vm.(AzureHost); inAzure {
		m.Network = wireServer{Network: m.Network, host: host}
		m.OnSerial = serial(host)
	}
	m.FeatureFaults = faults.Features
	m.Throw(faults.Throws, -1)
	m.Hang(faults.Unanswered)
	m.Locked = append([]string{pluginList}, faults.Locked...)
}

// furnish is the image as it is before its first start.
func (p *power) furnish(s *windows.State, build string, ubr int64) {
	s.ComputerName = "WIN-" + strings.ToUpper(strings.ReplaceAll(p.hardware.UUID, "-", "") + "00000000000")[:11]
	s.SetValue(windows.VersionKey, "CurrentBuildNumber", windows.Text(build))
	s.SetValue(windows.VersionKey, "UBR", windows.DWord(ubr))
	s.SetValue(windows.VersionKey, "InstallationType", windows.Text("Server Core"))
	s.SetValue(windows.VersionKey, "ProductName", windows.Text(productName(build)))
	s.SetValue(windows.ControlKey+`\Session Manager\Environment`, "Path", windows.Text(machinePath))
	s.SetValue(windows.ControlKey+`\Session Manager\Memory Management`, "PagingFiles", windows.MultiString(`?:\pagefile.sys`))
	s.SetValue(pluginList, "", windows.Text(""))
	s.Features = map[string]string{"Containers": "Installed", "Hyper-V": "Installed", "Hyper-V-PowerShell": "Installed"}
	for _, name := range remoteAccess {
		s.Features[name] = "Available"
	}
	s.Defender = &windows.Defender{Processes: []string{"containerd.exe", "ctr.exe"}}
	s.Adapters = adapters(p.hardware.MACs)
	s.Addresses = []windows.Address{{Index: adapterIndex, Address: p.guest.address() + "/24", Origin: "Dhcp"}}
	s.Routes = []windows.Route{{Index: adapterIndex, To: "0.0.0.0/0", Via: gateway(p.guest.address()), Cost: 25}}
	s.Services = map[string]*windows.Service{}
	service(s, "w32time", "", 3)
	service(s, "VMTools", "", 2)
	service(s, "vid", "", 2)
	service(s, "hns", "", 2)
	service(s, "RemoteAccess", "", 4)
	service(s, "containerd", windows.JoinArguments([]string{containerdPath, "--run-service"}), 2)
	service(s, "kubelet", windows.JoinArguments([]string{
		logRunnerPath, "--log-file=C:/var/log/kubelet/kubelet.log", kubeletPath, "--windows-service",
		"--cert-dir=C:/var/lib/kubelet/pki",
		"--config=C:/var/lib/kubelet/config.yaml", "--bootstrap-kubeconfig=C:/etc/kubernetes/bootstrap-kubelet.conf",
		"--kubeconfig=C:/etc/kubernetes/kubelet.conf", "--enable-debugging-handlers", "--cgroups-per-qos=false",
		"--enforce-node-allocatable=", "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd", "--resolv-conf=",
	}), 2, "containerd")
}

// adapters as Windows names and numbers them. Only the first one's network has a DHCP server.
func adapters(macs []string) []windows.Adapter {
	if len(macs) == 0 {
		macs = []string{"00:50:56:00:00:01"}
	}
	var all []windows.Adapter
	for i, mac := range macs {
		all = append(all, windows.Adapter{
			Index: adapterIndex + i, MAC: strings.ToUpper(strings.ReplaceAll(mac, ":", "-")), Name: "Ethernet" + strconv.Itoa(i),
			DHCP: true, MTU: 1500,
		})
	}
	return all
}

// gateway is the first address of the node's network.
func gateway(address string) string { return address[:strings.LastIndex(address, ".")+1] + "1" }

func service(s *windows.State, name, image string, start int64, dependsOn ...string) {
	key := windows.ServicesKey + `\` + name
	s.Services[name] = &windows.Service{State: windows.Stopped, ImagePath: image}
	s.SetValue(key, "Start", windows.DWord(start))
	if image != "" {
		s.SetValue(key, "ImagePath", windows.RegistryValue{Type: "ExpandString", Text: image})
	}
	if len(dependsOn) > 0 {
		s.SetValue(key, "DependOnService", windows.MultiString(dependsOn...))
	}
}

// productName by the build of Windows.
func productName(build string) string {
	year := map[string]string{"17763": "2019", "20348": "2022", "26100": "2025"}[build]
	if year == "" {
		return "Windows Server Datacenter"
	}
	return "Windows Server " + year + " Datacenter"
}

// instead takes the place of the programs of the faults.
func (p *power) instead(call *windows.Call) windows.Program {
	if other := p.guest.Faults.Instead; other != nil {
		if program := other(call); program != nil {
			return program
		}
	}
	hangs := p.guest.Faults.Hangs
	if hangs == "" || !strings.EqualFold(windows.Base(call.Argv[0]), hangs) {
		return nil
	}
	return func(ctx context.Context, _ *windows.Call) int {
		<-ctx.Done()
		return -1
	}
}

func readHost(m *windows.Machine, path string) (string, error) {
	host, err := m.HostPath(path)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(host)
	return string(text), err
}
