// Package windows is spec.windows and spec.pageFile: Windows' own settings, each in the same shape, read by readX into a
// setting that adds its steps.
package windows

import (
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const windowsField = "WindowsBootstrapConfig spec.windows"

// Input is what Windows' own settings are made of.
type Input struct {
	Spec     bootstrapv1.Windows
	PageFile bootstrapv1.PageFile
	Sources  step.Contents
	NodeName string
	// Azure is the VM's spec there; nil on vSphere.
	Azure *infrav1.AzureVM
	// HyperV: containerd runs pods in virtual machines.
	HyperV bool
	// Cluster are the names and ranges of the cluster, which are reached without a proxy.
	Cluster []string
}

// Windows is spec.windows and spec.PageFile, read and found good.
type Windows struct {
	settings []setting
	risks    []string
}

// setting is one of Windows' settings that has been read. One that is left out adds nothing.
type setting interface{ addTo(p *step.Part) }

// Read refuses what Windows would not take.
func Read(in Input) (Windows, error) {
	w := Windows{risks: windowsRisks(in.Spec)}
	for _, read := range []func(Input) (setting, error){
		readTrust, readProxy, readClock, readFeatures, readUsers, readDefender, readCSIProxy, readAzureJSON, readDomain, readGMSAPlugin,
	} {
		s, err := read(in)
		if err != nil {
			return Windows{}, err
		}
		w.settings = append(w.settings, s)
	}
	w.settings = append(w.settings, always{vmwareTools: in.Azure == nil})
	size, err := readPageFile(in)
	w.settings = append(w.settings, size)
	return w, err
}

// Steps of all settings, in the order in which they are read.
func (w Windows) Steps() step.Part {
	var p step.Part
	for _, s := range w.settings {
		s.addTo(&p)
	}
	return p
}

// Warnings are of settings that others change.
func (w Windows) Warnings() []string { return w.risks }

func windowsRisks(spec bootstrapv1.Windows) []string {
	if len(spec.NTPServers) == 0 || spec.Domain == (bootstrapv1.Domain{}) {
		return nil
	}
	return []string{windowsField + ".ntpServers: a member of a domain takes its time from the domain, which replaces the list; leave it out"}
}

// always is what no spec says.
type always struct{ vmwareTools bool }

func (a always) addTo(p *step.Part) {
	p.Add(step.PhaseWindows, smbNames())
	if a.vmwareTools {
		p.Add(step.PhaseWindows, vmwareTools()...)
	}
}

// smbNames lets SMB mounts of pods find servers by the node's DNS. Images have it; without it they only know addresses.
func smbNames() plan.Step {
	return &plan.Registry{
		Common: plan.Common{Name: "smb-names", Reason: step.ReasonNetworkSettingsFailed},
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

func readClock(in Input) (setting, error) {
	c := clock{in.Spec.TimeZone, in.Spec.NTPServers}
	if c.zone != "" && !windowsZone.MatchString(c.zone) {
		return nil, step.Invalid(windowsField+".timeZone", "%q is no time zone of Windows; write one such as UTC or W. Europe Standard Time (tzutil /l)", c.zone)
	}
	for _, server := range c.servers {
		if !timeServer.MatchString(server) {
			return nil, step.Invalid(windowsField+".ntpServers", "%q is neither a name nor an address; write one such as time.example.com", server)
		}
	}
	return c, nil
}

func (c clock) addTo(p *step.Part) {
	if c.zone == "" && len(c.servers) == 0 {
		return
	}
	p.Add(step.PhaseWindows, &plan.Time{
		Common: plan.Common{Name: "time", Reason: step.ReasonTimeFailed, Attempts: 3}, Zone: c.zone, NTP: plan.Texts(c.servers...),
	})
	if len(c.servers) > 0 {
		p.Add(step.PhaseWindows, timeService("time-service", "config", "start=", "auto"),
			timeService("time-service-triggers", "triggerinfo", "start/networkon", "stop/networkoff"))
	}
}

// timeService: of a machine that is in no domain Windows stops the service when it has started, since what starts it is
// that the machine is in one.
func timeService(name, verb string, args ...string) plan.Step {
	return &plan.Run{
		Common: plan.Common{Name: name, Reason: step.ReasonTimeFailed, TimeoutSeconds: 60, Attempts: 3},
		Argv:   plan.Texts(append([]string{"sc.exe", verb, "w32time"}, args...)...),
	}
}

var featureName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

// features are those of Windows Server, by name.
type features []string

func readFeatures(in Input) (setting, error) {
	wanted := slices.Clone(features(in.Spec.Features))
	if in.HyperV && !slices.Contains(wanted, "Hyper-V") {
		wanted = append(wanted, "Hyper-V")
	}
	for _, name := range wanted {
		if !featureName.MatchString(name) {
			return nil, step.Invalid(windowsField+".features", "%q is no feature; write a name that Get-WindowsFeature shows, such as Containers", name)
		}
	}
	return wanted, nil
}

func (f features) addTo(p *step.Part) {
	if len(f) > 0 {
		p.Add(step.PhaseWindows, &plan.Feature{
			Common: plan.Common{Name: "features", Reason: step.ReasonFeatureFailed, TimeoutSeconds: 1200}, Features: plan.Texts(f...),
		})
	}
}

// What Kubernetes and containerd write so much of that a scanner makes a node slow.
var (
	excludedFolders   = []string{`C:\ProgramData\containerd`, step.KubeletDirectory, `C:\k`}
	excludedProcesses = []string{"containerd.exe", "containerd-shim-runhcs-v1.exe", "ctr.exe", "kubelet.exe", "kube-proxy.exe", "kube-log-runner.exe"}
	processName       = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,60}\.exe$`)
)

// defender is what the user excludes from scans, besides ours.
type defender struct{ folders, processes []string }

func readDefender(in Input) (setting, error) {
	own := in.Spec.DefenderExclusions
	const field = windowsField + ".defenderExclusions"
	for _, folder := range own.Folders {
		if !step.PlainPath.MatchString(folder) {
			return nil, step.Invalid(field+".folders", `%q is no plain path on drive C:; write one such as C:\data`, folder)
		}
	}
	for _, process := range own.Processes {
		if !processName.MatchString(process) {
			return nil, step.Invalid(field+".processes", "%q is no name of a program; write one such as app.exe", process)
		}
	}
	return defender{own.Folders, own.Processes}, nil
}

// addTo: the step is optional, because where there is no Defender, nothing is slow because of it.
func (d defender) addTo(p *step.Part) {
	p.Add(step.PhaseWindows, &plan.DefenderExclusions{
		Common:    plan.Common{Name: "defender-exclusions", Reason: step.ReasonDefenderFailed, Optional: true},
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
	common := plan.Common{Name: "vmware-tools", Reason: step.ReasonVMwareToolsFailed, Optional: true}
	restart := common
	restart.Name, restart.TimeoutSeconds = "vmware-tools-restarted", 120
	return []plan.Step{
		&plan.File{Common: common, Path: plan.Text(step.ToolsConfFile), Text: plan.Text(toolsConf)},
		&plan.ServiceState{Common: restart, Service: "VMTools", State: plan.ServiceRestarted},
	}
}

// csiProxy is the path of a program that is there already; the image or a preJoin script has brought it.
type csiProxy string

func readCSIProxy(in Input) (setting, error) {
	path := in.Spec.CSIProxy.Path
	if path != "" && (!step.PlainPath.MatchString(path) || !strings.HasSuffix(strings.ToLower(path), ".exe")) {
		return nil, step.Invalid(windowsField+".csiProxy.path", `%q is no program on drive C:; write a path such as C:\k\csi-proxy.exe`, path)
	}
	return csiProxy(path), nil
}

func (c csiProxy) addTo(p *step.Part) {
	path := string(c)
	if path == "" {
		return
	}
	common := func(name string) plan.Common {
		return plan.Common{Name: name, Reason: step.ReasonCSIProxyFailed, TimeoutSeconds: 60}
	}
	p.Add(step.PhaseKubelet,
		&plan.WaitFor{Common: common("csi-proxy-program"), For: plan.ForFile, Target: plan.Text(path)},
		step.Directory("csi-proxy-logs", step.CSIProxyLogs, plan.AccessInherit),
		&plan.Service{
			Common: common("csi-proxy-service"), Service: "csiproxy",
			Command: plan.Texts(path, "-windows-service", "-log_file="+step.CSIProxyLogs+`\csi-proxy.log`, "-logtostderr=false"),
			Start:   plan.StartAuto, RestartSeconds: []int{10, 30, 60},
		},
		&plan.ServiceState{Common: common("csi-proxy-running"), Service: "csiproxy", State: plan.ServiceRunning},
	)
}
