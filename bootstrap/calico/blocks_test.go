package calico

import (
	"encoding/json"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestSmallestBlock: of the pools that may give a Windows node its block, the one with the least addresses counts.
func TestSmallestBlock(t *testing.T) {
	const four, fourOf25 = `{"cidr": "10.2.0.0/16"}`, `{"cidr": "10.1.0.0/16", "blockSize": 25}`
	const linuxOnly = `{"cidr": "10.1.0.0/16", "blockSize": 27, "nodeSelector": "kubernetes.io/os == 'linux'"}`
	for name, c := range map[string]struct {
		specs []string
		want  Block
		pods  int
	}{
		"one":           {[]string{fourOf25}, Block{Pool: "a", Size: 25}, 124},
		"by default":    {[]string{`{"cidr": "10.1.0.0/16", "nodeSelector": "all()"}`}, Block{Pool: "a", Size: 26}, 60},
		"the smallest":  {[]string{fourOf25, four}, Block{Pool: "b", Size: 26}, 60},
		"none for IPv4": {[]string{`{"cidr": "fd00::/48", "blockSize": 122}`}, Block{}, 0},
		"with IPv6":     {[]string{`{"cidr": "fd00::/48", "blockSize": 122}`, four}, Block{Pool: "b", Size: 26}, 60},
		"disabled":      {[]string{`{"cidr": "10.1.0.0/16", "blockSize": 27, "disabled": true}`}, Block{}, 0},
		"by hand":       {[]string{`{"cidr": "10.1.0.0/16", "assignmentMode": "Manual"}`}, Block{}, 0},
		"no Pods":       {[]string{`{"cidr": "10.1.0.0/16", "allowedUses": ["LoadBalancer"]}`}, Block{}, 0},
		"Pods and tunnels": {
			[]string{`{"cidr": "10.1.0.0/16", "allowedUses": ["Tunnel", "Workload"]}`}, Block{Pool: "a", Size: 26}, 60,
		},
		"for Linux": {[]string{linuxOnly, `{"cidr": "10.2.0.0/16", "blockSize": 24}`}, Block{Pool: "b", Size: 24}, 252},
		"not for Windows": {
			[]string{`{"cidr": "10.1.0.0/16", "nodeSelector": "has(pool) && kubernetes.io/os != \"windows\""}`}, Block{}, 0,
		},
		"for Windows": {
			[]string{`{"cidr": "10.1.0.0/16", "nodeSelector": "kubernetes.io/os=='windows' && has(gpu)"}`}, Block{Pool: "a", Size: 26}, 60,
		},
		"for others, perhaps": {
			[]string{`{"cidr": "10.1.0.0/16", "nodeSelector": "kubernetes.io/os == 'linux' || has(gpu)"}`}, Block{Pool: "a", Size: 26}, 60,
		},
		"for others, in brackets": {
			[]string{`{"cidr": "10.1.0.0/16", "nodeSelector": "!(kubernetes.io/os == 'linux')"}`}, Block{Pool: "a", Size: 26}, 60,
		},
		"too small for Windows": {[]string{`{"cidr": "10.1.0.0/16", "blockSize": 30}`}, Block{}, 0},
		"the smallest of all":   {[]string{`{"cidr": "10.1.0.0/16", "blockSize": 29}`}, Block{Pool: "a", Size: 29}, 4},
		"nonsense": {
			[]string{`{"cidr": "10.1", "blockSize": -3}`, `{"cidr": "10.1.0.0/16", "blockSize": -3}`}, Block{}, 0,
		},
	} {
		var pools []IPPool
		for i, spec := range c.specs {
			pool := IPPool{Name: string(rune('a' + i))}
			expect.OK(t, json.Unmarshal([]byte(spec), &pool.Spec))
			pools = append(pools, pool)
		}
		got := SmallestBlock(pools)
		expect.Same(t, name, c.want, got)
		expect.Same(t, name+": Pods", c.pods, got.Pods())
	}
}

// TestPodsWithoutAddress: what is said of a node that takes more pods than its block has addresses.
func TestPodsWithoutAddress(t *testing.T) {
	odd := IPPool{Name: "a; run this: rm"}
	odd.Spec.CIDR = "10.1.0.0/16"
	expect.Same(t, "a pool without a name", Block{Pool: "10.1.0.0/16", Size: 26}, SmallestBlock([]IPPool{odd}))
	for _, c := range []struct {
		block   Block
		maxPods int
		want    string
	}{
		{Block{}, 60, ""},
		{
			Block{}, 61, "Calico gives a Windows node one block of addresses, which has 60 for pods with the default blockSize of 26, " +
				"and spec.kubelet.maxPods is 61: a pod without an address does not start; set maxPods to 60, unless the cluster's " +
				"pools have a blockSize of 25 or less",
		},
		{
			Block{}, 250, "Calico gives a Windows node one block of addresses, which has 60 for pods with the default blockSize of 26, " +
				"and spec.kubelet.maxPods is 250: a pod without an address does not start; set maxPods to 60, unless the cluster's " +
				"pools have a blockSize of 24 or less",
		},
		{Block{"default-ipv4-ippool", 25}, 124, ""},
		{
			Block{"default-ipv4-ippool", 27}, 60, "Calico gives a Windows node one block of addresses, which has 28 for pods in the " +
				"pool default-ipv4-ippool with blockSize 27, and spec.kubelet.maxPods is 60: a pod without an address does not start; " +
				"set maxPods to 28",
		},
	} {
		expect.Same(t, "warning", c.want, c.block.Lack(c.maxPods))
	}
}
