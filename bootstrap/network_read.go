package bootstrap

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

// networkInput is what a network is made of.
type networkInput struct {
	spec     bootstrapv1.Network
	cluster  clusterv1.ClusterNetwork
	adapters adapters
	nodeName string
	onAzure  bool
	// Of the kubelet: how many pods it runs, whether Windows starts it late, and whether the gate for DSR is on by itself.
	maxPods      int
	delayedStart bool
	dsrByDefault bool
}

// network is the node's spec.network, read and found good. Its mode is empty where the spec says nothing.
type network struct {
	profile
	networkInput

	name     string // of the HNS network of the pods
	vni      int
	pods     ranges
	services ranges
	// exceptions are IPv4 CIDRs that pods reach with their own address.
	exceptions ranges
	dns        string
	domain     string

	nodePorts, dynamicPorts bootstrapv1.Ports
	// cniText and proxyText are the configurations that we write.
	cniText, proxyText plan.Value
}

func readNetwork(in networkInput) (*network, error) {
	net := &network{networkInput: in}
	spec := in.spec
	if reflect.ValueOf(spec).IsZero() {
		return net, nil
	}
	var err error
	if net.profile, err = profileOf(spec); err != nil {
		return nil, err
	}
	net.name, net.vni, net.nodePorts = net.networkName(spec), vniOf(spec), portsOr(spec.NodePorts, defaultNodePorts)
	net.dynamicPorts = portsOr(spec.DynamicPorts, bootstrapv1.Ports{First: max(firstDynamicPort, net.nodePorts.Last+1), Last: lastPort})
	for _, read := range []func(*network) error{
		(*network).fitsCloud, (*network).fitsAdapters, (*network).strayFields, (*network).namesAndNumbers, (*network).clusterNetwork, (*network).families,
		(*network).needsRanges, (*network).readExceptions, (*network).readDNS, (*network).ports, (*network).firewallRules,
		(*network).kubeletStart, (*network).writeConfigurations,
	} {
		if err := read(net); err != nil {
			return nil, err
		}
	}
	return net, nil
}

// mostPodsOnAzure: an interface has 256 addresses, and one is the node's.
const mostPodsOnAzure = 255

// fitsCloud refuses what the machine's cloud can not carry.
func (net *network) fitsCloud() error {
	switch {
	case net.azureOnly && !net.onAzure:
		return invalid(fieldNetwork+".cni", "%s works on Azure only, and the machine is on vSphere; write mode overlay with Flannel or Calico", net.cni)
	case net.onAzure && net.mode == bootstrapv1.NetworkTransparent:
		return invalid(fieldNetwork+".mode", "transparent gives pods MAC addresses of their own, which Azure drops; write l2tunnel with AzureCNI or overlay")
	case net.azureOnly && net.maxPods > mostPodsOnAzure:
		return invalid("WindowsBootstrapConfig spec.kubelet.maxPods",
			"%d pods do not get an address each, an interface on Azure has 256; write %d or less", net.maxPods, mostPodsOnAzure)
	}
	return nil
}

// fitsAdapters: Windows would take any of several for the vSwitch, and every connection with it.
func (net *network) fitsAdapters() error {
	if net.external == "" || net.adapters.count < 2 || net.spec.Interface != "" {
		return nil
	}
	return invalid(fieldNetwork+".interface", "it is empty, the machine has %d networks, and mode %s puts a vSwitch on one of its adapters; "+
		"write the name of that adapter in Windows, such as Ethernet0", net.adapters.count, net.mode)
}

