package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const flannelDomain = "flannel.alpha.coreos.com/"

// LinuxNodes are those that take pods, beside the control plane's.
var LinuxNodes = []string{"linux-0", "linux-1"}

// backends are what flanneld of each Linux node writes into its annotations (flannel-io/flannel cdf76059,
// pkg/subnet/kube/annotations.go). A cluster has one backend; the lab has a node for each.
var backends = []map[string]string{
	{"backend-type": "vxlan", "backend-data": `{"VNI":4096,"VtepMAC":"0a:58:0a:f4:00:01"}`},
	{"backend-type": "host-gw", "backend-data": "null"},
}

// Linux are the Linux nodes of a cluster.
type Linux struct {
	Client kubernetes.Interface
	// Version of the kubelets.
	Version string
	// Nodes are the names of those to register; LinuxNodes when nil.
	Nodes []string
	// Others are nodes that somebody else registers, and that have no kubelet.
	Others []string
	// Addresses of Others whose Nodes may not have theirs yet: a cloud provider is to write it.
	Addresses map[string]string
	// Backend is the one of flanneld on all nodes, "vxlan" or "host-gw"; empty gives each node another one.
	Backend string
	// Network is what agnhost and the API server need; without it all containers run for ever and nobody can ask for logs.
	Network *traffic.Cluster
	// CA (PEM) is the cluster's, by which kubelets know the API server. It comes with Network.
	CA []byte
	// Program is what a container does that is neither agnhost nor CoreDNS, if it has a program here; nil is none.
	Program func(ctx context.Context, p *Process) (is bool, err error)
	// Clock is the nodes'; nil is the host's.
	Clock Clock
}

// linux is a Linux node with a CNI that never fails.
type linux struct {
	Linux

	name, address string
	// flannel is what its flanneld says of it.
	flannel map[string]string
	host    *traffic.Host

	mu   sync.Mutex
	next netip.Addr
	// left take pods out of the network.
	left map[types.UID]func()
}

// Run registers the Linux nodes and runs their pods, and those of others without a kubelet, until ctx ends.
func (l Linux) Run(ctx context.Context) error {
	if l.Clock == nil {
		l.Clock = windows.RealClock{}
	}
	if l.Nodes == nil {
		l.Nodes = LinuxNodes
	}
	var all []*linux
	for i, name := range slices.Concat(l.Nodes, l.Others) {
		node := &linux{Linux: l, name: name, left: map[types.UID]func(){}}
		node.address = cmp.Or(l.Addresses[name], fmt.Sprintf("192.0.2.%d", 11+i))
		all = append(all, node)
		if i < len(l.Nodes) {
			node.flannel = l.backend(i)
			if err := node.register(ctx); err != nil {
				return err
			}
		}
	}
	var work sync.WaitGroup
	for _, node := range all {
		k, err := node.kubelet(ctx)
		if err != nil {
			return err
		}
		work.Go(func() { k.Run(ctx) })
		if node.flannel != nil {
			work.Go(func() { nodes.KeepLease(ctx, l.Client, node.name) })
		}
	}
	work.Wait()
	return nil
}

func (l Linux) backend(i int) map[string]string {
	at := slices.IndexFunc(backends, func(b map[string]string) bool { return b["backend-type"] == l.Backend })
	if at < 0 {
		at = i % len(backends)
	}
	return backends[at]
}

// kubelet is the node's. In a network it takes the address that the Node has.
func (n *linux) kubelet(ctx context.Context) (*Kubelet, error) {
	k := &Kubelet{Node: n.name, HostIP: n.address, Client: n.Client, Runtime: n, Clock: n.Clock}
	if n.Network == nil {
		return k, nil
	}
	node, err := n.Client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get node %s: %w", n.name, err)
	}
	for _, one := range node.Status.Addresses {
		if one.Type == corev1.NodeInternalIP {
			k.HostIP = one.Address
		}
	}
	address, err := netip.ParseAddr(k.HostIP)
	if err != nil {
		return nil, fmt.Errorf("read the address of node %s: %w", n.name, err)
	}
	n.host = &traffic.Host{Name: n.name, Address: address, Node: n}
	n.Network.Join(n.host)
	k.Port = &Port{
		Cluster: n.Network, Host: n.host, ClientCA: n.CA, Certificate: SelfSigned(n.name, k.HostIP), Capacity: node.Status.Capacity,
		Tell: func(string, ...any) {}, // whom the port does not answer sees that
	}
	return k, nil
}

