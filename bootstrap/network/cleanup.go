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
		antreaNetwork,
	}
	staleEndpoints = []string{"*cbr0*", "*vxlan0*", "*flannel.*", "*Calico*", "*-eth0", "*antrea*"}
	staleFiles     = []string{
		`C:\k\SourceVip.json`, `C:\k\SourceVipRequest.json`, subnetFile,
		step.CNIState + `\flannel`, cniState,
	}
	// stalePatterns are the state of azure-vnet, with the locks on it. It writes to the folder in which it runs, which under
	// containerd is that of services (Azure/AgentBaker, staging/cse/windows: containerd issue 4928), and once was C:\k. The last
	// one is the source VIP of kube-proxy's images.
	stalePatterns = []string{
		step.ServicesFolder + `\azure-vnet*.json`, step.ServicesFolder + `\azure-vnet*.lock`,
		step.ProgramsDirectory + `\azure-vnet*.json`, step.ProgramsDirectory + `\azure-vnet*.lock`,
		// Images of kube-proxy keep its source VIP there and ask no more for it, while its reservation is in cniState
		// (kubernetes-sigs/sig-windows-tools 729ae7c^, hostprocess/flannel/kube-proxy/start.ps1).
		`C:\sourcevip\sourceVip*.json`,
	}
)

// cleanup of the first boot. If the CNI chooses the name of its network, nothing is touched.
func (net *Network) cleanup() []plan.Step {
	if net.hnsNetwork == "" && !net.booted {
		return nil
	}
	networks, endpoints := staleNetworks, staleEndpoints
	if net.podNetwork != "" {
		networks, endpoints = withName(networks, net.podNetwork), withName(endpoints, "*"+net.podNetwork+"*")
	}
	return []plan.Step{
		cleanHNS(networks, endpoints),
		removeFiles(staleConfigurations()),
	}
}

