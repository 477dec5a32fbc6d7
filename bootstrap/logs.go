package bootstrap

import "github.com/capwin/cluster-api-provider-windows/bootstrap/plan"

// logs are what a person would ask for first when a bootstrap has failed. Secrets are taken out on the node.
func logs() *plan.CollectLogs {
	return &plan.CollectLogs{
		Common: plan.Common{Name: "logs"},
		Path:   plan.Text(`C:\ProgramData\capwin\logs.zip`),
		Patterns: plan.Texts(
			`C:\ProgramData\capwin\agent.log`,
			`C:\ProgramData\capwin\logs\*`,
			kubeletLogs+`\*`,
			`C:\var\log\containerd\*`,
			kubeletDirectory+`\config.yaml`,
			patchesDirectory+`\*`,
			`C:\etc\cni\net.d\*.conf*`,
			`C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log\*.log`,
			`C:\image-builder-release.txt`,
		),
		Events: []string{"System", "Application", "Microsoft-Windows-Host-Network-Service-Admin", "Microsoft-Windows-Hyper-V-Compute-Admin"},
	}
}
