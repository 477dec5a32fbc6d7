// Package calico knows how many pods of a Windows node Calico has addresses for.
package calico

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// IPPool is what matters for a Windows node of a pool of Calico's addresses (projectcalico/calico v3.32.1,
// libcalico-go/config/crd/crd.projectcalico.org_ippools.yaml).
type IPPool struct {
	Name string
	Spec struct {
		CIDR           string   `json:"cidr"`
		BlockSize      int      `json:"blockSize"`
		Disabled       bool     `json:"disabled"`
		NodeSelector   string   `json:"nodeSelector"`
		AllowedUses    []string `json:"allowedUses"`
		AssignmentMode string   `json:"assignmentMode"`
	}
}

// Calico gives a Windows node one block, of which it keeps the first three addresses and the last
// (cni-plugin/pkg/ipamplugin/ipam_plugin.go), and none of a size without any other (libcalico-go/lib/ipam/ipam.go,
// getMaxPrefixLen).
const (
	keptOfBlock   = 4
	defaultBlock  = 26
	smallestBlock = 29
)

// Block is the smallest that a Windows node may get. Without a Size nobody knows which that is.
type Block struct {
	Pool string
	Size int
}

// SmallestBlock is that of the pools from which a Windows node may get its block.
func SmallestBlock(pools []IPPool) Block {
	var found Block
	for _, pool := range pools {
		if size := pool.blockSize(); size > found.Size {
			found = Block{Pool: pool.called(), Size: size}
		}
	}
	return found
}

// called is the pool's name, or its range if that is no name: whoever has a cluster may have its API server say anything.
func (p IPPool) called() string {
	if len(validation.IsDNS1123Subdomain(p.Name)) > 0 {
		return netip.MustParsePrefix(p.Spec.CIDR).String() // blockSize has parsed it
	}
	return p.Name
}

// blockSize is 0 if no Windows node gets its block from this pool.
func (p IPPool) blockSize() int {
	prefix, err := netip.ParsePrefix(p.Spec.CIDR)
	size := cmp.Or(p.Spec.BlockSize, defaultBlock)
	switch {
	case err != nil, !prefix.Addr().Is4(), size < 0, size > smallestBlock, p.Spec.Disabled, p.Spec.AssignmentMode == "Manual",
		len(p.Spec.AllowedUses) > 0 && !slices.Contains(p.Spec.AllowedUses, "Workload"), leavesOutWindows(p.Spec.NodeSelector):
		return 0
	}
	return size
}

// otherSystem is a term of Calico's selectors that no Windows node meets.
var otherSystem = regexp.MustCompile(`^(beta\.)?kubernetes\.io/os *(== *["']linux["']|!= *["']windows["'])$`)

// leavesOutWindows understands terms that must all be met. Of any other selector it takes that it may select Windows nodes.
func leavesOutWindows(selector string) bool {
	if strings.Contains(selector, "||") || strings.Contains(strings.NewReplacer("all()", "", "has(", "").Replace(selector), "(") {
		return false
	}
	return slices.ContainsFunc(strings.Split(selector, "&&"), func(term string) bool {
		return otherSystem.MatchString(strings.TrimSpace(term))
	})
}

// Pods is how many pods get an address of the block.
func (b Block) Pods() int {
	if b.Size == 0 {
		return 0
	}
	return 1<<(32-b.Size) - keptOfBlock
}

// Lack is the sentence for a node that takes more pods than its block has addresses. It is empty if it does not.
func (b Block) Lack(maxPods int) string {
	addresses, hint := b.Pods(), ""
	if b.Size == 0 {
		addresses = Block{Size: defaultBlock}.Pods()
		hint = fmt.Sprintf(", unless the cluster's pools have a blockSize of %d or less", sizeFor(maxPods))
	}
	if maxPods <= addresses {
		return ""
	}
	return fmt.Sprintf("Calico gives a Windows node %s, and spec.kubelet.maxPods is %d: a pod without an address does not start; "+
		"set maxPods to %d%s", b, maxPods, addresses, hint)
}

// String is in the words of a sentence about what Calico gives.
func (b Block) String() string {
	const subject = "one block of addresses, which has %d for pods "
	if b.Size == 0 {
		return fmt.Sprintf(subject+"with the default blockSize of %d", Block{Size: defaultBlock}.Pods(), defaultBlock)
	}
	return fmt.Sprintf(subject+"in the pool %s with blockSize %d", b.Pods(), b.Pool, b.Size)
}

// sizeFor is the smallest block with an address for each pod.
func sizeFor(maxPods int) int {
	size := defaultBlock
	for size > 0 && (Block{Size: size}).Pods() < maxPods {
		size--
	}
	return size
}
