package addons

import (
	"maps"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func pool(name, cidr string, size int) bootstrap.IPPool {
	p := bootstrap.IPPool{Name: name}
	p.Spec.CIDR, p.Spec.BlockSize = cidr, size
	return p
}

// TestAddressesOfPods: the pods that Windows Nodes take are compared with the addresses that Calico has for them.
func TestAddressesOfPods(t *testing.T) {
	const gives = "Calico gives a Windows Node one block of addresses, which has "
	const small = gives + "60 for pods in the pool a with blockSize 26, and "
	const mend = ": a pod without an address does not start; set spec.kubelet.maxPods of the config to 60 for new machines"
	four := NodeAddresses{Pools: []bootstrap.IPPool{pool("a", "10.244.0.0/16", 26)}}
	off := pool("a", "10.244.0.0/16", 26)
	off.Spec.Disabled = true
	of110 := map[string]int{"win-0": 110}
	for name, c := range map[string]struct {
		calico   NodeAddresses
		maxPods  map[string]int
		machines map[string]int32
		want     cloud.Result
		text     string
	}{
		"no Calico": {NodeAddresses{}, of110, nil, "", ""},
		"hidden": {
			NodeAddresses{Hidden: true}, of110, nil, cloud.CheckSkipped, "the user of this kubeconfig may not list Calico's ippools, " +
				"so the number of pods of a Windows Node that get an address is not known",
		},
		"too many pods": {four, of110, nil, cloud.CheckWarning, small + "win-0 takes 110 pods" + mend},
		"four Nodes": {
			four,
			map[string]int{"a": 110, "b": 110, "c": 61, "d": 110, "e": 60},
			nil, cloud.CheckWarning,
			small + "a takes 110 pods, b takes 110 pods, c takes 61 pods, and others (1)" + mend,
		},
		"three Nodes": {
			four,
			map[string]int{"a": 110, "b": 110, "c": 61},
			nil, cloud.CheckWarning,
			small + "a takes 110 pods, b takes 110 pods, c takes 61 pods" + mend,
		},
		"a machine that will join": {
			four,
			map[string]int{"win-0": 60},
			map[string]int32{"win-0": 60, "win-1": 110},
			cloud.CheckWarning,
			small + "win-1 takes 110 pods" + mend,
		},
		"a Node with another CNI": {
			four, of110,
			map[string]int32{"win-0": 0, "win-1": 60},
			cloud.CheckOK,
			gives + "60 for pods in the pool a with blockSize 26, and no Windows Node takes more pods",
		},
		"enough": {
			NodeAddresses{Pools: []bootstrap.IPPool{pool("six", "fd00::/48", 122), pool("four", "10.244.0.0/16", 25)}},
			of110, nil, cloud.CheckOK,
			gives + "124 for pods in the pool four with blockSize 25, and no Windows Node takes more pods",
		},
		"a name that is none": {
			NodeAddresses{Pools: []bootstrap.IPPool{pool("a\nrun this", "10.244.0.0/16", 26)}},
			map[string]int{"b; run that": 61},
			nil,
			cloud.CheckWarning, gives + "60 for pods in the pool 10.244.0.0/16 with blockSize 26, and (not a name) takes 61 pods" + mend,
		},
		"none for Windows": {
			NodeAddresses{Pools: []bootstrap.IPPool{off}}, of110, nil, cloud.CheckWarning, "no pool of Calico gives Windows Nodes " +
				"addresses: each is disabled, for other Nodes, for IPv6, or has a blockSize above 29; if these Nodes have Calico, none of " +
				"their pods starts",
		},
	} {
		c.calico.MaxPods = maps.Clone(c.maxPods)
		var joins []placement.Join
		for name, pods := range c.machines {
			j := placement.Join{Node: placement.Node{Name: name}, Config: &bootstrapv1.WindowsBootstrapConfig{}}
			if j.Config.Spec.Network.CNI = bootstrapv1.CNIFlannel; pods > 0 {
				j.Config.Spec.Network.CNI, j.Config.Spec.Kubelet.MaxPods = bootstrapv1.CNICalico, pods
			}
			joins = append(joins, j)
		}
		c.calico.Add(joins)
		var want []cloud.Finding
		if c.text != "" {
			want = []cloud.Finding{{Check: "addresses of pods", Result: c.want, Text: c.text}}
		}
		expect.Same(t, name, want, c.calico.Findings())
	}
	expect.Same(t, "of a first Node", small+"a first Windows Node takes 110 pods"+mend, four.Findings()[0].Text)
}
