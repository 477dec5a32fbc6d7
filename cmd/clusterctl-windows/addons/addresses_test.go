package addons

import (
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestAddresses: of each pool with Calico it is said whether its nodes take more pods than a block has addresses for, by what is
// known of the cluster's blocks.
func TestAddresses(t *testing.T) {
	const lack = windows + ": Calico gives a Windows node one block of addresses, which has "
	const hidden = "the user of this kubeconfig may not list Calico's ippools, so only its default blockSize is known"
	pods := func(most int) func(*Pool) { return func(p *Pool) { p.MaxPods = most } }
	pool := func(name, cidr string, size int) bootstrap.IPPool {
		p := bootstrap.IPPool{Name: name}
		p.Spec.CIDR, p.Spec.BlockSize = cidr, size
		return p
	}
	for name, c := range map[string]struct {
		pool  Pool
		there *Calico
		want  []string
	}{
		"as many as fit": {calico(pods(60)), nil, nil},
		"one more than it": {calico(pods(61)), nil, []string{lack + "60 for pods with the default blockSize of 26, and spec.kubelet." +
			"maxPods is 61: a pod without an address does not start; set maxPods to 60, unless the cluster's pools have a blockSize " +
			"of 25 or less"}},
		"of another CNI": {calico(with("L2Bridge", "Flannel", ""), pods(110)), nil, nil},
		"by the Node's CIDR": {calico(pods(110)), ready(func(c *Calico) {
			c.Installation.CNI.IPAM.Type = "HostLocal"
		}), nil},
		"no Installation, so the default": {calico(pods(60)), &Calico{}, nil},
		"the cluster's pool": {
			calico(pods(28)), ready(func(c *Calico) { c.IPPools = []bootstrap.IPPool{pool("small", "10.244.0.0/16", 28)} }),
			[]string{lack + "12 for pods in the pool small with blockSize 28, and spec.kubelet.maxPods is 28: a pod without an address " +
				"does not start; set maxPods to 12"},
		},
		"the pools that the operator will make": {
			calico(pods(28)), ready(func(c *Calico) { c.Installation.CalicoNetwork.IPPools[0].BlockSize = 28 }),
			[]string{lack + "12 for pods in the pool 10.244.0.0/16 with blockSize 28, and spec.kubelet.maxPods is 28: a pod without an " +
				"address does not start; set maxPods to 12"},
		},
		"none of which is for Windows": {
			calico(pods(28)), ready(func(c *Calico) {
				c.Installation.CalicoNetwork.IPPools[0].BlockSize = 28
				c.Installation.CalicoNetwork.IPPools[0].NodeSelector = "kubernetes.io/os == 'linux'"
			}), nil,
		},
		"the cluster's pools come first": {
			calico(pods(28)), ready(func(c *Calico) {
				c.IPPools = []bootstrap.IPPool{pool("large", "10.244.0.0/16", 24)}
				c.Installation.CalicoNetwork.IPPools[0].BlockSize = 28
			}), nil,
		},
		"pools that nobody may list": {calico(pods(60)), ready(func(c *Calico) { c.PoolsHidden = true }), []string{hidden}},
	} {
		expect.Same(t, name, c.want, Addresses([]Pool{c.pool}, c.there))
	}
}

// TestWordsOfAPool: who gave flags and no file reads of flags, and a pool is called by what it says.
func TestWordsOfAPool(t *testing.T) {
	nameless := func(p *Pool) { p.Name = "" }
	for want, p := range map[string]Pool{
		"The pool (no mode)":                calico(nameless, with("", "", "")),
		windows + " (Overlay without cni)":  calico(with("Overlay", "", "")),
		windows + " (L2Bridge with Calico)": calico(with("L2Bridge", "Calico", "")),
	} {
		expect.Same(t, "pair", want, p.pair())
	}
	_, err := Build([]Pool{calico(nameless, func(p *Pool) { p.Network.HNSNetworkName = "pods" })}, Options{})
	expect.Says(t, "a network", err, "remove it, or use --kube-proxy Service, and write it into the pool")
	_, err = Build([]Pool{calico(nameless, at("v1.38.0"))}, Options{})
	expect.Says(t, "a version", err, "; use --kube-proxy Service, and write it into the pool")
	_, err = Settings([]Pool{calico(nameless, with("Transparent", bootstrapv1.CNICalico, ""))}, prod, nil)
	expect.Says(t, "a mode", err, "--mode Transparent: ")
}

// TestHyperVIsAsked: pods of --hyper-v find the nodes of a pool that has it, and of none else.
func TestHyperVIsAsked(t *testing.T) {
	with := calico(func(p *Pool) { p.HyperV = true })
	plain, asked := expect.Got(Build([]Pool{with}, Options{}))(t), expect.Got(Build([]Pool{with}, Options{HyperV: true}))(t)
	expect.Same(t, "objects are no fewer", true, len(asked.Objects) >= len(plain.Objects))
	_, err := Build([]Pool{calico()}, Options{HyperV: true})
	expect.Says(t, "a pool without it", err, "no node starts the pods of --hyper-v")
}
