package bootstrap

import (
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const windowsField = "WindowsBootstrapConfig spec.windows"

// windowsInput is what Windows' own settings are made of.
type windowsInput struct {
	spec     bootstrapv1.Windows
	pageFile bootstrapv1.PageFile
	sources  contents
	nodeName string
	// azure is the VM's spec there; nil on vSphere.
	azure *infrav1.AzureVM
	// hyperV: containerd runs pods in virtual machines.
	hyperV bool
	// cluster are the names and ranges of the cluster, which are reached without a proxy.
	cluster []string
}

// windows is spec.windows and spec.pageFile, read and found good.
type windows struct {
	settings []setting
	risks    []string
}

// setting is one of Windows' settings that has been read. One that is left out adds nothing.
type setting interface{ addTo(p *part) }

func readWindows(in windowsInput) (windows, error) {
	w := windows{risks: windowsRisks(in.spec)}
	for _, read := range []func(windowsInput) (setting, error){
		readTrust, readProxy, readClock, readFeatures, readUsers, readDefender, readCSIProxy, readAzureJSON, readDomain, readGMSAPlugin,
	} {
		s, err := read(in)
		if err != nil {
			return windows{}, err
		}
		w.settings = append(w.settings, s)
	}
	w.settings = append(w.settings, always{vmwareTools: in.azure == nil})
	size, err := readPageFile(in)
	w.settings = append(w.settings, size)
	return w, err
}

func (w windows) steps() part {
	var p part
	for _, s := range w.settings {
		s.addTo(&p)
	}
	return p
}

func (w windows) warnings() []string { return w.risks }

func windowsRisks(spec bootstrapv1.Windows) []string {
	if len(spec.NTPServers) == 0 || spec.Domain == (bootstrapv1.Domain{}) {
		return nil
	}
	return []string{windowsField + ".ntpServers: a member of a domain takes its time from the domain, which replaces the list; leave it out"}
}

// always is what no spec says.
type always struct{ vmwareTools bool }

func (a always) addTo(p *part) {
	p.add(phaseWindows, smbNames())
	if a.vmwareTools {
		p.add(phaseWindows, vmwareTools()...)
	}
}

// smbNames lets SMB mounts of pods find servers by the node's DNS. Images have it; without it they only know addresses.
func smbNames() plan.Step {
	return &plan.Registry{
		Common: plan.Common{Name: "smb-names", Reason: ReasonNetworkSettingsFailed},
		Key:    `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\hns\State`, ValueName: "EnableCompartmentNamespace",
		Type: plan.RegistryDWord, Value: plan.Text("1"),
	}
}

var (
	windowsZone = regexp.MustCompile(`^(UTC([+-][0-9]{2})?|Russia Time Zone [0-9]{1,2}|[A-Z][A-Za-z. -]* Standard Time( \(Mexico\))?)$`)
	timeServer  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:-]{0,252}$`)
)

// clock is the time zone and where the time comes from.
type clock struct {
	zone    string
	servers []string
}

func readClock(in windowsInput) (setting, error) {
	c := clock{in.spec.TimeZone, in.spec.NTPServers}
	if c.zone != "" && !windowsZone.MatchString(c.zone) {
		return nil, invalid(windowsField+".timeZone", "%q is no time zone of Windows; write one such as UTC or W. Europe Standard Time (tzutil /l)", c.zone)
	}
	for _, server := range c.servers {
		if !timeServer.MatchString(server) {
			return nil, invalid(windowsField+".ntpServers", "%q is neither a name nor an address; write one such as time.example.com", server)
		}
	}
	return c, nil
}

func (c clock) addTo(p *part) {
	if c.zone == "" && len(c.servers) == 0 {
		return
	}
	p.add(phaseWindows, &plan.Time{
		Common: plan.Common{Name: "time", Reason: ReasonTimeFailed, Attempts: 3}, Zone: c.zone, NTP: plan.Texts(c.servers...),
	})
	if len(c.servers) > 0 {
		p.add(phaseWindows, timeService("time-service", "config", "start=", "auto"),
			timeService("time-service-triggers", "triggerinfo", "start/networkon", "stop/networkoff"))
	}
}

// timeService: of a machine that is in no domain Windows stops the service when it has started, since what starts it is
// that the machine is in one.
func timeService(name, verb string, args ...string) plan.Step {
	return &plan.Run{
		Common: plan.Common{Name: name, Reason: ReasonTimeFailed, TimeoutSeconds: 60, Attempts: 3},
		Argv:   plan.Texts(append([]string{"sc.exe", verb, "w32time"}, args...)...),
	}
}

var featureName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

// features are those of Windows Server, by name.
type features []string

func readFeatures(in windowsInput) (setting, error) {
	wanted := slices.Clone(features(in.spec.Features))
	if in.hyperV && !slices.Contains(wanted, "Hyper-V") {
		wanted = append(wanted, "Hyper-V")
	}
	for _, name := range wanted {
		if !featureName.MatchString(name) {
			return nil, invalid(windowsField+".features", "%q is no feature; write a name that Get-WindowsFeature shows, such as Containers", name)
		}
	}
	return wanted, nil
}

func (f features) addTo(p *part) {
	if len(f) > 0 {
		p.add(phaseWindows, &plan.Feature{
			Common: plan.Common{Name: "features", Reason: ReasonFeatureFailed, TimeoutSeconds: 1200}, Features: plan.Texts(f...),
		})
	}
}

// What Kubernetes and containerd write so much of that a scanner makes a node slow.
var (
	excludedFolders   = []string{`C:\ProgramData\containerd`, kubeletDirectory, `C:\k`}
	excludedProcesses = []string{"containerd.exe", "containerd-shim-runhcs-v1.exe", "ctr.exe", "kubelet.exe", "kube-proxy.exe", "kube-log-runner.exe"}
	processName       = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,60}\.exe$`)
)

