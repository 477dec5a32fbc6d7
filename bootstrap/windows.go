package bootstrap

import (
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const windowsField = "WindowsBootstrapConfig spec.windows"

// windowsPart is Windows' own settings.
func windowsPart(n *node) (part, error) {
	var p part
	for _, setting := range []func(*part, *node) error{
		(*part).trust, (*part).proxy, (*part).clock, (*part).features, (*part).users, (*part).defender, (*part).csiProxy, (*part).azureConfig,
		(*part).domain, (*part).gmsaPlugin,
	} {
		if err := setting(&p, n); err != nil {
			return part{}, err
		}
	}
	p.add(phaseWindows, smbNames())
	if n.azure == nil {
		p.add(phaseWindows, vmwareTools()...)
	}
	return p, nil
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

func (p *part) clock(n *node) error {
	zone, servers := n.spec.Windows.TimeZone, n.spec.Windows.NTPServers
	if zone != "" && !windowsZone.MatchString(zone) {
		return invalid(windowsField+".timeZone", "%q is no time zone of Windows; write one such as UTC or W. Europe Standard Time (tzutil /l)", zone)
	}
	for _, server := range servers {
		if !timeServer.MatchString(server) {
			return invalid(windowsField+".ntpServers", "%q is neither a name nor an address; write one such as time.example.com", server)
		}
	}
	if zone == "" && len(servers) == 0 {
		return nil
	}
	p.add(phaseWindows, &plan.Time{
		Common: plan.Common{Name: "time", Reason: ReasonTimeFailed, Attempts: 3}, Zone: zone, NTP: plan.Texts(servers...),
	})
	if len(servers) > 0 {
		p.add(phaseWindows, timeService("time-service", "config", "start=", "auto"),
			timeService("time-service-triggers", "triggerinfo", "start/networkon", "stop/networkoff"))
	}
	return nil
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

func (p *part) features(n *node) error {
	wanted := slices.Clone(n.spec.Windows.Features)
	if n.spec.Containerd.HyperVIsolation == bootstrapv1.HyperVIsolationEnabled && !slices.Contains(wanted, "Hyper-V") {
		wanted = append(wanted, "Hyper-V")
	}
	for _, name := range wanted {
		if !featureName.MatchString(name) {
			return invalid(windowsField+".features", "%q is no feature; write a name that Get-WindowsFeature shows, such as Containers", name)
		}
	}
	if len(wanted) > 0 {
		p.add(phaseWindows, &plan.Feature{
			Common: plan.Common{Name: "features", Reason: ReasonFeatureFailed, TimeoutSeconds: 1200}, Features: plan.Texts(wanted...),
		})
	}
	return nil
}

// What Kubernetes and containerd write so much of that a scanner makes a node slow.
var (
	excludedFolders   = []string{`C:\ProgramData\containerd`, kubeletDirectory, `C:\k`}
	excludedProcesses = []string{"containerd.exe", "containerd-shim-runhcs-v1.exe", "ctr.exe", "kubelet.exe", "kube-proxy.exe", "kube-log-runner.exe"}
	processName       = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,60}\.exe$`)
)

// defender is optional: where there is no Defender, nothing is slow because of it.
func (p *part) defender(n *node) error {
	own := n.spec.Windows.DefenderExclusions
	const field = windowsField + ".defenderExclusions"
	for _, folder := range own.Folders {
		if !plainPath.MatchString(folder) {
			return invalid(field+".folders", `%q is no plain path on drive C:; write one such as C:\data`, folder)
		}
	}
	for _, process := range own.Processes {
		if !processName.MatchString(process) {
			return invalid(field+".processes", "%q is no name of a program; write one such as app.exe", process)
		}
	}
	p.add(phaseWindows, &plan.DefenderExclusions{
		Common:    plan.Common{Name: "defender-exclusions", Reason: ReasonDefenderFailed, Optional: true},
		Folders:   plan.Texts(slices.Concat(excludedFolders, own.Folders)...),
		Processes: plan.Texts(slices.Concat(excludedProcesses, own.Processes)...),
	})
	return nil
}

// toolsConfFile is the configuration of VMware Tools.
const toolsConfFile = `C:\ProgramData\VMware\VMware Tools\tools.conf`

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

const csiProxyLogs = `C:\var\log\csi-proxy`

// csiProxy runs a program that is there already; the image or a preJoin script has brought it.
func (p *part) csiProxy(n *node) error {
	path := n.spec.Windows.CSIProxy.Path
	if path == "" {
		return nil
	}
	if !plainPath.MatchString(path) || !strings.HasSuffix(strings.ToLower(path), ".exe") {
		return invalid(windowsField+".csiProxy.path", `%q is no program on drive C:; write a path such as C:\k\csi-proxy.exe`, path)
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
	return nil
}
