package network

import (
	"slices"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// cniState is where host-local records which pod has which address.
const cniState = step.CNIState + `\networks`

// What CNIs leave behind: HNS networks and endpoints, by name, and files. On the first boot all of them are from the
// machine that the image was made of.
var (
	staleNetworks = []string{
		"External", "ext", "cbr0", "l2bridge", "vxlan0", "overlay", "flannel.*", "Calico*", "azure*",
		"*OVNKubernetesHybridOverlayNetwork",
	}
	staleEndpoints = []string{"*cbr0*", "*vxlan0*", "*flannel.*", "*Calico*", "*-eth0", "VIPEndpoint"}
	staleFiles     = []string{
		`C:\k\SourceVip.json`, `C:\k\SourceVipRequest.json`, step.FlannelFolder + `\subnet.env`,
		`C:\k\azure-vnet.json`, `C:\k\azure-vnet-ipam.json`, step.CNIState + `\flannel`, cniState,
	}
)

// cleanup of the first boot. If only the CNI knows its network, nothing is touched.
func (net *Network) cleanup() []plan.Step {
	if net.hnsNetwork == "" {
		return nil
	}
	return []plan.Step{
		&plan.HNSCleanup{
			Common:    plan.Common{Name: "stale-networks", Reason: step.ReasonStaleNetworks, Attempts: 3},
			Networks:  plan.Texts(withName(staleNetworks, net.podNetwork)...),
			Endpoints: plan.Texts(withName(staleEndpoints, "*"+net.podNetwork+"*")...),
		},
		&plan.Remove{
			Common: plan.Common{Name: "stale-network-files", Reason: step.ReasonStaleNetworks, Attempts: 3},
			Paths:  append(plan.Texts(staleFiles...), staleConfigurations()...),
		},
	}
}

// staleConfigurations are files that CNIs write; a user's file with another name stays.
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

// everyBoot removes what a reboot leaves: networks, endpoints whose containers are gone, and their addresses. The
// kubelet must not start before, or it would create pods in networks that are about to be removed; handOver turns its
// automatic start off. All steps but its start are optional: a node with half a network can be seen and repaired, a
// node without a kubelet cannot.
func (net *Network) everyBoot() []plan.Step {
	if !net.booted {
		return nil
	}
	steps := slices.Concat([]plan.Step{net.kubelet("kubelet-waits", plan.ServiceStopped)},
		net.bootCleanup(), net.vSwitch(), net.ownNetwork(), net.files())
	for _, step := range steps {
		step.Base().Optional = true
	}
	start := net.kubelet("kubelet-goes-on", plan.ServiceRunning)
	start.Base().Always = true
	return append(steps, start)
}

// handOver is the last part of a bootstrap: from the next boot on, everyBoot starts the kubelet instead of Windows,
// which would start it before our task has cleaned the network. Until here its start is automatic, because a restart
// in the middle of a bootstrap does not run everyBoot.
func (net *Network) handOver() []plan.Step {
	if !net.booted {
		return nil
	}
	return []plan.Step{
		&plan.Run{
			Common: plan.Common{Name: "kubelet-starts-last", Reason: step.ReasonKubeletServiceFailed, TimeoutSeconds: 60, Attempts: 3},
			Argv:   plan.Texts("sc.exe", "config", "kubelet", "start=", string(plan.StartDemand)),
		},
		// If the machine restarts between these two steps, nothing else starts the kubelet.
		net.kubelet("kubelet-goes-on", plan.ServiceRunning),
	}
}

// checkKubeletStart refuses a delayed start where everyBoot starts the kubelet.
func (net reading) checkKubeletStart() error {
	if !net.booted || !net.DelayedStart {
		return nil
	}
	return step.Invalid("WindowsBootstrapConfig spec.kubelet.start",
		"%s has no effect in mode %s with %s, where the bootstrap starts the kubelet once the network is set up; remove it",
		bootstrapv1.ServiceStartAutomaticDelayed, net.mode, cniName(net.cni))
}

func (net *Network) kubelet(name, state string) plan.Step {
	return &plan.ServiceState{
		Common:  plan.Common{Name: name, Reason: step.ReasonKubeletServiceFailed, TimeoutSeconds: 120, Attempts: 3},
		Service: "kubelet", State: state,
	}
}

// bootCleanup keeps the external network: the machine's own connections use its vSwitch.
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

// patch is the oldest update of a Windows build with which a feature of the network works.
type patch struct {
	name, what, build, update string
}

// The updates: KB4489899 for VXLAN, KB4580390 for Direct Server Return, KB5012637 for the hybrid overlay.
var (
	patchOverlay = patch{"windows-2019-update-for-overlay", "overlay networks need", "17763", "379"}
	patchDSR     = patch{"windows-2019-update-for-dsr", "Direct Server Return needs", "17763", "1554"}
	patchHybrid  = patch{"windows-2022-update-for-hybrid-overlay", "the hybrid overlay needs", "20348", "681"}
)

// patchLevel checks on the node what the name of an image does not tell.
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

// twoFamilies says whether pods have IPv6 beside IPv4: HNS can do that since Windows 2004, and Server 2022 is its
// first long-term release. In mode none the requirements of the CNI are not known.
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
