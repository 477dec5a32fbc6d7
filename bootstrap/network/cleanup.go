package network

import (
	"slices"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// cniState is where host-local keeps who has which address.
const cniState = `C:\var\lib\cni\networks`

// What CNIs leave behind: HNS networks and endpoints by name, and files. On the first boot all of it is of another
// machine, the one that the image was made of.
var (
	staleNetworks = []string{
		"External", "ext", "cbr0", "l2bridge", "vxlan0", "overlay", "flannel.*", "Calico*", "azure*", "*OVNKubernetesHybridOverlayNetwork",
	}
	staleEndpoints = []string{"*cbr0*", "*vxlan0*", "*flannel.*", "*Calico*", "*-eth0", "VIPEndpoint"}
	staleFiles     = []string{
		`C:\k\SourceVip.json`, `C:\k\SourceVipRequest.json`, `C:\run\flannel\subnet.env`,
		`C:\k\azure-vnet.json`, `C:\k\azure-vnet-ipam.json`, `C:\var\lib\cni\flannel`, cniState,
	}
)

// cleanup of the first boot. Where the CNI owns the network, or nobody said which it is, nothing is touched.
func (net *Network) cleanup() []plan.Step {
	if net.hnsNetwork == "" {
		return nil
	}
	return []plan.Step{
		&plan.HNSCleanup{
			Common:   plan.Common{Name: "stale-networks", Reason: step.ReasonStaleNetworks, Attempts: 3},
			Networks: plan.Texts(withName(staleNetworks, net.podNetwork)...), Endpoints: plan.Texts(withName(staleEndpoints, "*"+net.podNetwork+"*")...),
		},
		&plan.Remove{
			Common: plan.Common{Name: "stale-network-files", Reason: step.ReasonStaleNetworks, Attempts: 3},
			Paths:  append(plan.Texts(staleFiles...), staleConfigurations()...),
		},
	}
}

// staleConfigurations are those that CNIs write; a user's own file of another name stays.
func staleConfigurations() []plan.Value {
	var paths []plan.Value
	for _, name := range []string{
		"10-flannel.conf", "10-flannel.conflist", "10-calico.conf", "10-calico.conflist", "10-azure.conflist",
		"10-win-bridge.conf", "10-win-overlay.conf", "cni.conf", "calico-kubeconfig",
	} {
		paths = append(paths, plan.Text(step.CNIFolder+`\`+name))
	}
	return paths
}

func withName(names []string, own string) []string {
	if slices.Contains(names, own) {
		return names
	}
	return append(slices.Clone(names), own)
}

// everyBoot: a reboot leaves networks and endpoints whose containers are gone, and addresses that they hold. The kubelet
// waits meanwhile, or it would start pods in what is just taken away: handOver sees to it that Windows does not start it, the
// first step that nobody else did. All steps but its start are optional: a node with half a network is seen and can be
// helped, one without a kubelet is not.
func (net *Network) everyBoot() []plan.Step {
	if !net.booted {
		return nil
	}
	steps := slices.Concat([]plan.Step{net.kubelet("kubelet-waits", plan.ServiceStopped)},
		net.bootCleanup(), net.vSwitch(), net.ownNetwork(), net.files())
	for _, step := range steps {
		step.Base().Optional = true
	}
	return append(steps, net.kubelet("kubelet-goes-on", plan.ServiceRunning))
}

// handOver are the last steps of a bootstrap. The service manager starts what is automatic before a task has looked at the
// network: a kubelet that is faster makes pods whose endpoints and addresses are then taken away. From the next start on
// everyBoot starts it. Until here it is automatic, for a restart in the middle of the bootstrap runs no everyBoot.
func (net *Network) handOver() []plan.Step {
	if !net.booted {
		return nil
	}
	return []plan.Step{
		&plan.Run{
			Common: plan.Common{Name: "kubelet-starts-last", Reason: step.ReasonKubeletServiceFailed, TimeoutSeconds: 60, Attempts: 3},
			Argv:   plan.Texts("sc.exe", "config", "kubelet", "start=", string(plan.StartDemand)),
		},
		// After a restart between these steps nobody else would start it.
		net.kubelet("kubelet-goes-on", plan.ServiceRunning),
	}
}

// checkKubeletStart: a start that Windows delays is none where Windows does not start the kubelet.
func (net reading) checkKubeletStart() error {
	if !net.booted || !net.DelayedStart {
		return nil
	}
	return step.Invalid("WindowsBootstrapConfig spec.kubelet.start", "%s has no effect in mode %s with %s, where the kubelet starts when the network is in order; leave it out",
		bootstrapv1.ServiceStartAutomaticDelayed, net.mode, cniName(net.cni))
}

func (net *Network) kubelet(name, state string) plan.Step {
	return &plan.ServiceState{
		Common:  plan.Common{Name: name, Reason: step.ReasonKubeletServiceFailed, TimeoutSeconds: 120, Attempts: 3},
		Service: "kubelet", State: state,
	}
}

// bootCleanup leaves the external network, whose vSwitch the machine talks by.
func (net *Network) bootCleanup() []plan.Step {
	endpoints := []string{"*" + net.podNetwork + "*"}
	if net.cni == bootstrapv1.CNIAzure {
		endpoints = append(endpoints, "*-eth0")
	}
	return []plan.Step{
		&plan.HNSCleanup{
			Common:   plan.Common{Name: "stale-networks", Reason: step.ReasonStaleNetworks, Attempts: 3},
			Networks: plan.Texts(net.podNetwork), Endpoints: plan.Texts(endpoints...), Keep: plan.Texts(net.external),
		},
		&plan.Remove{
			Common: plan.Common{Name: "stale-network-files", Reason: step.ReasonStaleNetworks, Attempts: 3},
			Paths:  plan.Texts(staleFiles...),
		},
	}
}

// patch is the smallest update of a build of Windows that a part of the network works with.
type patch struct {
	name, what, build, update string
}

// The updates: KB4489899 for VXLAN, KB4580390 for Direct Server Return, KB5012637 for the hybrid overlay.
var (
	patchOverlay = patch{"windows-2019-update-for-overlay", "overlay networks need", "17763", "379"}
	patchDSR     = patch{"windows-2019-update-for-dsr", "Direct Server Return needs", "17763", "1554"}
	patchHybrid  = patch{"windows-2022-update-for-hybrid-overlay", "the hybrid overlay needs", "20348", "681"}
)

// patchLevel asks the node for what no image's name tells.
func (net *Network) patchLevel() []plan.Step {
	var steps []plan.Step
	if net.twoFamilies() {
		steps = append(steps, buildCheck("windows-build-for-dual-stack", "pods with IPv4 and IPv6 need"))
	}
	switch {
	case net.cni == bootstrapv1.CNIOVNKubernetes:
		steps = append(steps, buildCheck("windows-build-for-hybrid-overlay", patchHybrid.what), patchHybrid.check())
	case net.overlay():
		steps = append(steps, patchOverlay.check())
	}
	if net.proxied && net.dsr {
		steps = append(steps, patchDSR.check())
	}
	return steps
}

// twoFamilies: HNS gives pods IPv6 beside IPv4 since Windows 2004, of whose servers 2022 is the first that lasts. In mode none
// nobody knows what the CNI asks of it.
func (net *Network) twoFamilies() bool {
	return net.dual && net.pods.dual() && net.mode != bootstrapv1.NetworkNone
}

// buildCheck asks for Windows Server 2022; what begins the sentence that says why.
func buildCheck(name, what string) plan.Step {
	return &plan.Check{
		Common: plan.Common{Name: name, Reason: step.ReasonWindowsNotSupported},
		Test:   plan.Test{Fact: plan.FactOSBuild, AtLeast: plan.Text(step.Windows2022)},
		Say: plan.Say("Windows has build ", plan.FactOSBuild,
			", "+what+" "+step.Windows2022+" (Windows Server 2022) or later"),
	}
}

func (p patch) check() plan.Step {
	return &plan.Check{
		Common: plan.Common{
			Name: p.name, Reason: step.ReasonWindowsPatchLevelTooLow, When: &plan.Test{Fact: plan.FactOSBuild, Is: plan.Text(p.build)},
		},
		Test: plan.Test{Fact: plan.FactOSUBR, AtLeast: plan.Text(p.update)},
		Say:  plan.Say("Windows has build "+p.build+".", plan.FactOSUBR, ", "+p.what+" "+p.build+"."+p.update+" or later"),
	}
}
