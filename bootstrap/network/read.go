package network

import (
	"cmp"
	"net/netip"
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	fieldNetwork  = "WindowsBootstrapConfig spec.network"
	fieldPods     = "Cluster spec.clusterNetwork.pods.cidrBlocks"
	fieldServices = "Cluster spec.clusterNetwork.services.cidrBlocks"
)

// The defaults of spec.network.
const (
	defaultVNI           = 4096
	defaultServiceDomain = "cluster.local"
	// dnsAddress is the number of the address in the service CIDR that kubeadm gives to the cluster's DNS.
	dnsAddress = 10
)

// Input is what a network is made of.
type Input struct {
	Spec           bootstrapv1.Network
	ClusterNetwork clusterv1.ClusterNetwork
	Adapters       Adapters
	NodeName       string
	OnAzure        bool
	// Of the kubelet: how many pods it runs, whether Windows starts it late, and whether the gate for DSR is on by itself.
	MaxPods      int
	DelayedStart bool
	DSRByDefault bool
}

// Network is spec.network, read and found good, defaults filled in. Its mode is empty where the spec says nothing.
type Network struct {
	profile
	nodeName string
	adapters Adapters
	onAzure  bool

	// podNetwork is the name of the HNS network of the pods, vni the number of their VXLAN.
	podNetwork string
	vni        int
	// adapter is the name of the one that gets the vSwitch; empty: Windows has only one, or chooses.
	adapter string

	pods, services ranges
	// podFamilies are those of pods, in their order: true is IPv4.
	podFamilies []bool
	// exceptions are IPv4 CIDRs that pods reach with their own address, ownExceptions says that the user wrote some.
	exceptions    ranges
	ownExceptions bool
	dns, domain   string

	nodePorts, dynamicPorts bootstrapv1.Ports
	// firewall has the user's rules, both ends of their ports filled in.
	firewall []bootstrapv1.FirewallRule
	// proxied: we write kube-proxy's configuration; dsr: with direct server return; gated: its gate must be named for that.
	proxied, dsr, gated bool
	// cniText and proxyText are the configurations that we write.
	cniText, proxyText plan.Value
}

// Read refuses what the mode, its CNI, the cloud and the Cluster do not have in common.
func Read(in Input) (*Network, error) {
	net := &Network{
		nodeName: in.NodeName, adapters: in.Adapters, onAzure: in.OnAzure, podFamilies: familiesOf(in.ClusterNetwork.Pods),
	}
	spec := in.Spec
	if reflect.ValueOf(spec).IsZero() {
		return net, nil
	}
	var err error
	if net.profile, err = profileOf(spec); err != nil {
		return nil, err
	}
	net.podNetwork, net.vni, net.adapter = net.podNetworkName(spec), vniOf(spec), spec.Interface
	net.proxied, net.dsr = spec.KubeProxy != (bootstrapv1.KubeProxy{}), spec.KubeProxy.DSR != bootstrapv1.DSRDisabled
	net.gated = !in.DSRByDefault
	return net, reading{in, net}.all()
}

// reading is a network while it is read: what is given, and what has been found good.
type reading struct {
	Input
	*Network
}

