package bootstrap

import (
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// logs are what a person would ask for first after a failed bootstrap. The node removes secrets from them.
func logs(kubelet string) *plan.CollectLogs {
	return &plan.CollectLogs{
		Common: plan.Common{Name: "logs"},
		Path:   plan.Text(`C:\ProgramData\capwin\logs.zip`),
		Patterns: plan.Texts(
			`C:\ProgramData\capwin\agent.log`,
			`C:\ProgramData\capwin\logs\*`,
			kubelet+`\kubelet*.log*`,
			`C:\var\log\containerd\*`,
			step.KubeletDirectory+`\config.yaml`,
			step.PatchesDirectory+`\*`,
			step.ContainerdFolder+`\config.toml`,
			step.CNIFolder+`\*.conf*`,
			// Logs of CNIs, kube-proxy and csi-proxy, each in its own place.
			`C:\var\log\containers\*_kube-*`, // kube-system, kube-flannel
			`C:\var\log\containers\*_calico-*`,
			step.FlannelFolder+`\subnet.env`,
			`C:\CalicoWindows\logs\*`,
			`C:\var\log\calico\cni\*`,
			`C:\k\azure-vnet*.log`, step.ServicesFolder+`\azure-vnet*.log`,
			`C:\var\log\antrea\*`, `C:\var\log\antrea\openvswitch\*`,
			`C:\openvswitch\var\log\openvswitch\*`,
			step.KubeProxyLogs+`\*`, step.FlanneldLogs+`\*`,
			step.KubeProxyFile, step.FlanneldFolder+`\net-conf.json`,
			step.CSIProxyLogs+`\*`,
			`C:\Windows\debug\NetSetup.LOG`,
			`C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log\*.log`,
			`C:\image-builder-release.txt`,
		),
		Events: []string{
			"System", "Application", "Microsoft-Windows-Host-Network-Service-Admin", "Microsoft-Windows-Host-Network-Service-Operational",
			"Microsoft-Windows-Hyper-V-Compute-Admin", "Microsoft-Windows-Containers-CCG/Admin",
		},
	}
}
