package network

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/calico"
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
	// dnsAddress is the number of the service address that kubeadm gives to the cluster's DNS.
	dnsAddress = 10
)

// Input is what a network depends on.
type Input struct {
	Spec           bootstrapv1.Network
	ClusterNetwork clusterv1.ClusterNetwork
	// Endpoint is the host of the Cluster's API server. Empty if it is not known yet.
	Endpoint string
	Adapters Adapters
	NodeName string
	OnAzure  bool
	// About the kubelet: how many pods it runs, whether Windows delays its start, and whether the gate for DSR is on
	// by default.
	MaxPods      int
	DelayedStart bool
	DSRByDefault bool
	// Minor of the Machine's Kubernetes: 36. RotatesLogs: its kube-log-runner does.
	Minor       uint64
	RotatesLogs bool
	// AddressGiven: the user has set the kubelet's node-ip. NoCloudProvider: only the kubelet sets the Node's addresses.
	AddressGiven, NoCloudProvider bool
	// Nested: the VM surely has nested virtualization.
	Nested bool
	// Block is what Calico gives the node.
	Block calico.Block
}

// Network is what was read of spec.network and found good, defaults filled in. Its mode is empty if the spec has no
// network.
type Network struct {
	Input
	profile

	// podNetwork is the name of the HNS network of the pods, vni the number of their VXLAN.
	podNetwork string
	vni        int
	// adapter gets the vSwitch; nil if the spec lists no adapters, or the CNI chooses. windowsAdapter is its name if the
	// adapters are the template's. Both are empty if HNS chooses.
	adapter        *adapter
	windowsAdapter string

	pods, services ranges
	// podFamilies are the IP families of the pods in their order, true for IPv4.
	podFamilies []bool
	// exceptions are IPv4 CIDRs in which pods are seen with their own addresses; ownExceptions is set if the user wrote some.
	exceptions    ranges
	ownExceptions bool
	dns, domain   string

	nodePorts, dynamicPorts bootstrapv1.Ports
	// firewall has the rules of the user, with both ends of their ports.
	firewall []bootstrapv1.FirewallRule
	// proxied: kube-proxy is a service of ours. dsr: it uses direct server return. gated: the gate for that must be turned on.
	proxied, dsr, gated bool
	// proxyInPods: a DaemonSet runs kube-proxy.
	proxyInPods bool
	// flanneld is a service of ours.
	flanneld bool
	// cniText, proxyText and netConfText are the configurations that we write.
	cniText, proxyText, netConfText plan.Value
}

// Read refuses a network that its CNI, the cloud or the Cluster does not support.
func Read(in Input) (*Network, error) {
	net := &Network{Input: in, podFamilies: familiesOf(in.ClusterNetwork.Pods)}
	spec := in.Spec
	if unwritten(spec) {
		return net, refuseOnlySix(in.ClusterNetwork)
	}
	var err error
	if net.profile, err = profileOf(spec); err != nil {
		return nil, err
	}
	net.podNetwork, net.vni = net.podNetworkName(spec), vniOf(spec)
	net.proxied, net.proxyInPods = HasKubeProxyService(spec), HasKubeProxyPods(spec)
	net.dsr, net.gated = spec.KubeProxy.DSR != bootstrapv1.DSRDisabled, !in.DSRByDefault
	net.flanneld = net.cni == bootstrapv1.CNIFlannel && spec.Flannel.Run != bootstrapv1.FlannelExternal
	return net, net.readAll()
}

func (net *Network) readAll() error {
	return inOrder(
		net.checkCloud, net.checkFields, net.checkKubeProxy, net.checkFlannel, net.checkNames, net.readInterface,
		net.readCluster, net.readExceptions, net.readDNS, net.readPorts, net.readFirewall, net.checkKubeletStart, net.writeTexts,
	)
}

