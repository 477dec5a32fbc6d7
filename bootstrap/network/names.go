package network

import (
	"fmt"
	"slices"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const fieldInterface = fieldNetwork + ".interface"

// readInterface finds the adapter that gets the vSwitch: the one of spec.network.interface, or the first. Of adapters that are
// the template's own, only Windows knows the names.
func (net reading) readInterface() error {
	name := net.Spec.Interface
	if len(net.adapters) == 0 {
		net.windowsAdapter = name
		return nil
	}
	if net.external == "" {
		return nil
	}
	at := 0
	if name != "" {
		at = slices.IndexFunc(net.adapters, func(a adapter) bool { return a.name == name })
	}
	if at < 0 {
		return step.Invalid(fieldInterface, "%q is not one of the machine's networkInterfaces; use %s, or remove it to use %s",
			name, step.OneOf(net.adapters.names()), net.adapters[0].name)
	}
	if at > 0 && net.OnAzure {
		return step.Invalid(fieldInterface, "%q is not the VM's primary adapter, the only one that pods can use on Azure; "+
			"use %s, or remove it", name, net.adapters[0].name)
	}
	net.adapter = &net.adapters[at]
	return nil
}

// named are the adapters that the node can tell apart: those with a MAC, the only one, and the VM's primary one on Azure.
func (net *Network) named() Adapters {
	return slices.DeleteFunc(slices.Clone(net.adapters), func(a adapter) bool { return a.mac == "" && a.number > 1 })
}

// factAdapter is the name that Windows gave to the adapter of the vSwitch.
const factAdapter = "adapter"

// nameAdapters gives the adapters the names of the spec. Where a CNI looks for a name of Windows' own, they keep it, and that
// of the vSwitch's adapter becomes a fact. This comes before the vSwitch, which takes over the adapter's name.
func (net *Network) nameAdapters() []plan.Step {
	if net.keepsNames() {
		if net.adapter == nil {
			return nil
		}
		return []plan.Step{net.adapter.find("adapter-name", plan.Adapter{Set: factAdapter})}
	}
	var steps []plan.Step
	for _, a := range net.named() {
		steps = append(steps, a.find(fmt.Sprintf("adapter-%d-name", a.number), plan.Adapter{Rename: plan.Text(a.name)}))
	}
	return steps
}

// keepsNames: Calico's kubelet-service.ps1 waits for an adapter whose name begins with "vEthernet (Ethernet", and so do scripts
// made of Microsoft's (microsoft/SDN, Kubernetes/windows/helper.psm1) for a CNI that is not known here. The others do not look
// for a name of Windows': Flannel takes the default route (sig-windows-tools, hostprocess/flannel/flanneld/start.ps1), Antrea the
// adapter of the node's IP (pkg/agent/agent_windows.go), OVN-Kubernetes MACs (hybrid-overlay, overlay_windows.go), azure-vnet the
// adapter of the subnet (azure-container-networking, cni/network/network.go).
func (net *Network) keepsNames() bool { return net.cni == "" || net.cni == bootstrapv1.CNICalico }

// find tries again for a minute: DHCP may bring the default route late, and on Server 2022 Windows fails to rename now and then
// with ERROR_TRANSACTION_NOT_ACTIVE, says microsoft/xdp-for-windows (tools/setup.ps1).
func (a *adapter) find(name string, what plan.Adapter) plan.Step {
	pause := 5
	what.Common = plan.Common{Name: name, Reason: step.ReasonNetworkNotReady, Attempts: 12, DelaySeconds: &pause}
	if a.mac != "" {
		what.MAC = plan.Text(a.mac)
	}
	return &what
}

// adapterOfVSwitch is the name for HNS, a leaf of a tree; nil if HNS chooses.
func (net *Network) adapterOfVSwitch() any {
	switch {
	case net.adapter == nil && net.windowsAdapter == "":
		return nil
	case net.adapter == nil:
		return net.windowsAdapter
	case net.keepsNames():
		return plan.FactLeaf(factAdapter)
	}
	return net.adapter.name
}
