package windows

import (
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// always is what every machine gets, whatever the spec says.
type always struct{ vmwareTools bool }

func readAlways(in Input) (setting, error) { return always{vmwareTools: !in.OnAzure}, nil }

func (a always) addTo(p *step.Part) {
	p.Add(step.PhaseWindows, smbNames())
	if a.vmwareTools {
		p.Add(step.PhaseWindows, vmwareTools()...)
	}
}

// folders: VMware Tools obeys what lies in its folder. It has files there that it protects itself, and runs for users, too, who
// must read there.
func (a always) folders() []step.Folder {
	if !a.vmwareTools {
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

// hiddenAdapters are those of pods. Images hide all vEthernet* adapters, but a virtual switch makes one of the node's own
// adapter: vSphere and its cloud provider would no longer see an address.
const hiddenAdapters = "vEthernet (nat)*,vEthernet (HNS*,vEthernet (cbr0*,vEthernet (Calico*," +
	"vEthernet (flannel*,vEthernet (antrea-gw*,vEthernet (*_ep*,*container vnic*"

// vmwareTools is optional: a node that has joined has other ways to tell its address to Kubernetes. The tool of VMware Tools
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