// inOrder stops at the first refusal.
func inOrder(readings ...func() error) error {
	for _, read := range readings {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// mostPodsOnAzure: a network interface has 256 addresses, one of which is the node's.
const mostPodsOnAzure = 255

// checkCloud refuses what the machine's cloud does not support.
func (net *Network) checkCloud() error {
	switch {
	case net.azureOnly && !net.OnAzure:
		return step.Invalid(fieldNetwork+".cni",
			"%s works on Azure only, and the machine is on vSphere; use mode Overlay with Flannel or Calico", net.cni)
	case net.OnAzure && net.mode == bootstrapv1.NetworkTransparent:
		return step.Invalid(fieldNetwork+".mode",
			"Transparent gives pods MAC addresses of their own, which Azure drops; use L2Bridge with AzureCNI or Overlay")
	case net.azureOnly && net.MaxPods > mostPodsOnAzure:
		return step.Invalid("WindowsBootstrapConfig spec.kubelet.maxPods",
			"%d pods cannot have an address each, because a network interface on Azure has 256; use %d or less",
			net.MaxPods, mostPodsOnAzure)
	}
	return nil
}

// checkFields refuses fields that have no effect in this mode.
func (net *Network) checkFields() error {
	for _, field := range []struct {
		name       string
		set, takes bool
		advice     string
	}{
		{"vni", net.Spec.VNI != 0, net.overlay() && net.written(), "it belongs in the CNI's own configuration"},
		{"interface", net.Spec.Interface != "", net.choosesAdapter(), "the CNI chooses the adapter"},
		{"hnsNetworkName", net.Spec.HNSNetworkName != "", net.hnsNetwork != "", "the CNI chooses the name of its network"},
		{"exceptionCIDRs", len(net.Spec.ExceptionCIDRs) > 0, net.written(), "they belong in the CNI's own configuration"},
		{"clusterDNS", net.Spec.ClusterDNS != "", net.written(), "it belongs in the CNI's own configuration"},
	} {
		if field.set && !field.takes {
			return step.Invalid(fieldNetwork+"."+field.name, "has no effect in mode %s with %s; remove it: %s",
				net.mode, cniName(net.cni), field.advice)
		}
	}
	return nil
}

func (net *Network) checkKubeProxy() error {
	const field = fieldNetwork + ".kubeProxy"
	proxy := net.Spec.KubeProxy
	runs := []bootstrapv1.KubeProxyRun{
		"", bootstrapv1.KubeProxyService, bootstrapv1.KubeProxyDaemonSet, bootstrapv1.KubeProxyNone,
	}
	switch {
	case !slices.Contains(runs, proxy.Run):
		return step.Invalid(field+".run", "%q is not valid; use Service, DaemonSet or None", proxy.Run)
	case !slices.Contains([]bootstrapv1.DirectServerReturn{"", bootstrapv1.DSREnabled, bootstrapv1.DSRDisabled}, proxy.DSR):
		return step.Invalid(field+".dsr", "%q is not valid; use Enabled or Disabled", proxy.DSR)
	case net.proxied && net.hnsNetwork == "":
		return step.Invalid(field+".run",
			"Service needs the name of the pods' HNS network, which the CNI chooses in mode %s; use DaemonSet or None", net.mode)
	case proxy.DSR != "" && !net.proxied:
		return step.Invalid(field+".dsr",
			"is a setting of the Windows service kube-proxy, which this node does not have; remove it, or set run: Service")
	}
	return nil
}

func (net *Network) checkFlannel() error {
	const field = fieldNetwork + ".flannel"
	run := net.Spec.Flannel.Run
	switch {
	case !slices.Contains([]bootstrapv1.FlannelRun{"", bootstrapv1.FlannelService, bootstrapv1.FlannelExternal}, run):
		return step.Invalid(field+".run", "%q is not valid; use Service or External", run)
	case run != "" && net.cni != bootstrapv1.CNIFlannel:
		return step.Invalid(field, "has no effect with %s; remove it: only Flannel has flanneld", cniName(net.cni))
	}
	return nil
}

// The API has the same patterns. Names become parts of paths and of wildcards, so they must have none themselves.
var (
	adapterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ()#._-]{0,63}$`)
	hnsName     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
)

func (net *Network) checkNames() error {
	if name := net.Spec.HNSNetworkName; name != "" && !hnsName.MatchString(name) {
		return step.Invalid(fieldNetwork+".hnsNetworkName",
			"%q is not a name that every CNI accepts; use letters, digits, '.', '_' and '-', 63 at most", name)
	}
	if name := net.Spec.Interface; name != "" && !adapterName.MatchString(name) {
		return step.Invalid(fieldNetwork+".interface", "%q is not the name of an adapter; use one such as Ethernet0", name)
	}
	if net.vni < 4096 || net.vni > 1<<24-1 {
		return step.Invalid(fieldNetwork+".vni",
			"%d is not accepted by Windows; use 4096 to 16777215, the same as on the Linux nodes", net.vni)
	}
	return nil
}

func vniOf(spec bootstrapv1.Network) int { return int(cmp.Or(spec.VNI, defaultVNI)) }

func (net *Network) readDNS() error {
	if !net.written() {
		return nil
	}
	const field = fieldNetwork + ".clusterDNS"
	if net.Spec.ClusterDNS == "" {
		address, _ := nthAddress(net.services.four()[0], dnsAddress)
		net.dns = address.String()
		return nil
	}
	address, err := netip.ParseAddr(net.Spec.ClusterDNS)
	if err != nil || address.String() != net.Spec.ClusterDNS || !net.services.contains(address) {
		return step.Invalid(field,
			"%q is not an address in the Services' %s; use one of them, or remove it to get the tenth",
			net.Spec.ClusterDNS, net.services)
	}
	net.dns = net.Spec.ClusterDNS
	return nil
}
