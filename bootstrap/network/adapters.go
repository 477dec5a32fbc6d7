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

const adaptersField = "WindowsMachine spec.vsphere.networks"

// adapter is one of the VM's with addresses of pools, read and found good. cloudbase-init 1.1.4, which images carry,
// ignores the network part of its metadata, so that the bootstrap gives Windows its addresses.
type adapter struct {
	number    int // from 1 on, of the spec
	mac       string
	addresses []netip.Prefix
	gateways  []netip.Addr
	dns       []netip.Addr
	routes    []hop
	mtu       int
}

type hop struct {
	to  netip.Prefix
	via netip.Addr
}

// Adapters are the VM's.
type Adapters struct {
	// count is how many the spec names; 0 when they are the template's.
	count int
	// addressed are those of them with addresses of pools.
	addressed []adapter
}

// Addressed says whether all is known that the machine's adapters need before there is a VM.
func Addressed(m *infrav1.WindowsMachine) bool {
	if !wantsAddresses(m) {
		return true
	}
	return slices.EqualFunc(m.Spec.VSphere.Networks, m.Status.Networks, func(wanted infrav1.VSphereNetwork, found infrav1.MachineNetwork) bool {
		return len(wanted.AddressesFromPools) == len(found.Addresses)
	})
}

func wantsAddresses(m *infrav1.WindowsMachine) bool {
	return m.Spec.VSphere != nil && slices.ContainsFunc(m.Spec.VSphere.Networks, func(network infrav1.VSphereNetwork) bool {
		return len(network.AddressesFromPools) > 0
	})
}

// ReadAdapters finds those with addresses of pools. Windows has one default route of a family: the first gateway makes it.
func ReadAdapters(m *infrav1.WindowsMachine) (Adapters, error) {
	var all Adapters
	if !Addressed(m) {
		return all, errors.New("render: the WindowsMachine has no status.networks with the addresses of its pools")
	}
	if m.Spec.VSphere == nil {
		return all, nil
	}
	all.count = len(m.Spec.VSphere.Networks)
	routed := map[bool]bool{}
	for i, spec := range m.Spec.VSphere.Networks {
		if len(spec.AddressesFromPools) == 0 {
			continue
		}
		a := adapter{number: i + 1, mac: m.Status.Networks[i].MACAddress, mtu: int(spec.MTU)}
		if err := a.readAddresses(m.Status.Networks[i].Addresses, routed); err != nil {
			return all, err
		}
		if err := a.readRoutes(spec); err != nil {
			return all, err
		}
		all.addressed = append(all.addressed, a)
	}
	return all, nil
}

func (a *adapter) readAddresses(given []infrav1.NetworkAddress, routed map[bool]bool) error {
	field := fmt.Sprintf("WindowsMachine status.networks[%d]", a.number-1)
	if !adapterMAC.MatchString(a.mac) {
		return step.Invalid(field, "macAddress %q is none of VMware's; delete the Machine to get another one", a.mac)
	}
	for _, one := range given {
		if err := CheckAddress(one); err != nil {
			return step.Invalid(field, "%s; mend the pool that it is of, then delete the Machine", err)
		}
		prefix := netip.MustParsePrefix(one.Address)
		a.addresses = append(a.addresses, prefix)
		if one.Gateway == "" || routed[prefix.Addr().Is4()] {
			continue
		}
		routed[prefix.Addr().Is4()] = true
		a.gateways = append(a.gateways, netip.MustParseAddr(one.Gateway))
	}
	return nil
}

