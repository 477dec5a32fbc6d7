package network

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// CheckCluster refuses what Read refuses of the Cluster. It needs none of what a node needs: CIDRs that no node can have are
// reported before anything waits for Linux nodes, which they may keep from coming up. It ignores a spec that is wrong itself.
func CheckCluster(in Input) error {
	if unwritten(in.Spec) {
		return refuseOnlySix(in.ClusterNetwork)
	}
	profile, wrong := profileOf(in.Spec)
	if wrong != nil {
		return nil //nolint:nilerr // because Read reports what is wrong with the spec
	}
	return (&Network{Input: in, profile: profile}).readCluster()
}

// unwritten reports whether somebody else looks after the pods' network.
func unwritten(spec bootstrapv1.Network) bool {
	return equality.Semantic.DeepEqual(spec, bootstrapv1.Network{})
}

func (net *Network) readCluster() error {
	return inOrder(net.readClusterNetwork, net.checkFamilies, net.checkRanges, net.checkApart)
}

func (net *Network) readClusterNetwork() error {
	var err error
	if net.pods, err = clusterRanges(fieldPods, net.ClusterNetwork.Pods); err != nil {
		return err
	}
	if net.services, err = clusterRanges(fieldServices, net.ClusterNetwork.Services); err != nil {
		return err
	}
	if net.pods.overlaps(net.services) {
		return step.Invalid(fieldServices, "%s overlaps the pods' %s; use CIDRs that do not overlap", net.services, net.pods)
	}
	net.domain, err = readServiceDomain(net.ClusterNetwork.ServiceDomain)
	return err
}

// checkFamilies: pods on Windows need IPv4, and a VXLAN on Windows carries nothing else.
func (net *Network) checkFamilies() error {
	if net.mode == bootstrapv1.NetworkNone {
		return nil
	}
	if net.pods.onlySix() {
		return step.Invalid(fieldPods, onlySix, net.pods)
	}
	if net.services.onlySix() {
		return step.Invalid(fieldServices, onlySix, net.services)
	}
	if net.overlay() && net.pods.dual() {
		return step.Invalid(fieldPods,
			"%s is dual-stack, and Overlay on Windows carries IPv4 only; use an IPv4 CIDR only, or mode L2Bridge", net.pods)
	}
	return nil
}

// checkRanges: without the CIDRs the configuration that we write would send packets nowhere.
func (net *Network) checkRanges() error {
	if len(net.pods) == 0 && net.written() && !net.azureOnly {
		return step.Invalid(fieldPods,
			"must not be empty, because the files of %s need it; use the CIDR of the cluster's pods, such as 10.244.0.0/16",
			net.cni)
	}
	if len(net.services) == 0 && net.config != nil {
		return step.Invalid(fieldServices,
			"must not be empty, because the files of %s need it; use the CIDR of the cluster's Services, such as 10.96.0.0/12",
			net.cni)
	}
	return net.checkTenth()
}

func (net *Network) checkTenth() error {
	if !net.written() || net.Spec.ClusterDNS != "" {
		return nil
	}
	services := net.services.four()[0]
	if _, ok := nthAddress(services, dnsAddress); !ok {
		return step.Invalid(fieldServices,
			"%s has no tenth address for the cluster's DNS; use a larger CIDR, or set spec.network.clusterDNS", services)
	}
	return nil
}

// checkApart: HNS translates nothing of what pods in a VXLAN send into the cluster's ranges, so no pod on Windows reaches a
// machine that has an address there. A machine whose address comes by DHCP is not known here.
func (net *Network) checkApart() error {
	if !net.overlay() {
		return nil
	}
	fields := map[string]string{}
	if host, err := netip.ParseAddr(net.Endpoint); err == nil {
		fields[host.Unmap().String()] = "the host of the Cluster's spec.controlPlaneEndpoint"
	}
	for _, prefix := range net.Adapters.ofFirst() {
		fields[prefix.Addr().String()] = "an address that its pool has given to this machine"
	}
	for _, text := range slices.Sorted(maps.Keys(fields)) {
		if field, found := net.rangeOf(netip.MustParseAddr(text)); found != nil {
			return step.Invalid(field, "%s contains %s, %s, which pods on Windows would not reach; use a CIDR in which no machine "+
				"has an address", found, text, fields[text])
		}
	}
	return nil
}

// rangeOf returns the range of the cluster that has an address.
func (net *Network) rangeOf(address netip.Addr) (field string, found ranges) {
	switch {
	case net.pods.contains(address):
		return fieldPods, net.pods
	case net.services.contains(address):
		return fieldServices, net.services
	}
	return "", nil
}