// defender is what the user excludes from scans, besides ours.
type defender struct{ folders, processes []string }

func readDefender(in windowsInput) (setting, error) {
	own := in.spec.DefenderExclusions
	const field = windowsField + ".defenderExclusions"
	for _, folder := range own.Folders {
		if !plainPath.MatchString(folder) {
			return nil, invalid(field+".folders", `%q is no plain path on drive C:; write one such as C:\data`, folder)
		}
	}
	for _, process := range own.Processes {
		if !processName.MatchString(process) {
			return nil, invalid(field+".processes", "%q is no name of a program; write one such as app.exe", process)
		}
	}
	return defender{own.Folders, own.Processes}, nil
}

// addTo: the step is optional, because where there is no Defender, nothing is slow because of it.
func (d defender) addTo(p *part) {
	p.add(phaseWindows, &plan.DefenderExclusions{
		Common:    plan.Common{Name: "defender-exclusions", Reason: ReasonDefenderFailed, Optional: true},
		Folders:   plan.Texts(slices.Concat(excludedFolders, d.folders)...),
		Processes: plan.Texts(slices.Concat(excludedProcesses, d.processes)...),
	})
}

// toolsConf hides the adapters of pods. Images hide vEthernet*, which a virtual switch makes of the node's own adapter:
// vSphere, and its cloud provider, would see no address any more.
const toolsConf = "[guestinfo]\r\nexclude-nics=vEthernet (nat)*,vEthernet (HNS*,vEthernet (cbr0*,vEthernet (Calico*," +
	"vEthernet (flannel*,vEthernet (antrea-gw*,vEthernet (*_ep*,*container vnic*\r\n"

// vmwareTools is optional: the address of a node that has joined comes to Kubernetes by other ways too.
func vmwareTools() []plan.Step {
	common := plan.Common{Name: "vmware-tools", Reason: ReasonVMwareToolsFailed, Optional: true}
	restart := common
	restart.Name, restart.TimeoutSeconds = "vmware-tools-restarted", 120
	return []plan.Step{
		&plan.File{Common: common, Path: plan.Text(toolsConfFile), Text: plan.Text(toolsConf)},
		&plan.ServiceState{Common: restart, Service: "VMTools", State: plan.ServiceRestarted},
	}
}

// csiProxy is the path of a program that is there already; the image or a preJoin script has brought it.
type csiProxy string

func readCSIProxy(in windowsInput) (setting, error) {
	path := in.spec.CSIProxy.Path
	if path != "" && (!plainPath.MatchString(path) || !strings.HasSuffix(strings.ToLower(path), ".exe")) {
		return nil, invalid(windowsField+".csiProxy.path", `%q is no program on drive C:; write a path such as C:\k\csi-proxy.exe`, path)
	}
	return csiProxy(path), nil
}

func (c csiProxy) addTo(p *part) {
	path := string(c)
	if path == "" {
		return
	}
	common := func(name string) plan.Common {
		return plan.Common{Name: name, Reason: ReasonCSIProxyFailed, TimeoutSeconds: 60}
	}
	p.add(phaseKubelet,
		&plan.WaitFor{Common: common("csi-proxy-program"), For: plan.ForFile, Target: plan.Text(path)},
		directory("csi-proxy-logs", csiProxyLogs, plan.AccessInherit),
		&plan.Service{
			Common: common("csi-proxy-service"), Service: "csiproxy",
			Command: plan.Texts(path, "-windows-service", "-log_file="+csiProxyLogs+`\csi-proxy.log`, "-logtostderr=false"),
			Start:   plan.StartAuto, RestartSeconds: []int{10, 30, 60},
		},
		&plan.ServiceState{Common: common("csi-proxy-running"), Service: "csiproxy", State: plan.ServiceRunning},
	)
}
