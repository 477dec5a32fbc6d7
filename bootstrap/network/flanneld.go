package network

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// flanneld as a Windows service of the node: upstream publishes the program for Windows, but no image and no manifest. It does
// not know Windows' services (flannel-io/flannel cdf76059 imports no svc of golang.org/x/sys/windows), so nssm.exe runs it.

const (
	flanneldService    = "flanneld"
	flanneldKey        = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\flanneld\Parameters`
	flanneldKubeconfig = step.FlanneldFolder + `\kubeconfig.conf`
	netConfFile        = step.FlanneldFolder + `\net-conf.json`
	subnetFile         = step.FlannelFolder + `\subnet.env`
)

// waitsForFlanneld: flanneld writes subnet.env when the network is there. Without that file flannel.exe gives no pod its network,
// and containerd calls a network ready as soon as it finds a configuration.
func (p profile) waitsForFlanneld() bool { return p.file == flannelFile }

const flannelFile = "10-flannel.conf"

// flannelService makes the service. Its program reads netConf, and its earlier arguments stay in no key: a service that has
// another command loses its parameters.
func (net *Network) flannelService() []plan.Step {
	if !net.flanneld {
		return nil
	}
	return slices.Concat(
		[]plan.Step{
			program("nssm-program", step.NSSMProgram, "the service flanneld"),
			program("flanneld-program", step.FlanneldProgram, "the service flanneld"),
			nodeFile("flanneld-configuration", plan.Text(netConfFile), net.netConfText),
		},
		service(flanneldService, []string{step.NSSMProgram}),
		net.flanneldParameters(),
	)
}

// netConf is what flanneld reads of ConfigMap kube-flannel-cfg on Linux nodes (pkg/backend/vxlan/vxlan_windows.go and
// pkg/backend/hostgw/hostgw_windows.go).
func (net *Network) netConf() plan.Tree {
	backend := map[string]any{"Type": "host-gw", "Name": net.podNetwork}
	if net.overlay() {
		backend = map[string]any{"Type": "vxlan", "Name": net.podNetwork, "VNI": net.vni, "Port": vxlanNumber}
	}
	return plan.Tree{"Network": net.pods.four().String(), "Backend": backend}
}

// flanneldParameters are where nssm.exe looks.
func (net *Network) flanneldParameters() []plan.Step {
	log := plan.Text(step.FlanneldLogs + `\flanneld.log`)
	return []plan.Step{
		parameter("Application", "", plan.Text(step.FlanneldProgram)),
		net.flanneldFlags(),
		parameter("AppDirectory", "", plan.Text(step.ProgramsDirectory)),
		parameter("AppStdout", "", log),
		parameter("AppStderr", "", log),
		parameter("AppRotateFiles", plan.RegistryDWord, plan.Text("1")),
		parameter("AppRotateOnline", plan.RegistryDWord, plan.Text("1")),
		parameter("AppRotateBytes", plan.RegistryDWord, plan.Text("10485760")),
		&plan.Registry{
			Common: parameterStep("AppEnvironmentExtra"), Key: flanneldKey, ValueName: "AppEnvironmentExtra",
			Type: plan.RegistryMultiString, Values: plan.Texts("NODE_NAME=" + net.NodeName),
		},
	}
}

// flanneldFlags have no --ip-masq: on Windows it has flannel.exe ask the plug-in for a policy OutBoundNAT, and does nothing else
// (flannel-io/flannel v0.28.9, pkg/trafficmngr/iptables/iptables_windows.go; flannel-io/cni-plugin, flannel_windows.go). The
// plug-in's policy of our configuration is the only one then: win-overlay would add a second one, with fewer exceptions.
func (net *Network) flanneldFlags() plan.Step {
	flags := "--kube-subnet-mgr --kubeconfig-file=" + flanneldKubeconfig + " --net-config-path=" + netConfFile +
		" --subnet-file=" + subnetFile + " --iface="
	return parameter("AppParameters", "", plan.Parts(plan.Text(flags), net.hostAddress()))
}

// flanneldAgain has the address of a later start of Windows.
func (net *Network) flanneldAgain() []plan.Step {
	if !net.flanneld {
		return nil
	}
	return []plan.Step{net.flanneldFlags()}
}

func parameter(name string, kind plan.RegistryType, value plan.Value) plan.Step {
	return &plan.Registry{Common: parameterStep(name), Key: flanneldKey, ValueName: name, Type: kind, Value: value}
}

func parameterStep(name string) plan.Common {
	return plan.Common{Name: "flanneld-" + name, Reason: step.ReasonNodeServiceFailed}
}

// startFlanneld is behind the join, because flanneld reads the Node's pod CIDR. The vSwitch that it makes drops what belongs to
// the adapter; flanneld then finds no API server, ends, and nssm.exe starts it until it does.
func (net *Network) startFlanneld() []plan.Step {
	if !net.flanneld {
		return nil
	}
	steps := []plan.Step{
		copyOfKubeconfig("flanneld-kubeconfig", flanneldKubeconfig), serviceState(flanneldService, plan.ServiceRunning),
	}
	if !net.waitsForCNI() {
		return steps
	}
	return slices.Concat(steps, []plan.Step{net.awaitNetwork("cni-vswitch", net.baseName())}, net.restored("-behind-cni"))
}

// behindFlannel writes the CNI's configuration once the daemon has found the node's subnet, whoever runs it and however late.
// Pods that run flanneld bring the plug-ins too, and containerd never asks for them before it calls a network ready.
func (net *Network) behindFlannel() []plan.Step {
	if !net.waitsForFlanneld() {
		return nil
	}
	steps := []plan.Step{&plan.WaitFor{
		Common: plan.Common{Name: "flannel-subnet", Reason: step.ReasonNetworkNotReady, TimeoutSeconds: 600},
		For:    plan.ForFile, Target: plan.Text(subnetFile),
		Say: plan.Text("flanneld has not written " + subnetFile),
	}}
	if !net.flanneld {
		steps = append(steps, net.awaitPrograms("the pods that run flanneld must bring it", 600)...)
	}
	return slices.Concat(steps, net.ownSubnet(), net.files())
}

// ownSubnet: with the subnet of another node, pods would get addresses that nobody routes to this one, beside the reservations.
func (net *Network) ownSubnet() []plan.Step {
	if !net.needsPodCIDR() {
		return nil
	}
	return []plan.Step{&plan.Fact{
		Common: plan.Common{Name: "flannel-own-subnet", Reason: step.ReasonNetworkNotReady},
		Argv: slices.Concat(plan.Texts("findstr.exe", "/b", "/l"),
			[]plan.Value{plan.Parts(plan.Text("/c:FLANNEL_SUBNET="), plan.FromFact(factPodPrefix), plan.Text("."))},
			plan.Texts(subnetFile)),
		Match: `FLANNEL_SUBNET=(\S+)`, Set: "flannelSubnet",
		Say: plan.Say(subnetFile+" belongs to another node: its subnet is not in the pod CIDR ", factPodPrefix, ".0/24"),
	}}
}