// strayFields refuses what would be without effect.
func (net *network) strayFields() error {
	for _, field := range []struct {
		name       string
		set, takes bool
		instead    string
	}{
		{"vni", net.spec.VNI != 0, net.overlay() && net.written(), "write it into the CNI's own configuration"},
		{"interface", net.spec.Interface != "", net.external != "", "the CNI chooses it"},
		{"networkName", net.spec.NetworkName != "", net.podNetwork != "", "there is none in this mode"},
		{"exceptionCIDRs", len(net.spec.ExceptionCIDRs) > 0, net.written(), "write them into the CNI's own configuration"},
		{"clusterDNS", net.spec.ClusterDNS != "", net.written(), "write it into the CNI's own configuration"},
	} {
		if field.set && !field.takes {
			return invalid(fieldNetwork+"."+field.name, "it has no effect in mode %s with %s; leave it out, %s",
				net.mode, cniName(net.cni), field.instead)
		}
	}
	return net.kubeProxyFits()
}

func (net *network) kubeProxyFits() error {
	const field = fieldNetwork + ".kubeProxy"
	proxy := net.spec.KubeProxy
	switch {
	case proxy == (bootstrapv1.KubeProxy{}):
		return nil
	case net.podNetwork == "":
		return invalid(field, "mode %s has no HNS network that we know; leave it out, its DaemonSet brings what it needs", net.mode)
	case net.sourceVIP == vipOfCNI:
		return invalid(field, "its source VIP is that of an endpoint that %s makes after the join; leave it out, the DaemonSet of kube-proxy waits for it", net.cni)
	case proxy.ConfigFile != bootstrapv1.KubeProxyConfigFileManaged:
		return invalid(field+".configFile", "%q is none; write Managed, or leave kubeProxy out", proxy.ConfigFile)
	case !slices.Contains([]bootstrapv1.DirectServerReturn{"", bootstrapv1.DSREnabled, bootstrapv1.DSRDisabled}, proxy.DSR):
		return invalid(field+".dsr", "%q is none; write Enabled or Disabled", proxy.DSR)
	}
	return nil
}

// The API says the same. A name ends in paths and in patterns of names, which it must not widen.
var (
	adapterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ()#._-]{0,63}$`)
	hnsName     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
)

func (net *network) namesAndNumbers() error {
	if name := net.spec.NetworkName; name != "" && !hnsName.MatchString(name) {
		return invalid(fieldNetwork+".networkName", "%q is no name that all CNIs take; write letters, digits, '.', '_' and '-', 63 at most", name)
	}
	if name := net.spec.Interface; name != "" && !adapterName.MatchString(name) {
		return invalid(fieldNetwork+".interface", "%q is no name of an interface; write one such as Ethernet0", name)
	}
	if net.vni < 4096 || net.vni > 1<<24-1 {
		return invalid(fieldNetwork+".vni", "%d is not taken by Windows; write 4096 to 16777215, the same as on the Linux nodes", net.vni)
	}
	return nil
}

func (net *network) clusterNetwork() error {
	var err error
	if net.pods, err = clusterRanges(fieldPods, net.cluster.Pods); err != nil {
		return err
	}
	if net.services, err = clusterRanges(fieldServices, net.cluster.Services); err != nil {
		return err
	}
	if net.pods.overlaps(net.services) {
		return invalid(fieldServices, "%s overlaps the pods' %s; write CIDRs that do not", net.services, net.pods)
	}
	net.domain, err = readServiceDomain(net.cluster.ServiceDomain)
	return err
}

