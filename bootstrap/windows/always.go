package windows

import (
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// always is what no spec says.
type always struct{ vmwareTools bool }

func readAlways(in Input) (setting, error) { return always{vmwareTools: !in.OnAzure}, nil }

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
