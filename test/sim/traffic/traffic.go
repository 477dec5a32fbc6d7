// Package traffic is the network between the nodes of a lab's cluster: who listens where, who reaches whom, and what a test has
// cut. Nothing is sent but to kubelets: what the CNI and the kube-proxy of each node have made decides.
//
// A test sets what fails by the name of a node or of a pod, and heals it with the zero value:
//
//	cluster.Break("linux-0", traffic.Faults{NoDNS: true})
//	cluster.Images.Remove("agnhost:2.99")
//	cluster.Images.Limit("mirror.example.com/agnhost", "linux/amd64", "windows/10.0.17763")
package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"k8s.io/client-go/kubernetes"
)

// Faults are what a node, or a pod, lacks. The zero value lacks nothing.
type Faults struct {
	// NoDNS leaves questions for names without an answer.
	NoDNS bool
	// NoKubeProxy leaves Services and NodePorts without one that leads somewhere: of a pod, those that it asks.
	NoKubeProxy bool
	// NoPeers is a CNI without a way to the pods of other nodes, and from them.
	NoPeers bool
	// NoOutside cuts all that is not of the cluster.
	NoOutside bool
	// KubeletClosed keeps the port of the kubelet shut: no logs, no exec, no metrics. It is a node's only.
	KubeletClosed bool
	// LogsRefused, ExecRefused and StatsRefused have the kubelet answer that it cannot. The last one is a node's only.
	LogsRefused, ExecRefused, StatsRefused bool
}

func (f Faults) with(other Faults) Faults {
	return Faults{
		NoDNS: f.NoDNS || other.NoDNS, NoKubeProxy: f.NoKubeProxy || other.NoKubeProxy, NoPeers: f.NoPeers || other.NoPeers,
		NoOutside: f.NoOutside || other.NoOutside, KubeletClosed: f.KubeletClosed || other.KubeletClosed,
		LogsRefused: f.LogsRefused || other.LogsRefused, ExecRefused: f.ExecRefused || other.ExecRefused,
		StatsRefused: f.StatsRefused || other.StatsRefused,
	}
}

// Node is what the network asks of a node. The address of a pod that is not valid stands for the node itself.
type Node interface {
	// Path says why packets of a pod of the node do not come to another pod, wherever that is.
	Path(from, to netip.Addr) error
	// Service is where the node's kube-proxy leads connections of a pod of the node to an address of a Service. It MUST have a
	// path to each backend.
	Service(ctx context.Context, from netip.Addr, to netip.AddrPort) ([]netip.AddrPort, error)
	// NodePort is where it leads connections to a port of the node: nowhere without an error is a port that it does not know.
	NodePort(ctx context.Context, port uint16) ([]netip.AddrPort, error)
	// Admits says whether the node's firewall lets connections to a port of the host in.
	Admits(port uint16) bool
}

// Host is a node in the network.
type Host struct {
	Name    string
	Address netip.Addr
	Windows bool
	Node
}

// Place is a pod, or with an address that is not valid the host's own network, as HostProcess pods have it.
type Place struct {
	Host *Host
	Name string
	Pod  netip.Addr
	// Nameserver and Search are those of the cluster; without an address the host's is asked.
	Nameserver netip.Addr
	Search     []string
}

// own is the address of a place.
func (p Place) own() netip.Addr {
	if p.Pod.IsValid() {
		return p.Pod
	}
	return p.Host.Address
}

// ErrRefused is the answer of a machine on which nobody listens there.
var ErrRefused = errors.New("connection refused")

// ErrSilence is no answer at all. It wraps the reason, which only a test can see.
var ErrSilence = errors.New("no answer")

func silence(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrSilence, fmt.Errorf(format, args...))
}

// serviceRange has the addresses of Services, as kubeadm's default has it.
var serviceRange = netip.MustParsePrefix("10.96.0.0/12")

// Cluster is the network of a cluster.
type Cluster struct {
	// Images are what the registries have.
	Images Registry

	folder string
	proxy  net.Listener

	mu     sync.Mutex
	client kubernetes.Interface
	hosts  map[string]*Host
	pods   map[netip.Addr]*Host
	// listeners are those of pods and hosts: the address of the real one, if there is any.
	listeners map[netip.AddrPort]string
	faults    map[string]Faults
	outside   map[netip.AddrPort]bool
	names     map[string]netip.Addr
	// open are the connections that the proxy has made, by their node.
	open map[string]map[net.Conn]bool
}

// Connect tells the network how to ask the API server for Services, as the kube-proxies of Linux and CoreDNS do.
func (c *Cluster) Connect(client kubernetes.Interface) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = client
}

// Break sets what a node or a pod lacks from now on, by its name. A port that is shut ends the connections that it has.
func (c *Cluster) Break(name string, faults Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[name] = faults
	if faults.KubeletClosed {
		for connection := range c.open[name] {
			_ = connection.Close() // that is the fault
		}
	}
}

// track keeps a connection to a node until it is over.
func (c *Cluster) track(host string, connection net.Conn) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[host] == nil {
		c.open[host] = map[net.Conn]bool{}
	}
	c.open[host][connection] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open[host], connection)
	}
}

// Faults are those of all the names together.
func (c *Cluster) Faults(names ...string) Faults {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all Faults
	for _, name := range names {
		all = all.with(c.faults[name])
	}
	return all
}

// Outside adds a server that is not of the cluster: its name, if it has one, and where it listens.
func (c *Cluster) Outside(name string, at netip.AddrPort) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outside[at], c.names[name] = true, at.Addr()
}

// Join adds a node, until it leaves.
func (c *Cluster) Join(host *Host) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts[host.Name] = host
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.hosts[host.Name] == host {
			delete(c.hosts, host.Name)
		}
	}
}

// Add gives a pod of a node its address, until it is taken away.
func (c *Cluster) Add(host *Host, pod netip.Addr) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[pod] = host
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pods[pod] == host {
			delete(c.pods, pod)
		}
	}
}

// Listen has somebody listen at a port of a place. Behind is where a real listener is, if there is one.
func (c *Cluster) Listen(place Place, port uint16, behind string) (end func(), err error) {
	at := netip.AddrPortFrom(place.own(), port)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.listeners[at]; taken {
		return nil, fmt.Errorf("listen tcp :%d: bind: address already in use", port)
	}
	c.listeners[at] = behind
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, at)
	}, nil
}

func (c *Cluster) listener(at netip.AddrPort) (behind string, listens bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	behind, listens = c.listeners[at]
	return behind, listens
}

// hostAt is the node with an address, and hostOf that of a pod.
func (c *Cluster) hostAt(address netip.Addr) *Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, host := range c.hosts {
		if host.Address == address {
			return host
		}
	}
	return nil
}

func (c *Cluster) hostOf(pod netip.Addr) *Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[pod]
}
