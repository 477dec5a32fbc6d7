package network

import (
	"net/netip"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const factNodeAddress = "nodeAddress"

// NodeIP is the kubelet's --node-ip. Without it a kubelet may take the gateway of its pods for the node's address
// (microsoft/SDN issues 269 and 315). Addresses of pools are known; else it is that of our vSwitch or of the default route.
func (net *Network) NodeIP() plan.Value {
	if net.AddressGiven {
		return nil
	}
	if ip := net.pooledIP(); ip != "" {
		return plan.Text(ip)
	}
	if !net.oneIsEnough() {
		return nil
	}
	if net.external != "" && (net.adapter == nil || net.adapter.number == 1) {
		return plan.FromFact(plan.FactManagementIP)
	}
	return plan.FromFact(factNodeAddress)
}

// oneIsEnough reports whether an IPv4 address, which is all that the node can measure, is what the Node has to show. A cloud
// provider leaves out all addresses that the kubelet does not name (k8s.io/cloud-provider v0.36.3, node/helpers/address.go), so
// with two families it is better asked alone. A kubelet without one shows a single address in any case, and would look up the
// node's name for it (kubernetes v1.36.3, pkg/kubelet/nodestatus/setters.go).
func (net *Network) oneIsEnough() bool {
	return slices.Contains(net.podFamilies, true) && (len(net.podFamilies) == 1 || net.NoCloudProvider)
}

// pooledIP has one address of the first adapter for each family of the pods, in their order. Without one of the first family
// there is none: the Node would show an address of the second alone.
func (net *Network) pooledIP() string {
	var chosen []string
	for i, four := range net.podFamilies {
		isFamily := func(p netip.Prefix) bool { return p.Addr().Is4() == four }
		switch index := slices.IndexFunc(net.Adapters.ofFirst(), isFamily); {
		case index >= 0:
			chosen = append(chosen, net.Adapters.ofFirst()[index].Addr().String())
		case i == 0:
			return ""
		}
	}
	return strings.Join(chosen, ",")
}

// hostAddress is that of the adapter with the vSwitch, by which other nodes reach the pods.
func (net *Network) hostAddress() plan.Value {
	if net.external != "" {
		return plan.FromFact(plan.FactManagementIP)
	}
	if net.adapter != nil {
		for _, address := range net.adapter.addresses {
			if address.Addr().Is4() {
				return plan.Text(address.Addr().String())
			}
		}
	}
	return plan.FromFact(factNodeAddress)
}

// usableAddress is any IPv4 address outside of 169.254/16, of which Windows takes one itself where DHCP gives none: nobody
// reaches it, and the kubelet refuses it (kubernetes v1.36.3, pkg/kubelet/kubelet_node_status.go). Expressions have no "not".
const usableAddress = `(\d\d?|1[0-57-9]\d|16[0-8]|2\d\d)([.]\d+){3}|169[.](\d\d?|1\d\d|2[0-46-9]\d|25[0-35])([.]\d+){2}`

// nodeAddress measures the address from which the node talks to others. route.exe prints the same columns in every language.
func (net *Network) nodeAddress() []plan.Step {
	measured := plan.Part{Fact: factNodeAddress}
	inFile := net.written() && slices.Contains(net.hostAddress(), measured)
	if !inFile && !slices.Contains(net.NodeIP(), measured) {
		return nil
	}
	return []plan.Step{&plan.Fact{
		Common: plan.Common{Name: "node-address", Reason: step.ReasonNetworkNotReady, Attempts: 24},
		Argv:   plan.Texts("route.exe", "print", "0.0.0.0"),
		Match:  `\s0[.]0[.]0[.]0\s+0[.]0[.]0[.]0\s+\d+[.]\d+[.]\d+[.]\d+\s+(` + usableAddress + `)\s`, Set: factNodeAddress,
		Say: plan.Text("Windows has no default route, from which the node gets its address; use spec.kubelet.extraArgs with " +
			"node-ip 0.0.0.0 to leave the choice to the kubelet"),
	}}
}

// AddressAgain measures it at a later start for the kubelet alone. Where everyBoot makes a vSwitch or the CNI's file, that does.
func (net *Network) AddressAgain() []plan.Step {
	if net.booted {
		return nil
	}
	return optional(net.nodeAddress())
}

// useFeatures installs what the CNI uses of Windows. Calico routes by BGP with the service RemoteAccess, which must be a router:
// its script restarts that service. Antrea moves packets past Windows' firewall, and its docs/windows.md has it turned off.
func (net *Network) useFeatures() []plan.Step {
	if len(net.features) == 0 {
		return nil
	}
	steps := []plan.Step{
		&plan.Feature{
			Common:   plan.Common{Name: "network-features", Reason: step.ReasonFeatureFailed, TimeoutSeconds: 1200},
			Features: plan.Texts(net.features...),
		},
		&plan.Reboot{Common: plan.Common{Name: "network-features-reboot", Reason: step.ReasonFeatureFailed}, If: plan.RebootPending},
	}
	if net.cni == bootstrapv1.CNIAntrea {
		return append(steps, step.Tool("firewall-off", step.ReasonNetworkSettingsFailed,
			"netsh.exe", "advfirewall", "set", "allprofiles", "state", "off"))
	}
	return append(steps,
		&plan.Run{
			Common: plan.Common{Name: "router", Reason: step.ReasonFeatureFailed, TimeoutSeconds: 300, Attempts: 3},
			Argv:   plan.Texts(step.PowerShell, "-NoProfile", "-NonInteractive", "-Command", becomeRouter),
		},
		step.ServiceState("router-running", step.ReasonFeatureFailed, "RemoteAccess", plan.ServiceRunning),
	)
}

// becomeRouter is nothing where it was done before: the cmdlet fails then.
const becomeRouter = "$ErrorActionPreference = 'Stop'; if ((Get-RemoteAccess).RoutingStatus -ne 'Installed') " +
	"{ Install-RemoteAccess -VpnType RoutingOnly }"

// HasOwnCNI reports whether we write the CNI's configuration, or look for its programs.
func (net *Network) HasOwnCNI() bool { return net.config != nil || len(net.programs) > 0 }

// lookForPrograms that the image, a file or a script must have brought: without them no pod ever starts.
func (net *Network) lookForPrograms() []plan.Step {
	if net.waitsForFlanneld() && !net.flanneld { // the pods that run flanneld bring the programs as well: see behindFlannel
		return nil
	}
	return net.awaitPrograms("put it into the image, or have a preJoin script bring it", 30)
}

func (net *Network) awaitPrograms(mend string, seconds int) []plan.Step {
	programs := net.programs
	if net.cni == bootstrapv1.CNIAzure && net.pods.dual() {
		programs = append(slices.Clone(programs), "azure-vnet-ipamv6")
	}
	var steps []plan.Step
	for _, name := range programs {
		path := step.CNIPrograms + `\` + name + ".exe"
		steps = append(steps, &plan.WaitFor{
			Common: plan.Common{Name: "cni-program-" + name, Reason: step.ReasonCNIProgramMissing, TimeoutSeconds: seconds},
			For:    plan.ForFile, Target: plan.Text(path),
			Say: plan.Text(path + " of " + string(net.cni) + " does not exist; " + mend),
		})
	}
	return steps
}
