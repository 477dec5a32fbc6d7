package network

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const adaptersField = "WindowsMachine spec.vsphere.networkInterfaces"

// adapter is an adapter of the spec, read and found good. The bootstrap configures it if it has addresses from pools, because
// cloudbase-init 1.1.4, which images have, ignores the network part of its metadata.
type adapter struct {
	name   string
	number int // from 1 on, of the spec
	// mac is empty if the cloud chooses it: the adapter is the only one, or the first one on Azure.
	mac       string
	addresses []netip.Prefix
	gateways  []netip.Addr
	dns       []netip.Addr
	routes    []hop
	mtu       int
	// secondary addresses, which Azure CNI gives to pods.
	secondary int
}

type hop struct {
	destination netip.Prefix
	via         netip.Addr
}

// Adapters are the VM's adapters in the order of the spec; there are none if they are those of the template.
type Adapters []adapter

// Addressed reports whether the status has every MAC that the machine needs, and every address that it needs from pools.
func Addressed(m *infrav1.WindowsMachine) bool {
	if !wantsMACs(m) {
		return true
	}
	complete := func(wanted infrav1.VSphereNetworkInterface, found infrav1.MachineNetworkInterface) bool {
		return len(wanted.AddressesFromPools) == len(found.Addresses)
	}
	return slices.EqualFunc(m.Spec.VSphere.NetworkInterfaces, m.Status.NetworkInterfaces, complete)
}

// wantsMACs: only a single adapter that uses DHCP is found without its MAC.
func wantsMACs(m *infrav1.WindowsMachine) bool {
	if m.Spec.VSphere == nil || len(m.Spec.VSphere.NetworkInterfaces) == 0 {
		return false
	}
	wanted := m.Spec.VSphere.NetworkInterfaces
	return len(wanted) > 1 || len(wanted[0].AddressesFromPools) > 0
}

// ReadAdapters reads the adapters. Windows uses one default route of each family, which comes from the first gateway.
func ReadAdapters(m *infrav1.WindowsMachine) (Adapters, error) {
	if !Addressed(m) {
		return nil, errors.New("render: the WindowsMachine has no status.networkInterfaces with the MACs and addresses of its adapters")
	}
	if m.Spec.VSphere == nil {
		return azureAdapters(m.Spec.Azure)
	}
	var adapters Adapters
	routed := map[bool]bool{}
	for i, spec := range m.Spec.VSphere.NetworkInterfaces {
		a := adapter{name: spec.Name, number: i + 1, mtu: int(spec.MTU)}
		if err := a.checkName(adaptersField, adapters); err != nil {
			return nil, err
		}
		if wantsMACs(m) {
			if err := a.readFound(m.Status.NetworkInterfaces[i], routed); err != nil {
				return nil, err
			}
		}
		if err := a.readRoutes(spec); err != nil {
			return nil, err
		}
		adapters = append(adapters, a)
	}
	return adapters, nil
}

// azureAdapters: Azure chooses their MACs and addresses.
func azureAdapters(vm *infrav1.AzureVM) (Adapters, error) {
	var adapters Adapters
	if vm == nil {
		return adapters, nil
	}
	for i, spec := range vm.NetworkInterfaces {
		a := adapter{name: spec.Name, number: i + 1, secondary: int(spec.SecondaryAddresses)}
		if err := a.checkName("WindowsMachine spec.azure.networkInterfaces", adapters); err != nil {
			return nil, err
		}
		adapters = append(adapters, a)
	}
	return adapters, nil
}

// interfaceName is the API's pattern.
var interfaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// podAdapter is how the names of pods' adapters begin. The vSwitch calls the adapter nat "vEthernet (nat)", which VMware Tools is
// configured to hide, and so the node would have no address. It is refused on every cloud, as a template may be for several.
var podAdapter = regexp.MustCompile(`^(nat$|cbr0|flannel|antrea-gw)`)

func (a *adapter) checkName(field string, previous Adapters) error {
	field = fmt.Sprintf("%s[%d].name", field, a.number-1)
	switch {
	case !interfaceName.MatchString(a.name) || slices.Contains(previous.names(), a.name):
		return step.Invalid(field,
			"%q is not valid, or another adapter has it; use lowercase letters, digits and '-', such as node", a.name)
	case podAdapter.MatchString(a.name):
		return step.Invalid(field,
			"%q looks like the name of a pod's adapter, and VMware Tools would hide it; use another name, such as node", a.name)
	}
	return nil
}

func (a *adapter) readFound(found infrav1.MachineNetworkInterface, routed map[bool]bool) error {
	field := fmt.Sprintf("WindowsMachine status.networkInterfaces[%d]", a.number-1)
	if a.mac = found.MACAddress; !adapterMAC.MatchString(a.mac) {
		return step.Invalid(field,
			"macAddress %q is not one that this provider assigns; delete the Machine to get a new one", a.mac)
	}
	for _, address := range found.Addresses {
		if err := CheckAddress(address); err != nil {
			return step.Invalid(field, "%s; correct the pool that it comes from, then delete the Machine", err)
		}
		prefix := netip.MustParsePrefix(address.Address)
		a.addresses = append(a.addresses, prefix)
		if address.Gateway == "" || routed[prefix.Addr().Is4()] {
			continue
		}
		routed[prefix.Addr().Is4()] = true
		a.gateways = append(a.gateways, netip.MustParseAddr(address.Gateway))
	}
	return nil
}