// staleConfigurations are files that CNIs write; a user's file with another name stays.
func staleConfigurations() []plan.Value {
	var paths []plan.Value
	for _, name := range []string{
		"10-flannel.conf", "10-flannel.conflist", "10-calico.conf", "10-calico.conflist", "10-azure.conflist",
		"10-win-bridge.conf", "10-win-overlay.conf", "10-antrea.conflist", "cni.conf",
		"calico-kubeconfig",
	} {
		paths = append(paths, plan.Text(step.CNIFolder+`\`+name))
	}
	return paths
}

func withName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(slices.Clone(names), name)
}

// everyBoot removes what a reboot leaves: networks, endpoints whose containers are gone, and their addresses. The
// kubelet must not start before, or it would create pods in networks that are about to be removed. All steps are optional: a
// node with half a network can be seen and repaired, a node without a kubelet cannot.
func (net *Network) everyBoot() []plan.Step {
	if !net.booted {
		return nil
	}
	steps := net.bootCleanup()
	if net.base != "" {
		steps = append(steps, net.restored("-before-cni")...)
	}
	steps = slices.Concat(steps, net.vSwitch(), net.measureSubnet(), net.nodeAddress(), net.flanneldAgain())
	if !net.waitsForFlanneld() {
		steps = append(steps, net.files()...)
	}
	return optional(steps)
}

// checkKubeletStart refuses a delayed start where everyBoot starts the kubelet.
func (net *Network) checkKubeletStart() error {
	if !net.booted || !net.DelayedStart {
		return nil
	}
	return step.Invalid("WindowsBootstrapConfig spec.kubelet.start",
		"%s has no effect in mode %s with %s, where the bootstrap starts the kubelet once the network is set up; remove it",
		bootstrapv1.ServiceStartAutomaticDelayed, net.mode, cniName(net.cni))
}

// antreaNetwork is LocalHNSNetwork of antrea-io/antrea v2.7.0, pkg/agent/util/net_windows.go.
const antreaNetwork = "antrea-hnsnetwork"

// bootCleanup keeps an external network of ours: the machine's own connections use its vSwitch. Those of CNIs are made anew. That
// of Antrea belongs to its script, which has run in custom.everyBoot before: it leaves a network whose Open vSwitch Extension is
// on, and removes any other with its adapters, its vSwitch and the bridge of Open vSwitch (antrea-io/antrea v2.7.0,
// hack/windows/Prepare-AntreaAgent.ps1 and Clean-AntreaNetwork.ps1).
func (net *Network) bootCleanup() []plan.Step {
	if net.cni == bootstrapv1.CNIAntrea {
		return []plan.Step{removeFiles(net.staleAtBoot())}
	}
	networks, endpoints := []string{net.podNetwork}, []string{"*" + net.podNetwork + "*"}
	if net.base != "" {
		networks = withName(networks, net.baseName())
	}
	if net.cni == bootstrapv1.CNIAzure {
		endpoints = append(endpoints, "*-eth0")
	}
	cleanup := cleanHNS(networks, endpoints)
	if net.external != "" {
		cleanup.Keep = plan.Texts(net.external)
	}
	return []plan.Step{cleanup, removeFiles(net.staleAtBoot())}
}

// staleAtBoot is the configuration that its daemon must bring again: with it, the node would be Ready, and pods would get a
// network, or none, before the daemon is there. calico-node removes all networks at each start of Windows, also those of
// pods, and its plug-in makes its own without it (projectcalico/calico 87c15906, node-service.ps1 and
// cni-plugin/pkg/dataplane/windows; tigera/operator 40788b9b, pkg/render/windows.go: nodename_file_optional). Antrea's plug-in
// refuses each pod until its agent answers; the init container install-cni, which each new sandbox runs again, copies the file
// (antrea-io/antrea v2.7.0, build/charts/antrea-windows/conf/Install-WindowsCNI.ps1).
func (net *Network) staleAtBoot() []plan.Value {
	switch {
	case net.waitsForFlanneld():
		return plan.Texts(net.cniFile())
	case net.cni == bootstrapv1.CNICalico:
		return plan.Texts(step.CNIFolder + `\10-calico.conflist`)
	case net.cni == bootstrapv1.CNIAntrea:
		return plan.Texts(step.CNIFolder + `\10-antrea.conflist`)
	}
	return nil
}

func cleanHNS(networks, endpoints []string) *plan.HNSCleanup {
	return &plan.HNSCleanup{
		Common:   plan.Common{Name: "stale-networks", Reason: step.ReasonStaleNetworks, Attempts: 3},
		Networks: plan.Texts(networks...), Endpoints: plan.Texts(endpoints...),
	}
}

func removeFiles(files []plan.Value) plan.Step {
	return &plan.Remove{
		Common: plan.Common{Name: "stale-network-files", Reason: step.ReasonStaleNetworks},
		Paths:  append(plan.Texts(staleFiles...), files...), Patterns: plan.Texts(stalePatterns...),
	}
}

// patch is the oldest update of a Windows build with which a feature of the network works.
type patch struct {
	name, subject, build, update string
	// announced: nobody has announced that the update has the fix, so a node without it warns.
	announced bool
}

// The updates: KB4489899 for VXLAN, KB4580390 for Direct Server Return. For VXLAN on Server 2025, SIG Windows has announced a fix
// in the security update of October 2025 (https://github.com/rancher/rancher/issues/50915), which is KB5066835
// (docs/network-details.md has its address); that it came there is not confirmed.
var (
	patchOverlay     = patch{"windows-2019-update-for-overlay", "overlay networks need", step.Windows2019, "379", false}
	patchDSR         = patch{"windows-2019-update-for-dsr", "Direct Server Return needs", step.Windows2019, "1554", false}
	patchOverlay2025 = patch{
		"windows-2025-update-for-overlay", "a fix of overlay networks was announced for", step.Windows2025, "6899", true,
	}
)

// patchLevel checks on the node what the name of an image does not show.
func (net *Network) patchLevel() []plan.Step {
	var steps []plan.Step
	if net.twoFamilies() {
		steps = append(steps, buildCheck("windows-build-for-dual-stack", "pods with IPv4 and IPv6 need"))
	}
	if net.overlay() {
		steps = append(steps, patchOverlay.check(), patchOverlay2025.check())
	}
	if net.proxied && net.dsr {
		steps = append(steps, patchDSR.check())
	}
	return steps
}

// twoFamilies reports whether pods have IPv6 beside IPv4: HNS can do that since Windows 2004, and Server 2022 is its first
// long-term release. In mode none the requirements of the CNI are not known.
func (net *Network) twoFamilies() bool {
	return net.dual && net.pods.dual() && net.mode != bootstrapv1.NetworkNone
}

// buildCheck asks for Windows Server 2022; subject begins the sentence with the reason.
func buildCheck(name, subject string) plan.Step {
	return &plan.Check{
		Common: plan.Common{Name: name, Reason: step.ReasonWindowsNotSupported},
		Test:   plan.Test{Fact: plan.FactOSBuild, AtLeast: plan.Text(step.Windows2022)},
		Say: plan.Say("Windows has build ", plan.FactOSBuild,
			", "+subject+" "+step.Windows2022+" (Windows Server 2022) or later"),
	}
}

func (p patch) check() plan.Step {
	return &plan.Check{
		Common: plan.Common{
			Name: p.name, Reason: step.ReasonWindowsPatchLevelTooLow, Optional: p.announced,
			When: &plan.Test{Fact: plan.FactOSBuild, Is: plan.Text(p.build)},
		},
		Test: plan.Test{Fact: plan.FactOSUBR, AtLeast: plan.Text(p.update)},
		Say:  plan.Say("Windows has build "+p.build+".", plan.FactOSUBR, ", "+p.subject+" "+p.build+"."+p.update+" or later"),
	}
}
