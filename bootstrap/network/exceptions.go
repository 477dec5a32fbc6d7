package network

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// readExceptions: only IPv4 addresses are translated, so exceptions are IPv4 as well.
func (net *Network) readExceptions() error {
	const field = fieldNetwork + ".exceptionCIDRs"
	extra, err := readCIDRs(field, net.Spec.ExceptionCIDRs)
	if err != nil {
		return err
	}
	if len(extra.four()) < len(extra) {
		return step.Invalid(field, "%s has IPv6 CIDRs, which are never translated; use IPv4 only", extra)
	}
	if net.azureOnly && len(extra) == 0 {
		return step.Invalid(field,
			"must not be empty, because pods of %s have addresses of the virtual network: packets to pods of other nodes "+
				"would leave with the node's address; list all ranges of the virtual network, such as 10.0.0.0/8", net.cni)
	}
	net.ownExceptions = len(extra) > 0
	net.exceptions = slices.Concat(net.pods.four(), net.services.four(), net.machineSubnet(), extra).broadest()
	return nil
}

// machineSubnet is the subnet of the node's own adapter, if pools give its addresses. It is no exception in a VXLAN:
// outside of it there is no route to a pod's own address.
func (net *Network) machineSubnet() ranges {
	if net.overlay() {
		return nil
	}
	var subnet ranges
	for _, address := range net.Adapters.ofFirst() {
		subnet = append(subnet, address.Masked())
	}
	return subnet.four()
}

// subnetMeasured: the node looks up its subnet if DHCP brings its address and the user has not listed the machines that see pods
// with their own addresses. In a VXLAN it does not, because there the CNI makes the vSwitch. Beside ranges of the user it cannot
// stand: a plan cannot compare ranges, and HNS of Server 2019 fails on two with the same first address.
func (net *Network) subnetMeasured() bool {
	return net.external != "" && !net.ownExceptions && len(net.machineSubnet()) == 0
}

const factMachineSubnet = "machineSubnet"

// measureSubnet asks for the range of the adapter with the vSwitch. netsh.exe prints it as a CIDR in every language.
func (net *Network) measureSubnet() []plan.Step {
	if !net.subnetMeasured() {
		return nil
	}
	adapter := plan.Parts(plan.Text("vEthernet ("), net.adapterName(), plan.Text(")"))
	return []plan.Step{&plan.Fact{
		Common: plan.Common{Name: "machine-subnet", Reason: step.ReasonNetworkNotReady, Attempts: 6},
		Argv: append(plan.Texts("netsh.exe", "interface", "ipv4", "show", "addresses"),
			plan.Parts(plan.Text("name="), adapter)),
		Match: `\s(\d+[.]\d+[.]\d+[.]\d+/\d+)\s`, Set: factMachineSubnet,
		Say: plan.Parts(plan.Text("Windows does not show the subnet of the adapter "), adapter),
	}}
}

// exceptionTexts are all ranges that pods reach with their own addresses.
func (net *Network) exceptionTexts() []any {
	texts := anys(net.exceptions.texts())
	if net.subnetMeasured() {
		texts = append(texts, inJSON(plan.FromFact(factMachineSubnet)))
	}
	return texts
}