func (a *adapter) readRoutes(spec infrav1.VSphereNetworkInterface) error {
	field := fmt.Sprintf("%s[%d]", adaptersField, a.number-1)
	if spec.MTU != 0 && (spec.MTU < 1280 || spec.MTU > 9000) {
		return step.Invalid(field+".mtu", "%d is not valid; use 1280 to 9000, or remove it", spec.MTU)
	}
	for _, text := range spec.Nameservers {
		server, ok := plainAddress(text)
		if !ok {
			return step.Invalid(field+".nameservers", "%q is not an address; use one such as 10.0.0.2", text)
		}
		a.dns = append(a.dns, server)
	}
	for _, route := range spec.Routes {
		destination, err := readCIDR(field+".routes", route.To)
		if err != nil {
			return err
		}
		if destination.Bits() == 0 {
			return step.Invalid(field+".routes",
				"%s is the default route, which comes from the gateway of the adapter's pool; remove it", destination)
		}
		via, ok := plainAddress(route.Via)
		if !ok || via.Is4() != destination.Addr().Is4() {
			return step.Invalid(field+".routes", "%s cannot be reached via %q; use an address of the same family", destination, route.Via)
		}
		if !a.neighbour(via) {
			return step.Invalid(field+".routes",
				"%s is not in a network of the adapter, which has %s; use an address in one of them, or another pool",
				via, showPrefixes(a.addresses))
		}
		a.routes = append(a.routes, hop{destination, via})
	}
	return nil
}

// adapterMAC is the range from which our controller chooses.
var adapterMAC = regexp.MustCompile(`^00:50:56:[0-3][0-9a-f]:[0-9a-f]{2}:[0-9a-f]{2}$`)

// plainAddress accepts no zone, which has a meaning on one computer only, and no IPv4 address written as IPv6.
func plainAddress(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(text)
	return address, err == nil && address.Zone() == "" && !address.Is4In6()
}

// neighbour reports whether the adapter reaches an address directly. If it has no address of that family, DHCP may bring one.
func (a *adapter) neighbour(address netip.Addr) bool {
	family := slices.DeleteFunc(slices.Clone(a.addresses), func(p netip.Prefix) bool { return p.Addr().Is4() != address.Is4() })
	return len(family) == 0 || address.IsLinkLocalUnicast() ||
		slices.ContainsFunc(family, func(p netip.Prefix) bool { return p.Contains(address) })
}

func showPrefixes(prefixes []netip.Prefix) string { return strings.Join(showAll(prefixes), ", ") }

// showAll is the text of each.
func showAll[T fmt.Stringer](list []T) []string {
	texts := make([]string, 0, len(list))
	for _, item := range list {
		texts = append(texts, item.String())
	}
	return texts
}

// addressed are the adapters with addresses from pools.
func (list Adapters) addressed() Adapters {
	return slices.DeleteFunc(slices.Clone(list), func(a adapter) bool { return len(a.addresses) == 0 })
}

// names of the adapters, in the order of the spec.
func (list Adapters) names() []string {
	names := make([]string, 0, len(list))
	for _, a := range list {
		names = append(names, a.name)
	}
	return names
}

// Steps give the adapters their addresses before anything needs the network, and wait until Windows has checked that
// no other computer uses them.
func (list Adapters) Steps() step.Part {
	var p step.Part
	for _, a := range list.addressed() {
		p.Add(step.PhasePrepare, a.step(""))
	}
	for _, a := range list.addressed() {
		for i, address := range a.addresses {
			p.Add(step.PhasePrepare, &plan.WaitFor{
				Common: plan.Common{
					Name: fmt.Sprintf("address-%d-%d-usable", a.number, i+1), Reason: step.ReasonAddressesNotSet, TimeoutSeconds: 60,
				},
				For: plan.ForAddress, Target: plan.Text(address.Addr().String()),
				Say: plan.Text("Windows does not accept the address " + address.Addr().String()),
			})
		}
	}
	return p
}

// repeated are the settings once more: a new vSwitch takes over an adapter's addresses, but Windows loses the routes and name
// servers.
func (list Adapters) repeated(suffix string) []plan.Step {
	var steps []plan.Step
	for _, a := range list.addressed() {
		steps = append(steps, a.step(suffix))
	}
	return steps
}

func (a *adapter) step(suffix string) plan.Step {
	pause := 5
	step := &plan.Address{
		Common: plan.Common{
			Name: fmt.Sprintf("addresses-%d%s", a.number, suffix), Reason: step.ReasonAddressesNotSet, Attempts: 12, DelaySeconds: &pause,
		},
		MAC:       plan.Text(a.mac),
		Addresses: plan.Texts(showAll(a.addresses)...),
		Gateways:  plan.Texts(showAll(a.gateways)...),
		DNS:       plan.Texts(showAll(a.dns)...),
		MTU:       a.mtu,
	}
	for _, route := range a.routes {
		step.Routes = append(step.Routes, plan.Hop{To: plan.Text(route.destination.String()), Via: plan.Text(route.via.String())})
	}
	return step
}

// ofFirst are the addresses of the first adapter; none if they come by DHCP.
func (list Adapters) ofFirst() []netip.Prefix {
	if len(list) == 0 {
		return nil
	}
	return list[0].addresses
}

// familiesOf are the IP families of the Cluster's pods in their order, true for IPv4. A CIDR that is not valid is
// refused elsewhere.
func familiesOf(pods clusterv1.NetworkRanges) []bool {
	var families []bool
	for _, text := range pods.CIDRBlocks {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			families = append(families, prefix.Addr().Is4())
		}
	}
	if len(families) == 0 {
		return []bool{true}
	}
	return families
}