func (a *adapter) readRoutes(spec infrav1.VSphereNetwork) error {
	field := fmt.Sprintf("%s[%d]", adaptersField, a.number-1)
	if spec.MTU != 0 && (spec.MTU < 1280 || spec.MTU > 9000) {
		return step.Invalid(field+".mtu", "%d is none; write 1280 to 9000, or leave it out", spec.MTU)
	}
	for _, text := range spec.Nameservers {
		server, ok := plainAddress(text)
		if !ok {
			return step.Invalid(field+".nameservers", "%q is no address; write one such as 10.0.0.2", text)
		}
		a.dns = append(a.dns, server)
	}
	for _, route := range spec.Routes {
		to, err := readCIDR(field+".routes", route.To)
		if err != nil {
			return err
		}
		if to.Bits() == 0 {
			return step.Invalid(field+".routes", "%s is the default route, which the gateway of the adapter's pool makes; leave it out", to)
		}
		via, ok := plainAddress(route.Via)
		if !ok || via.Is4() != to.Addr().Is4() {
			return step.Invalid(field+".routes", "%s has no neighbour %q; write an address of the same family", to, route.Via)
		}
		if !a.neighbour(via) {
			return step.Invalid(field+".routes", "%s is no neighbour, the adapter has %s; write an address in there, or another pool",
				via, showPrefixes(a.addresses))
		}
		a.routes = append(a.routes, hop{to, via})
	}
	return nil
}

// adapterMAC is one of those that are chosen for adapters with addresses.
var adapterMAC = regexp.MustCompile(`^00:50:56:[0-3][0-9a-f]:[0-9a-f]{2}:[0-9a-f]{2}$`)

// plainAddress is one without a zone, which is a name on one computer, and in no other family's clothes.
func plainAddress(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(text)
	return address, err == nil && address.Zone() == "" && !address.Is4In6()
}

// neighbour: one of a family that has no address here may be reached by what DHCP brings.
func (a *adapter) neighbour(address netip.Addr) bool {
	same := slices.DeleteFunc(slices.Clone(a.addresses), func(p netip.Prefix) bool { return p.Addr().Is4() != address.Is4() })
	return len(same) == 0 || address.IsLinkLocalUnicast() ||
		slices.ContainsFunc(same, func(p netip.Prefix) bool { return p.Contains(address) })
}

func showPrefixes(prefixes []netip.Prefix) string { return strings.Join(showAll(prefixes), ", ") }

// showAll is each in its usual form.
func showAll[T fmt.Stringer](list []T) []string {
	texts := make([]string, 0, len(list))
	for _, one := range list {
		texts = append(texts, one.String())
	}
	return texts
}

// Steps give the adapters their addresses before anything needs the network, and wait until Windows has found that nobody
// else has them.
func (as Adapters) Steps() step.Part {
	var p step.Part
	for _, a := range as.addressed {
		p.Add(step.PhasePrepare, a.step(""))
	}
	for _, a := range as.addressed {
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

// behindVSwitch: a vSwitch takes an adapter's addresses over, and loses what Windows has besides: routes and name servers.
func (as Adapters) behindVSwitch() []plan.Step {
	var steps []plan.Step
	for _, a := range as.addressed {
		steps = append(steps, a.step("-behind-vswitch"))
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
		step.Routes = append(step.Routes, plan.Hop{To: plan.Text(route.to.String()), Via: plan.Text(route.via.String())})
	}
	return step
}

// NodeIP is what the kubelet is told of several adapters: the first one's addresses, one of each family that pods have, in
// the pods' order. Of one by DHCP the address is not known here.
func (as Adapters) NodeIP(pods clusterv1.NetworkRanges) string {
	if as.count < 2 {
		return ""
	}
	var chosen []string
	for _, four := range familiesOf(pods) {
		of := func(p netip.Prefix) bool { return p.Addr().Is4() == four }
		if i := slices.IndexFunc(as.ofFirst(), of); i >= 0 {
			chosen = append(chosen, as.ofFirst()[i].Addr().String())
		}
	}
	return strings.Join(chosen, ",")
}

// ofFirst are the addresses of the first adapter, as far as they are known.
func (as Adapters) ofFirst() []netip.Prefix {
	if len(as.addressed) == 0 || as.addressed[0].number != 1 {
		return nil
	}
	return as.addressed[0].addresses
}

// familiesOf are those of the Cluster's pods, true for IPv4, in its order. CIDRs that are none are refused elsewhere.
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
