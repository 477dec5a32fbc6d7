package windows

import (
	"fmt"
	"slices"
	"strings"
)

// The first network on an adapter makes a vSwitch there, and an adapter "vEthernet (NAME)" with its MAC that takes over its
// addresses; with the last network both go. What DHCP has brought comes again. Routes and name servers that were set by hand do
// not: people set them again (docs of GKE's k8s-node-setup.psm1, sig-windows-tools issue 36).

// onlyUntilReboot is EnableNonPersistent of hcsshim (hcn/hcnnetwork.go), with which flannel makes its VXLAN.
const onlyUntilReboot = 8

// place finds the adapter of a new network and puts a vSwitch on it; a code says why not. Networks for this machine alone need
// none.
func (m *Machine) place(network map[string]any) (code string) {
	if len(m.state.Adapters) == 0 || strings.EqualFold(fmt.Sprint(network["Type"]), "nat") {
		network["ManagementIP"] = m.ManagementIP
		return ""
	}
	adapter, code := m.adapterFor(network["NetworkAdapterName"])
	if code != "" {
		return code
	}
	name := adapter.Name
	network["NetworkAdapterName"] = name
	virtual := m.virtual(name)
	if virtual == nil {
		virtual = m.makeVSwitch(adapter)
	}
	if network["ManagementIP"] == nil { // HNS keeps one that it is given
		network["ManagementIP"] = m.addressOn(virtual.Index)
	}
	return ""
}

// adapterFor a name. A vEthernet has its vSwitch already: "The parameter is incorrect", says Antrea's
// pkg/agent/agent_windows.go, as does azure-container-networking's network_windows.go. A name that no adapter has is
// HCN_E_ADAPTER_NOT_FOUND in the Windows SDK, "An adapter was not found". Without a name HNS "will just pick one randomly", says
// azure-container-networking: here the last that is free.
func (m *Machine) adapterFor(name any) (Adapter, string) {
	var found []Adapter
	for _, a := range m.state.Adapters {
		switch {
		case a.Hidden || name != nil && a.Name != name:
		case a.Virtual && name != nil:
			return a, "0x80070057"
		case !a.Virtual:
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		return Adapter{}, "0x803b0006"
	}
	free := without(found, func(a Adapter) bool { return m.virtual(a.Name) != nil })
	if len(free) == 0 {
		return found[0], ""
	}
	return free[len(free)-1], ""
}

// virtual is the adapter of the vSwitch on an adapter, which a program may have renamed; nil if it has none.
func (m *Machine) virtual(name string) *Adapter {
	below := slices.IndexFunc(m.state.Adapters, func(a Adapter) bool { return !a.Virtual && a.Name == name })
	at := slices.IndexFunc(m.state.Adapters, func(a Adapter) bool {
		return a.Virtual && (a.Name == vEthernet(name) || below >= 0 && a.Index == m.state.Adapters[below].Index+firstVirtual)
	})
	if at < 0 {
		return nil
	}
	return &m.state.Adapters[at]
}

func vEthernet(name string) string { return "vEthernet (" + name + ")" }

// firstVirtual is how far the number of a vEthernet is from that of its adapter.
const firstVirtual = 100

func (m *Machine) makeVSwitch(on Adapter) *Adapter {
	virtual := on
	virtual.Index, virtual.Name, virtual.Virtual = on.Index+firstVirtual, vEthernet(on.Name), true
	if m.forgetsStatic() && !on.DHCP {
		virtual.DHCP = true
		m.state.Addresses = without(m.state.Addresses, func(a Address) bool {
			return a.Index == on.Index && a.Origin == "Manual" && !IPv6(a.Address)
		})
		text := fmt.Sprintf("169.254.0.%d/16", virtual.Index)
		m.state.Addresses = append(m.state.Addresses, Address{Index: on.Index, Address: text, Origin: "WellKnown"})
	}
	m.state.Adapters = append(m.state.Adapters, virtual)
	m.moveAddresses(on, virtual.Index)
	return m.virtual(on.Name)
}

// forgetsStatic: before Server 2022 a vEthernet starts with DHCP, whatever its adapter had (microsoft/SDN issue 498), unless HNS
// is told not to (openshift/windows-machine-config-operator 0be4b9cc, docs/byoh-instance-pre-requisites.md).
func (m *Machine) forgetsStatic() bool {
	value, _ := m.state.value(ServicesKey+`\hns\State`, "DeviceLessNicDisabled")
	return m.Hardware.OSBuild == "17763" && value.Number != 1
}

// moveAddresses of an adapter to another, and only what DHCP brings of the rest.
func (m *Machine) moveAddresses(from Adapter, to int) {
	for i := range m.state.Addresses {
		if m.state.Addresses[i].Index == from.Index {
			m.state.Addresses[i].Index = to
		}
	}
	routes := m.state.Routes
	m.state.Routes = without(routes, func(r Route) bool { return r.Index == from.Index })
	servers := m.state.DNS[from.Index]
	delete(m.state.DNS, from.Index)
	if !from.DHCP {
		return
	}
	for _, route := range routes {
		if route.Index == from.Index && strings.HasSuffix(route.To, "/0") {
			route.Index = to
			m.state.Routes = append(m.state.Routes, route)
		}
	}
	if len(servers) > 0 {
		m.state.DNS[to] = servers
	}
}

// addressOn an adapter; none where DHCP brings none. An adapter that still waits for its lease has one of 169.254/16, and HNS
// keeps that for good (Azure/AgentBaker 6e2dbb2a, staging/cse/windows/azurecnifunc.ps1).
func (m *Machine) addressOn(index int) string {
	found := m.ManagementIP
	for _, address := range m.state.Addresses {
		text, _, _ := strings.Cut(address.Address, "/")
		switch {
		case address.Index != index || IPv6(text) || m.ManagementIP == "":
		case m.Clock.Now().Before(address.Preferred) || strings.HasPrefix(text, "169.254."):
			found = fmt.Sprintf("169.254.0.%d", index)
		default:
			return text
		}
	}
	return found
}

// remove items of HNS, and the vSwitches whose last network goes with them.
func (m *Machine) remove(gone func(item map[string]any) bool) {
	before := slices.Clone(m.state.HNS)
	m.state.HNS = slices.DeleteFunc(m.state.HNS, gone)
	for _, item := range before {
		name, _ := item["NetworkAdapterName"].(string)
		used := func(other map[string]any) bool { return other["NetworkAdapterName"] == name }
		at := slices.IndexFunc(m.state.Adapters, func(a Adapter) bool { return a.Name == name })
		virtual := m.virtual(name)
		if at < 0 || virtual == nil || slices.ContainsFunc(m.state.HNS, used) {
			continue
		}
		m.moveAddresses(*virtual, m.state.Adapters[at].Index)
		index := virtual.Index
		m.state.Adapters = without(m.state.Adapters, func(a Adapter) bool { return a.Index == index })
	}
}
