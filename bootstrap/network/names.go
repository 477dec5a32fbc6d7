package network

import (
	"fmt"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const fieldInterface = fieldNetwork + ".interface"

// readInterface finds the adapter that gets the vSwitch: the one of spec.network.interface, or the first. Of adapters that are
// the template's own, only Windows knows the names.
func (net *Network) readInterface() error {
	name := net.Spec.Interface
	if len(net.Adapters) == 0 {
		net.windowsAdapter = name
		return nil
	}
	if !net.choosesAdapter() {
		return nil
	}
	index := 0
	if name != "" {
		index = slices.IndexFunc(net.Adapters, func(a adapter) bool { return a.name == name })
	}
	if index < 0 {
		return step.Invalid(fieldInterface, "%q is not one of the machine's networkInterfaces; use %s, or remove it to use %s",
			name, step.OneOf(net.Adapters.names()), net.Adapters[0].name)
	}
	if index > 0 && net.OnAzure {
		return step.Invalid(fieldInterface, "%q is not the VM's primary adapter, the only one that pods can use on Azure; "+
			"use %s, or remove it", name, net.Adapters[0].name)
	}
	net.adapter = &net.Adapters[index]
	return nil
}

// named are the adapters that the node can distinguish: those with a MAC, the only one, and the VM's primary one on Azure.
func (net *Network) named() Adapters {
	return slices.DeleteFunc(slices.Clone(net.Adapters), func(a adapter) bool { return a.mac == "" && a.number > 1 })
}

// factAdapter is the name that Windows gave to the adapter of the vSwitch.
const factAdapter = "adapter"

// nameAdapters gives the adapters the names of the spec, so that one name of an adapter is right for all machines of a pool.
// Where the spec lists none, that of the vSwitch's adapter becomes a fact: HNS takes any free adapter if none is named. This
// comes before the vSwitch, which takes over the adapter's name. No CNI looks for a name of Windows' own: Flannel takes the
// configured interface, Calico the one of VXLAN_ADAPTER or the first (projectcalico/calico 87c15906, node-service.ps1), Antrea
// the adapter of the node's IP (pkg/agent/agent_windows.go), azure-vnet the one of the subnet (azure-container-networking,
// cni/network/network.go).
func (net *Network) nameAdapters() []plan.Step {
	var steps []plan.Step
	for _, a := range net.named() {
		steps = append(steps, a.find(fmt.Sprintf("adapter-%d-name", a.number), plan.Adapter{Rename: plan.Text(a.name)}))
	}
	if !net.adapterMeasured() {
		return steps
	}
	return append(steps, (&adapter{}).find("adapter-name", plan.Adapter{Set: factAdapter}))
}

// adapterMeasured reports whether only the node knows the name of the vSwitch's adapter.
func (net *Network) adapterMeasured() bool {
	return net.external != "" && net.windowsAdapter == "" && net.adapter == nil
}

// find tries again for a minute: DHCP may bring the default route late, and on Server 2022 Windows fails to rename now and then
// with ERROR_TRANSACTION_NOT_ACTIVE (microsoft/xdp-for-windows, tools/setup.ps1).
func (a *adapter) find(name string, wanted plan.Adapter) plan.Step {
	pause := 5
	wanted.Common = plan.Common{Name: name, Reason: step.ReasonNetworkNotReady, Attempts: 12, DelaySeconds: &pause}
	if a.mac != "" {
		wanted.MAC = plan.Text(a.mac)
	}
	return &wanted
}

// adapterName is that of the adapter which has the vSwitch, or will have it.
func (net *Network) adapterName() plan.Value {
	switch {
	case net.adapterMeasured():
		return plan.FromFact(factAdapter)
	case net.adapter == nil:
		return plan.Text(net.windowsAdapter)
	}
	return plan.Text(net.adapter.name)
}

// leaf is a Value of one part in a tree.
func leaf(value plan.Value) any {
	if fact := value[0].Fact; fact != "" {
		return plan.FactLeaf(fact)
	}
	return value[0].Text
}
