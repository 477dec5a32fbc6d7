package cni

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// What calico-ipam does for Windows (projectcalico/calico v3.32.1, cni-plugin/pkg/ipamplugin/ipam_plugin.go): with
// windows_use_single_network, which Calico's operator always sets (tigera/operator 40788b9b, pkg/render/windows.go), a node has
// one block, because its pods have one network of HNS with one subnet. Of a block the host keeps the first three addresses and
// the last.

const (
	keptAtStart, keptAtEnd = 3, 1
	// defaultBlock is the size of a pool's blocks if the pool names none (libcalico-go/lib/clientv3/ippool.go).
	defaultBlock = 26
)

// The errors of calico-ipam (libcalico-go/lib/ipam/ipam.go).
var (
	errBlockLimit      = errors.New("cannot allocate new block due to per host block limit")
	errNoQualifiedPool = errors.New("cannot find a qualified ippool")
)

// calicoAssign takes the first free address of the node's block.
func calicoAssign(m *windows.Machine, network string, block netip.Prefix) (string, error) {
	size := 1 << (block.Addr().BitLen() - block.Bits())
	address := block.Masked().Addr()
	for i := range size - keptAtEnd {
		file := leases(network) + `\` + address.String()
		if i >= keptAtStart && !m.FileExists(file) {
			return address.String(), m.Put(file, []byte("a pod\r\neth0"))
		}
		address = address.Next()
	}
	return "", errBlockLimit
}

// firstBlock is the block of a node. Upstream claims a free one of the pool; here it is the first of the Node's pod CIDR, to
// which the routes and tunnels of the other nodes lead.
func (c *Container) firstBlock(ctx context.Context, node string) (netip.Prefix, error) {
	prefix, err := c.podRange(ctx, node)
	if err != nil {
		return netip.Prefix{}, err
	}
	size, err := c.blockSize(ctx)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(prefix.Masked().Addr(), max(size, prefix.Bits())), nil
}

// blockSize is that of the first pool that gives addresses for IPv4. A cluster of the lab without the kind has a pool that names
// none.
func (c *Container) blockSize(ctx context.Context) (int, error) {
	client, err := c.Account()
	if err != nil {
		return 0, err
	}
	text, err := client.CoreV1().RESTClient().Get().AbsPath("/apis/crd.projectcalico.org/v1/ippools").DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return defaultBlock, nil
	}
	var pools struct {
		Items []struct {
			Spec struct {
				CIDR      string
				BlockSize int
				Disabled  bool
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &pools)
	}
	if err != nil {
		return 0, err
	}
	for _, pool := range pools.Items {
		switch {
		case pool.Spec.Disabled || strings.Contains(pool.Spec.CIDR, ":"):
		case pool.Spec.BlockSize == 0:
			return defaultBlock, nil
		default:
			return pool.Spec.BlockSize, nil
		}
	}
	return 0, errNoQualifiedPool
}