// inCluster are the names and ranges that only the cluster knows: its domain first, its CIDRs behind.
func inCluster(cluster clusterv1.ClusterNetwork) (domain string, cidrs []string, err error) {
	if domain, err = readServiceDomain(cluster.ServiceDomain); err != nil {
		return "", nil, err
	}
	cidrs = slices.Concat(cluster.Pods.CIDRBlocks, cluster.Services.CIDRBlocks)
	for _, block := range cidrs {
		if _, err := netip.ParsePrefix(block); err != nil {
			return "", nil, invalid("Cluster spec.clusterNetwork", "%q is no CIDR; write one such as 10.244.0.0/16", block)
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
		return "", invalid("Cluster spec.clusterNetwork.serviceDomain", "%q is no DNS name; write one such as cluster.local", domain)
	}
	return domain, nil
}

// families: Windows has no pods with IPv6 only, and no IPv6 in a VXLAN.
func (net *network) families() error {
	if net.mode == bootstrapv1.NetworkNone {
		return nil
	}
	const onlySix = "%s is IPv6 only, which pods on Windows do not have; add a CIDR of IPv4"
	if net.pods.onlySix() {
		return invalid(fieldPods, onlySix, net.pods)
	}
	if net.services.onlySix() {
		return invalid(fieldServices, onlySix, net.services)
	}
	if net.overlay() && net.pods.dual() {
		return invalid(fieldPods, "%s is dual-stack, and overlay on Windows carries IPv4 only; write a CIDR of IPv4 only, or mode l2bridge", net.pods)
	}
	return nil
}

// needsRanges: a configuration that is written without them sends packets nowhere.
func (net *network) needsRanges() error {
	if len(net.pods) == 0 && (net.written() && !net.azureOnly || net.proxied()) {
		return invalid(fieldPods, "it is empty; write the CIDR of the cluster's pods, such as 10.244.0.0/16, it goes into the files of %s", net.cni)
	}
	if len(net.services) == 0 && net.written() {
		return invalid(fieldServices, "it is empty; write the CIDR of the cluster's Services, such as 10.96.0.0/12, it goes into the files of %s", net.cni)
	}
	return nil
}

// readExceptions: what pods reach with their own address is IPv4, for only IPv4 is translated.
func (net *network) readExceptions() error {
	const field = fieldNetwork + ".exceptionCIDRs"
	extra, err := readCIDRs(field, net.spec.ExceptionCIDRs)
	if err != nil {
		return err
	}
	if len(extra.four()) < len(extra) {
		return invalid(field, "%s has IPv6, whose addresses are never translated; write IPv4 only", extra)
	}
	if net.azureOnly && len(extra) == 0 {
		return invalid(field, "it is empty, and pods of %s have addresses of the virtual network: without its ranges each packet to another node's "+
			"pods would come from the node; write all of them, such as 10.0.0.0/8", net.cni)
	}
	net.exceptions = slices.Concat(net.pods.four(), net.services.four(), net.machineSubnet(), extra).broadest()
	return nil
}

// machineSubnet is that of the node's own adapter, where pools give its addresses. In a VXLAN nobody beside the pods knows a
// way to a pod's own address: there the machines are reached with the node's.
func (net *network) machineSubnet() ranges {
	if net.overlay() {
		return nil
	}
	var subnet ranges
	for _, address := range net.adapters.ofFirst() {
		subnet = append(subnet, address.Masked())
	}
	return subnet.four()
}

func (net *network) readDNS() error {
	if !net.written() {
		return nil
	}
	const field = fieldNetwork + ".clusterDNS"
	services := net.services.four()[0]
	if net.spec.ClusterDNS == "" {
		address, ok := nthAddress(services, dnsAddress)
		if !ok {
			return invalid(fieldServices, "%s has no tenth address for the cluster's DNS; write a larger one, or spec.network.clusterDNS", services)
		}
		net.dns = address.String()
		return nil
	}
	address, err := netip.ParseAddr(net.spec.ClusterDNS)
	if err != nil || address.String() != net.spec.ClusterDNS || !net.services.contains(address) {
		return invalid(field, "%q is no address of the Services' %s; write one, or leave it out for the tenth", net.spec.ClusterDNS, net.services)
	}
	net.dns = net.spec.ClusterDNS
	return nil
}

// proxied tells whether we write kube-proxy's configuration.
func (net *network) proxied() bool { return net.spec.KubeProxy != (bootstrapv1.KubeProxy{}) }

// dsr is on unless somebody turns it off.
func (net *network) dsr() bool { return net.spec.KubeProxy.DSR != bootstrapv1.DSRDisabled }
