package guest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

// join puts the node into the cluster's network, with the port of its kubelet.
func (c *containers) join(ctx context.Context, k *pods.Kubelet) (leave func(), err error) {
	n := c.node
	address, err := netip.ParseAddr(k.HostIP)
	if err != nil {
		return nil, fmt.Errorf("read the node's address: %w", err)
	}
	c.host = &traffic.Host{Name: n.name, Address: address, Windows: true, Node: c}
	authority := []byte(nil)
	if file := n.config.Authentication.X509.ClientCAFile; file != "" {
		if authority, err = n.call.Machine.ReadFile(file); err != nil {
			return nil, err
		}
	}
	k.Port = &pods.Port{
		Cluster: n.power.guest.Network, Host: c.host, ClientCA: authority, Certificate: n.serving(ctx, k), Capacity: n.capacity(),
		AlwaysAllow: n.config.Authorization.Mode == "AlwaysAllow",
		Tell:        func(format string, args ...any) { n.call.Fail(format, args...) },
	}
	return n.power.guest.Network.Join(c.host), nil
}

// enter and leave are those of a pod.
func (c *containers) enter(pod types.UID, address string) error {
	if c.host == nil {
		return nil
	}
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return err
	}
	c.left[pod] = c.node.power.guest.Network.Add(c.host, parsed)
	return nil
}

func (c *containers) leave(pod types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if leave := c.left[pod]; leave != nil {
		delete(c.left, pod)
		leave()
	}
}

// agnhost runs it in the network of the node.
func (c *containers) agnhost(ctx context.Context, p *pods.Process) (is bool, err error) {
	nameserver := ""
	if len(c.node.config.ClusterDNS) > 0 {
		nameserver = c.node.config.ClusterDNS[0]
	}
	program := pods.Agnhost{
		Cluster: c.node.power.guest.Network, Host: c.host, Nameserver: nameserver, Clock: c.node.call.Machine.Clock,
		HostProcess: isHostProcess(p.Pod, p.Container),
	}
	return program.Run(ctx, p)
}

// Path is part of traffic.Node.
func (c *containers) Path(from, to netip.Addr) error { return cni.Path(c.node.call.Machine, from, to) }

// Service is part of traffic.Node: HNS has the pods, and the API the numbers of their ports.
func (c *containers) Service(ctx context.Context, from netip.Addr, to netip.AddrPort) ([]netip.AddrPort, error) {
	pods, err := cni.Service(c.node.call.Machine, from, to.Addr().String())
	if err != nil {
		return nil, err
	}
	all, err := c.node.power.guest.Network.Backends(ctx, to)
	return written(all, pods), noAnswer(err)
}

// NodePort is part of traffic.Node.
func (c *containers) NodePort(ctx context.Context, port uint16) ([]netip.AddrPort, error) {
	pods, err := cni.NodePort(c.node.call.Machine, port)
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	all, err := c.node.power.guest.Network.BackendsOfNodePort(ctx, port)
	return written(all, pods), noAnswer(err)
}

// written are the backends that kube-proxy has written to HNS.
func written(all []netip.AddrPort, pods []netip.Addr) []netip.AddrPort {
	return slices.DeleteFunc(all, func(one netip.AddrPort) bool { return !slices.Contains(pods, one.Addr()) })
}

// noAnswer: HNS drops what it has no policy for, it refuses nothing.
func noAnswer(err error) error {
	if errors.Is(err, traffic.ErrRefused) {
		return errors.New("the Service has no endpoints")
	}
	return err
}

// Admits is part of traffic.Node.
func (c *containers) Admits(port uint16) bool { return c.node.call.Machine.Admits(port) }