// InCluster are names that belong to the cluster: its DNS domain, and the CIDRs of pods and services.
func InCluster(cluster clusterv1.ClusterNetwork) (domain string, cidrs []string, err error) {
	if domain, err = readServiceDomain(cluster.ServiceDomain); err != nil {
		return "", nil, err
	}
	cidrs = slices.Concat(cluster.Pods.CIDRBlocks, cluster.Services.CIDRBlocks)
	for _, block := range cidrs {
		if _, err := netip.ParsePrefix(block); err != nil {
			return "", nil, step.Invalid("Cluster spec.clusterNetwork", "%q is not a CIDR; use one such as 10.244.0.0/16", block)
		}
	}
	return domain, cidrs, nil
}

func readServiceDomain(domain string) (string, error) {
	if domain == "" {
		return defaultServiceDomain, nil
	}
	if len(validation.IsDNS1123Subdomain(domain)) > 0 {
		return "", step.Invalid("Cluster spec.clusterNetwork.serviceDomain",
			"%q is not a DNS name; use one such as cluster.local", domain)
	}
	return domain, nil
}

// ranges are CIDRs; those of the cluster have at most one of each family.
type ranges []netip.Prefix

// readCIDR accepts only the plain form: some programs drop bits after the prefix, others keep them.
func readCIDR(field, text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return prefix, step.Invalid(field, "%q is not a CIDR; use one such as 10.0.0.0/16", text)
	}
	if plain := prefix.Masked(); plain.String() != text {
		return prefix, step.Invalid(field, "%q is not a CIDR in canonical form; use %s", text, plain)
	}
	return prefix, nil
}

func readCIDRs(field string, texts []string) (ranges, error) {
	var list ranges
	for _, text := range texts {
		prefix, err := readCIDR(field, text)
		if err != nil {
			return nil, err
		}
		list = append(list, prefix)
	}
	return list, nil
}

// clusterRanges of pods or services: at most one of each family.
func clusterRanges(field string, networkRanges clusterv1.NetworkRanges) (ranges, error) {
	list, err := readCIDRs(field, networkRanges.CIDRBlocks)
	if err != nil {
		return nil, err
	}
	if len(list) > 2 || len(list) == 2 && list[0].Addr().Is4() == list[1].Addr().Is4() {
		return nil, step.Invalid(field,
			"%s has more than one CIDR of a family; use one, or one of IPv4 and one of IPv6", list.String())
	}
	return list, nil
}

// family selects the CIDRs of IPv4, or those of IPv6.
func (r ranges) family(four bool) ranges {
	return slices.DeleteFunc(slices.Clone(r), func(p netip.Prefix) bool { return p.Addr().Is4() != four })
}

func (r ranges) four() ranges { return r.family(true) }

func (r ranges) dual() bool { return len(r.four()) > 0 && len(r.four()) < len(r) }

func (r ranges) onlySix() bool { return len(r) > 0 && len(r.four()) == 0 }

const onlySix = "%s is IPv6 only, which pods on Windows do not support; add an IPv4 CIDR"

// refuseOnlySix is checkFamilies for a spec without a network, whose pods somebody else looks after: nothing else is checked of
// the Cluster's ranges then.
func refuseOnlySix(cluster clusterv1.ClusterNetwork) error {
	for _, entry := range []struct {
		field string
		texts []string
	}{{fieldPods, cluster.Pods.CIDRBlocks}, {fieldServices, cluster.Services.CIDRBlocks}} {
		var six ranges
		for _, text := range entry.texts {
			if prefix, err := netip.ParsePrefix(text); err == nil {
				six = append(six, prefix)
			}
		}
		if six.onlySix() {
			return step.Invalid(entry.field, onlySix+
				", or set spec.network.mode of the WindowsBootstrapConfig to None if its node runs no pods with an address of their own", six)
		}
	}
	return nil
}

func (r ranges) contains(address netip.Addr) bool {
	return slices.ContainsFunc(r, func(p netip.Prefix) bool { return p.Contains(address) })
}

func (r ranges) overlaps(o ranges) bool {
	return slices.ContainsFunc(r, func(p netip.Prefix) bool { return slices.ContainsFunc(o, p.Overlaps) })
}

// broadest drops each CIDR that lies within another. HNS of Server 2019 ignores the prefix lengths of exceptions, and
// fails if two have the same first address.
func (r ranges) broadest() ranges {
	return slices.DeleteFunc(slices.Clone(r), func(p netip.Prefix) bool {
		return slices.ContainsFunc(r, func(wider netip.Prefix) bool { return wider.Bits() < p.Bits() && wider.Contains(p.Addr()) })
	})
}

// texts in their order, without duplicates.
func (r ranges) texts() []string {
	texts := make([]string, 0, len(r))
	for _, prefix := range r {
		if text := prefix.String(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func (r ranges) String() string { return strings.Join(r.texts(), ",") }

// nthAddress of a CIDR, counted from its first, which is 0; kubeadm gives the tenth to the cluster's DNS.
func nthAddress(prefix netip.Prefix, n int) (netip.Addr, bool) {
	address := prefix.Masked().Addr()
	for range n {
		address = address.Next()
	}
	return address, address.IsValid() && prefix.Contains(address)
}