func (net reading) all() error {
	for _, read := range []func() error{
		net.checkCloud, net.checkAdapters, net.checkFields, net.checkKubeProxy, net.checkNames, net.readClusterNetwork,
		net.checkFamilies, net.checkRanges, net.readExceptions, net.readDNS, net.readPorts, net.readFirewall,
		net.checkKubeletStart, net.writeTexts,
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// mostPodsOnAzure: an interface has 256 addresses, and one is the node's.
const mostPodsOnAzure = 255

// checkCloud refuses what the machine's cloud can not carry.
func (net reading) checkCloud() error {
	switch {
	case net.azureOnly && !net.OnAzure:
		return step.Invalid(fieldNetwork+".cni", "%s works on Azure only, and the machine is on vSphere; write mode overlay with Flannel or Calico", net.cni)
	case net.OnAzure && net.mode == bootstrapv1.NetworkTransparent:
		return step.Invalid(fieldNetwork+".mode", "transparent gives pods MAC addresses of their own, which Azure drops; write l2tunnel with AzureCNI or overlay")
	case net.azureOnly && net.MaxPods > mostPodsOnAzure:
		return step.Invalid("WindowsBootstrapConfig spec.kubelet.maxPods",
			"%d pods do not get an address each, an interface on Azure has 256; write %d or less", net.MaxPods, mostPodsOnAzure)
	}
	return nil
}

// checkAdapters: Windows would take any of several for the vSwitch, and every connection with it.
func (net reading) checkAdapters() error {
	if net.external == "" || net.adapters.count < 2 || net.Spec.Interface != "" {
		return nil
	}
	return step.Invalid(fieldNetwork+".interface", "it is empty, the machine has %d networks, and mode %s puts a vSwitch on one of its adapters; "+
		"write the name of that adapter in Windows, such as Ethernet0", net.adapters.count, net.mode)
}

// checkFields refuses what would be without effect.
func (net reading) checkFields() error {
	for _, field := range []struct {
		name       string
		set, takes bool
		instead    string
	}{
		{"vni", net.Spec.VNI != 0, net.overlay() && net.written(), "write it into the CNI's own configuration"},
		{"interface", net.Spec.Interface != "", net.external != "", "the CNI chooses it"},
		{"networkName", net.Spec.NetworkName != "", net.hnsNetwork != "", "there is none in this mode"},
		{"exceptionCIDRs", len(net.Spec.ExceptionCIDRs) > 0, net.written(), "write them into the CNI's own configuration"},
		{"clusterDNS", net.Spec.ClusterDNS != "", net.written(), "write it into the CNI's own configuration"},
	} {
		if field.set && !field.takes {
			return step.Invalid(fieldNetwork+"."+field.name, "it has no effect in mode %s with %s; leave it out, %s",
				net.mode, cniName(net.cni), field.instead)
		}
	}
	return nil
}

func (net reading) checkKubeProxy() error {
	const field = fieldNetwork + ".kubeProxy"
	proxy := net.Spec.KubeProxy
	switch {
	case proxy == (bootstrapv1.KubeProxy{}):
		return nil
	case net.hnsNetwork == "":
		return step.Invalid(field, "mode %s has no HNS network that we know; leave it out, its DaemonSet brings what it needs", net.mode)
	case net.sourceVIP == vipOfCNI:
		return step.Invalid(field, "its source VIP is that of an endpoint that %s makes after the join; leave it out, the DaemonSet of kube-proxy waits for it", net.cni)
	case proxy.ConfigFile != bootstrapv1.KubeProxyConfigFileManaged:
		return step.Invalid(field+".configFile", "%q is none; write Managed, or leave kubeProxy out", proxy.ConfigFile)
	case !slices.Contains([]bootstrapv1.DirectServerReturn{"", bootstrapv1.DSREnabled, bootstrapv1.DSRDisabled}, proxy.DSR):
		return step.Invalid(field+".dsr", "%q is none; write Enabled or Disabled", proxy.DSR)
	}
	return nil
}

// The API says the same. A name ends in paths and in patterns of names, which it must not widen.
var (
	adapterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ()#._-]{0,63}$`)
	hnsName     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
)

func (net reading) checkNames() error {
	if name := net.Spec.NetworkName; name != "" && !hnsName.MatchString(name) {
		return step.Invalid(fieldNetwork+".networkName", "%q is no name that all CNIs take; write letters, digits, '.', '_' and '-', 63 at most", name)
	}
	if name := net.Spec.Interface; name != "" && !adapterName.MatchString(name) {
		return step.Invalid(fieldNetwork+".interface", "%q is no name of an interface; write one such as Ethernet0", name)
	}
	if net.vni < 4096 || net.vni > 1<<24-1 {
		return step.Invalid(fieldNetwork+".vni", "%d is not taken by Windows; write 4096 to 16777215, the same as on the Linux nodes", net.vni)
	}
	return nil
}

func (net reading) readClusterNetwork() error {
	var err error
	if net.pods, err = clusterRanges(fieldPods, net.ClusterNetwork.Pods); err != nil {
		return err
	}
	if net.services, err = clusterRanges(fieldServices, net.ClusterNetwork.Services); err != nil {
		return err
	}
	if net.pods.overlaps(net.services) {
		return step.Invalid(fieldServices, "%s overlaps the pods' %s; write CIDRs that do not", net.services, net.pods)
	}
	net.domain, err = readServiceDomain(net.ClusterNetwork.ServiceDomain)
	return err
}

// InCluster are the names and ranges that only the cluster knows: its domain first, its CIDRs behind.
func InCluster(cluster clusterv1.ClusterNetwork) (domain string, cidrs []string, err error) {
	if domain, err = readServiceDomain(cluster.ServiceDomain); err != nil {
		return "", nil, err
	}
	cidrs = slices.Concat(cluster.Pods.CIDRBlocks, cluster.Services.CIDRBlocks)
	for _, block := range cidrs {
		if _, err := netip.ParsePrefix(block); err != nil {
			return "", nil, step.Invalid("Cluster spec.clusterNetwork", "%q is no CIDR; write one such as 10.244.0.0/16", block)
		}
	}
	return domain, cidrs, nil
}

func vniOf(spec bootstrapv1.Network) int { return int(cmp.Or(spec.VNI, defaultVNI)) }

func readServiceDomain(domain string) (string, error) {
	if domain == "" {
		return defaultServiceDomain, nil
	}
	if len(validation.IsDNS1123Subdomain(domain)) > 0 {
		return "", step.Invalid("Cluster spec.clusterNetwork.serviceDomain", "%q is no DNS name; write one such as cluster.local", domain)
	}
	return domain, nil
}

// checkFamilies: Windows has no pods with IPv6 only, and no IPv6 in a VXLAN.
func (net *Network) checkFamilies() error {
	if net.mode == bootstrapv1.NetworkNone {
		return nil
	}
	const onlySix = "%s is IPv6 only, which pods on Windows do not have; add a CIDR of IPv4"
	if net.pods.onlySix() {
		return step.Invalid(fieldPods, onlySix, net.pods)
	}
	if net.services.onlySix() {
		return step.Invalid(fieldServices, onlySix, net.services)
	}
	if net.overlay() && net.pods.dual() {
		return step.Invalid(fieldPods, "%s is dual-stack, and overlay on Windows carries IPv4 only; write a CIDR of IPv4 only, or mode l2bridge", net.pods)
	}
	return nil
}

// checkRanges: a configuration that is written without them sends packets nowhere.
func (net *Network) checkRanges() error {
	if len(net.pods) == 0 && (net.written() && !net.azureOnly || net.proxied) {
		return step.Invalid(fieldPods, "it is empty; write the CIDR of the cluster's pods, such as 10.244.0.0/16, it goes into the files of %s", net.cni)
	}
	if len(net.services) == 0 && net.written() {
		return step.Invalid(fieldServices, "it is empty; write the CIDR of the cluster's Services, such as 10.96.0.0/12, it goes into the files of %s", net.cni)
	}
	return nil
}

// readExceptions: what pods reach with their own address is IPv4, for only IPv4 is translated.
func (net reading) readExceptions() error {
	const field = fieldNetwork + ".exceptionCIDRs"
	extra, err := readCIDRs(field, net.Spec.ExceptionCIDRs)
	if err != nil {
		return err
	}
	if len(extra.four()) < len(extra) {
		return step.Invalid(field, "%s has IPv6, whose addresses are never translated; write IPv4 only", extra)
	}
	if net.azureOnly && len(extra) == 0 {
		return step.Invalid(field, "it is empty, and pods of %s have addresses of the virtual network: without its ranges each packet to another node's "+
			"pods would come from the node; write all of them, such as 10.0.0.0/8", net.cni)
	}
	net.ownExceptions = len(extra) > 0
	net.exceptions = slices.Concat(net.pods.four(), net.services.four(), net.machineSubnet(), extra).broadest()
	return nil
}

// machineSubnet is that of the node's own adapter, where pools give its addresses. In a VXLAN nobody beside the pods knows a
// way to a pod's own address: there the machines are reached with the node's.
func (net *Network) machineSubnet() ranges {
	if net.overlay() {
		return nil
	}
	var subnet ranges
	for _, address := range net.adapters.ofFirst() {
		subnet = append(subnet, address.Masked())
	}
	return subnet.four()
}

func (net reading) readDNS() error {
	if !net.written() {
		return nil
	}
	const field = fieldNetwork + ".clusterDNS"
	services := net.services.four()[0]
	if net.Spec.ClusterDNS == "" {
		address, ok := nthAddress(services, dnsAddress)
		if !ok {
			return step.Invalid(fieldServices, "%s has no tenth address for the cluster's DNS; write a larger one, or spec.network.clusterDNS", services)
		}
		net.dns = address.String()
		return nil
	}
	address, err := netip.ParseAddr(net.Spec.ClusterDNS)
	if err != nil || address.String() != net.Spec.ClusterDNS || !net.services.contains(address) {
		return step.Invalid(field, "%q is no address of the Services' %s; write one, or leave it out for the tenth", net.Spec.ClusterDNS, net.services)
	}
	net.dns = net.Spec.ClusterDNS
	return nil
}
