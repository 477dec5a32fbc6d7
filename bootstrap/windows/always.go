package windows

import (
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// standard is what every machine gets, whatever is in the spec.
type standard struct{ onAzure bool }

func readAlways(in Input) (setting, error) { return standard{in.OnAzure}, nil }

func (a standard) addTo(p *step.Part) {
	p.Add(step.PhaseWindows, smbNames())
	if a.onAzure {
		p.Add(step.PhaseWindows, hostsPort()...)
	} else {
		p.Add(step.PhaseWindows, vmwareTools()...)
	}
}

// folders: VMware Tools obeys what lies in its folder. It has files there that it protects itself, and runs for users, too, who
// must read there.
func (a standard) folders() []step.Folder {
	if a.onAzure {
		return nil
	}
	return []step.Folder{{Name: "vmware-tools-folder", Path: step.ToolsFolder, Access: plan.AccessGuarded}}
}

// smbNames lets SMB mounts of pods resolve servers by the node's DNS; without it only addresses work. Images usually
// have it set.
func smbNames() plan.Step {
	return &plan.Registry{
		Common: plan.Common{Name: "smb-names", Reason: step.ReasonNetworkSettingsFailed},
		Key:    `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\hns\State`, ValueName: "EnableCompartmentNamespace",
		Type: plan.RegistryDWord, Value: plan.Text("1"),
	}
}

// hostsPort keeps Windows from sending from UDP port 65330, which Azure reserves for the host: an answer to it, such as of DNS,
// never comes (Azure Virtual Network FAQ; Azure/AKS issue 2988). AKS excludes it in its images in the same way
// (Azure/AgentBaker issue 1913, vhdbuilder/packer/configure-windows-vhd.ps1). netsh fails where the range is there already, and
// where a program has just bound the port (Azure/AgentBaker pull request 1943): that is a warning, because the node lacks
// nothing else. Its words are translated, its numbers are not.
func hostsPort() []plan.Step {
	const excluded = "excludedHostPort"
	common := func(name string, condition *plan.Test) plan.Common {
		return plan.Common{
			Name: name, Reason: step.ReasonNetworkSettingsFailed, Optional: true, TimeoutSeconds: 60, Attempts: 3, When: condition,
		}
	}
	udp := func(verb string, options ...string) []plan.Value {
		return plan.Texts(append([]string{"netsh.exe", "interface", "ipv4", verb, "excludedportrange", "protocol=udp"}, options...)...)
	}
	return []plan.Step{
		&plan.Fact{
			Common: common("azure-port", nil), Argv: udp("show"), Match: `(65330 +65330|\z)`, Set: excluded,
			Say: plan.Text("Windows does not show which ports it excludes"),
		},
		&plan.Run{
			Common: common("azure-port-excluded", &plan.Test{Fact: excluded, Is: plan.Text("")}),
			Argv:   udp("add", "startport=65330", "numberofports=1", "store=persistent"),
		},
	}
}

// hiddenAdapters are those of pods. Images hide all vEthernet* adapters, but a virtual switch makes one of the node's own
// adapter: vSphere and its cloud provider would no longer see an address.
const hiddenAdapters = "vEthernet (nat)*,vEthernet (HNS*,vEthernet (cbr0*,vEthernet (Calico*," +
	"vEthernet (flannel*,vEthernet (antrea-gw*,vEthernet (*_ep*,*container vnic*"

// vmwareTools is optional: a node that has joined has other ways to report its address to Kubernetes. The tool of VMware Tools
// changes one key and keeps what else the image has in tools.conf (open-vm-tools, toolbox/toolboxcmd-config.c, ConfigSet).
func vmwareTools() []plan.Step {
	common := plan.Common{Name: "vmware-tools", Reason: step.ReasonVMwareToolsFailed, Optional: true, TimeoutSeconds: 120}
	restart := common
	restart.Name = "vmware-tools-restarted"
	return []plan.Step{
		&plan.Run{Common: common, Argv: plan.Texts(step.ToolboxProgram, "config", "set", "guestinfo", "exclude-nics", hiddenAdapters)},
		&plan.ServiceState{Common: restart, Service: "VMTools", State: plan.ServiceRestarted},
	}
}