// register makes the Node as a kubelet does, with what its flanneld writes.
func (n *linux) register(ctx context.Context) error {
	kubelet := nodes.Linux(n.name, n.address, n.Version)
	kubelet.Annotations = map[string]string{flannelDomain + "kube-subnet-manager": "true", flannelDomain + "public-ip": n.address}
	for name, value := range n.flannel {
		kubelet.Annotations[flannelDomain+name] = value
	}
	return kubelet.Register(ctx, n.Client)
}

// Connect is part of Runtime: the next address of the node's pod CIDR.
func (n *linux) Connect(ctx context.Context, pod *corev1.Pod) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.next.IsValid() {
		node, err := n.Client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		prefix, err := netip.ParsePrefix(node.Spec.PodCIDR)
		if err != nil {
			return "", errors.New("plugin type=\"flannel\" failed (add): the node has no pod CIDR")
		}
		n.next = prefix.Addr().Next()
	}
	n.next = n.next.Next()
	if n.host != nil {
		n.left[pod.UID] = n.Network.Add(n.host, n.next)
	}
	return n.next.String(), nil
}

// Disconnect is part of Runtime.
func (n *linux) Disconnect(pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if leave := n.left[pod.UID]; leave != nil {
		delete(n.left, pod.UID)
		leave()
	}
}

// Pull is part of Runtime.
func (n *linux) Pull(_ context.Context, _ *corev1.Pod, container *corev1.Container) error {
	if n.Network == nil {
		return nil
	}
	return n.Network.Images.Pull(container.Image, "linux/"+runtime.GOARCH)
}

// nameserver is the tenth address of kubeadm's range for Services, which the kubelets of Linux have as clusterDNS.
const nameserver = "10.96.0.10"

// Run is part of Runtime: agnhost does what it is told, CoreDNS listens, and every other container does what Program says, or
// runs for ever.
func (n *linux) Run(ctx context.Context, p *Process) error {
	agnhost := Agnhost{Cluster: n.Network, Host: n.host, Nameserver: nameserver, Clock: n.Clock}
	if is, err := agnhost.Run(ctx, p); is {
		return err
	}
	if n.Network != nil && strings.Contains(p.Container.Image, "/coredns") && len(p.Command) == 0 {
		end, err := n.Network.Listen(traffic.PlaceOf(n.host, p.Pod, p.Address, ""), 53, "")
		if err != nil {
			return err
		}
		defer end()
	}
	if n.Program != nil && len(p.Command) == 0 {
		if is, err := n.Program(ctx, p); is {
			return err
		}
	}
	return RunOther(ctx, p)
}

// Probe is part of Runtime.
func (*linux) Probe(context.Context, *corev1.Pod, *corev1.Container) error { return nil }

// Path is part of traffic.Node.
func (*linux) Path(netip.Addr, netip.Addr) error { return nil }

// Service is part of traffic.Node: the kube-proxy of a Linux node does what the API server says.
func (n *linux) Service(ctx context.Context, _ netip.Addr, to netip.AddrPort) ([]netip.AddrPort, error) {
	return n.Network.Backends(ctx, to)
}

// NodePort is part of traffic.Node.
func (n *linux) NodePort(ctx context.Context, port uint16) ([]netip.AddrPort, error) {
	return n.Network.BackendsOfNodePort(ctx, port)
}

// Admits is part of traffic.Node.
func (*linux) Admits(uint16) bool { return true }
