package network

import (
	"net/netip"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// ranges are CIDRs; those of the cluster have at most one of each family.
type ranges []netip.Prefix

// readCIDR accepts only the plain form: some programs drop bits after the prefix, others keep them.
func readCIDR(field, text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return prefix, step.Invalid(field, "%q is not a CIDR; use one such as 10.0.0.0/16", text)
	}
	if plain := prefix.Masked(); plain != prefix || plain.String() != text {
		return prefix, step.Invalid(field, "%q is not a CIDR in canonical form; use %s", text, plain)
	}
	return prefix, nil
}

func readCIDRs(field string, texts []string) (ranges, error) {
	var all ranges
	for _, text := range texts {
		prefix, err := readCIDR(field, text)
		if err != nil {
			return nil, err
		}
		all = append(all, prefix)
	}
	return all, nil
}

// clusterRanges of pods or services: at most one of each family.
func clusterRanges(field string, given clusterv1.NetworkRanges) (ranges, error) {
	all, err := readCIDRs(field, given.CIDRBlocks)
	if err != nil {
		return nil, err
	}
	if len(all) > 2 || len(all) == 2 && all[0].Addr().Is4() == all[1].Addr().Is4() {
		return nil, step.Invalid(field,
			"%s has more than one CIDR of a family; use one, or one of IPv4 and one of IPv6", all.String())
	}
	return all, nil
}

// family selects the CIDRs of IPv4, or those of IPv6.
func (r ranges) family(four bool) ranges {
	return slices.DeleteFunc(slices.Clone(r), func(p netip.Prefix) bool { return p.Addr().Is4() != four })
}

func (r ranges) four() ranges { return r.family(true) }

func (r ranges) dual() bool { return len(r.four()) > 0 && len(r.four()) < len(r) }

func (r ranges) onlySix() bool { return len(r) > 0 && len(r.four()) == 0 }

const onlySix = "%s is IPv6 only, which pods on Windows do not support; add an IPv4 CIDR"

// refuseOnlySix is checkFamilies for a spec without a network, whose pods somebody else looks after: nothing else is said of the
// Cluster's ranges then.
func refuseOnlySix(cluster clusterv1.ClusterNetwork) error {
	for _, given := range []struct {
		field string
		texts []string
	}{{fieldPods, cluster.Pods.CIDRBlocks}, {fieldServices, cluster.Services.CIDRBlocks}} {
		var all ranges
		for _, text := range given.texts {
			if prefix, err := netip.ParsePrefix(text); err == nil {
				all = append(all, prefix)
			}
		}
		if all.onlySix() {
			return step.Invalid(given.field, onlySix+
				", or set spec.network.mode of the WindowsBootstrapConfig to None if its node runs no pods with an address of their own", all)
		}
	}
	return nil
}

func (r ranges) contains(address netip.Addr) bool {
	return slices.ContainsFunc(r, func(p netip.Prefix) bool { return p.Contains(address) })
}

func (r ranges) overlaps(other ranges) bool {
	return slices.ContainsFunc(r, func(p netip.Prefix) bool { return slices.ContainsFunc(other, p.Overlaps) })
}

// broadest drops each CIDR that lies within another. HNS of Server 2019 ignores the prefix lengths of exceptions, and
// fails if two have the same first address.
func (r ranges) broadest() ranges {
	return slices.DeleteFunc(slices.Clone(r), func(p netip.Prefix) bool {
		return slices.ContainsFunc(r, func(other netip.Prefix) bool { return other.Bits() < p.Bits() && other.Contains(p.Addr()) })
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
