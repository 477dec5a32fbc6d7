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

// toolsConf hides the adapters of pods. Images hide all vEthernet* adapters, but a virtual switch makes one of the
// node's own adapter: vSphere and its cloud provider would no longer see an address.
const toolsConf = "[guestinfo]\r\nexclude-nics=vEthernet (nat)*,vEthernet (HNS*,vEthernet (cbr0*,vEthernet (Calico*," +
	"vEthernet (flannel*,vEthernet (antrea-gw*,vEthernet (*_ep*,*container vnic*\r\n"

// vmwareTools is optional: a node that has joined has other ways to tell its address to Kubernetes.
func vmwareTools() []plan.Step {
	common := plan.Common{Name: "vmware-tools", Reason: step.ReasonVMwareToolsFailed, Optional: true}
	restart := common
	restart.Name, restart.TimeoutSeconds = "vmware-tools-restarted", 120
	return []plan.Step{
		&plan.File{Common: common, Path: plan.Text(step.ToolsConfFile), Text: plan.Text(toolsConf)},
		&plan.ServiceState{Common: restart, Service: "VMTools", State: plan.ServiceRestarted},
	}
}
