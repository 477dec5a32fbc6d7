package bootstrap

import (
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// rotatingMinor is the first whose kube-log-runner rotates; an older one exits at flags it does not know.
const rotatingMinor = 34

// flag of the kubelet.
type flag struct{ name, value string }

// registrationFlags are what the kubelet takes by flag only and needs when it registers its node.
func registrationFlags(n *node) []flag {
	flags := []flag{
		{"cloud-provider", "external"},
		{"windows-priorityclass", "ABOVE_NORMAL_PRIORITY_CLASS"},
	}
	if len(n.labels) > 0 {
		flags = append(flags, flag{"node-labels", strings.Join(n.labels, ",")})
	}
	return flags
}

// kubeletCommand is the command line of the kubelet's service. It is ours: the services that images bring ignore what
// kubeadm writes for them, and neither restart nor rotate. Without --windows-service the service manager can not tell
// the kubelet that the machine shuts down.
func kubeletCommand(n *node) []plan.Value {
	command := []string{`C:\k\kube-log-runner.exe`, `--log-file=` + kubeletLogs + `\kubelet.log`}
	if n.minor >= rotatingMinor {
		command = append(command, "--log-file-size=50Mi", "--log-file-age=168h")
	}
	command = append(command, `C:\k\kubelet.exe`,
		"--windows-service",
		`--config=`+kubeletDirectory+`\config.yaml`,
		`--bootstrap-kubeconfig=`+bootstrapKubeconfig,
		`--kubeconfig=`+kubeconfig,
		`--cert-dir=`+kubeletKeys,
		"--hostname-override="+n.machine.Node,
	)
	for _, flag := range registrationFlags(n) {
		command = append(command, "--"+flag.name+"="+flag.value)
	}
	return plan.Texts(command...)
}
