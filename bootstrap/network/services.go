package network

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// What the services of a network have in common: their program, the service that Windows does not start, and their login.

// program is looked for once scripts of the user have run, which may bring it.
func program(name, path, owner string) plan.Step {
	return &plan.WaitFor{
		Common: plan.Common{Name: name, Reason: step.ReasonNodeProgramMissing, TimeoutSeconds: 30},
		For:    plan.ForFile, Target: plan.Text(path),
		Say: plan.Text(path + " of " + owner + " does not exist; put it into the image, or have a preJoin script bring it"),
	}
}

// service replaces what the image has under this name, and stops that. Only the background of the plan starts it: a restart in
// the middle of a bootstrap must not, and after a later start what it needs is not there yet.
func service(name string, command []string, dependsOn ...string) []plan.Step {
	const reason = step.ReasonNodeServiceFailed
	return slices.Concat([]plan.Step{
		&plan.Service{
			Common:  plan.Common{Name: name + "-service", Reason: reason, Attempts: 3},
			Service: name, Command: plan.Texts(command...), Start: plan.StartDemand, DependsOn: plan.Texts(dependsOn...),
		},
		serviceState(name, plan.ServiceStopped),
	}, step.Restarts(name, reason))
}

func serviceState(name, state string) plan.Step {
	return step.ServiceState(name+"-"+state, step.ReasonNodeServiceFailed, name, state)
}

// copyOfKubeconfig is for programs that read it from a folder of their own. It names the file with the kubelet's certificate,
// which the kubelet renews.
func copyOfKubeconfig(name, path string) plan.Step {
	return step.Tool(name, step.ReasonNodeFilesFailed, "cmd.exe", "/d", "/c", "copy", "/y", step.Kubeconfig, path)
}

// Folders of the services: SYSTEM obeys what lies in them.
func (net *Network) Folders() []step.Folder {
	var folders []step.Folder
	if net.proxied {
		folders = append(folders,
			step.Folder{Name: "kube-proxy-folder", Path: step.KubeProxyFolder, Access: plan.AccessAdmin, Whole: true},
			step.Folder{Name: "kube-proxy-logs", Path: step.KubeProxyLogs, Access: plan.AccessAdmin, Whole: true})
	}
	if net.flanneld {
		folders = append(folders,
			step.Folder{Name: "flanneld-folder", Path: step.FlanneldFolder, Access: plan.AccessAdmin, Whole: true},
			step.Folder{Name: "flanneld-logs", Path: step.FlanneldLogs, Access: plan.AccessAdmin, Whole: true})
	}
	return folders
}

// background starts the services of the network, and waits for what the CNI brings.
func (net *Network) background() []plan.Step {
	return slices.Concat(net.startFlanneld(), net.behindFlannel(), net.startProxy())
}
