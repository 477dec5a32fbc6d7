package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
)

// Dial opens a connection and closes it: nil, ErrRefused, or ErrSilence, for which it does not wait.
func (c *Cluster) Dial(ctx context.Context, from Place, to netip.AddrPort) error {
	if to.Addr().IsLoopback() {
		if _, listens := c.listener(netip.AddrPortFrom(from.own(), to.Port())); !listens {
			return ErrRefused
		}
		return nil
	}
	if serviceRange.Contains(to.Addr()) {
		return c.dialService(ctx, from, to)
	}
	if host := c.hostAt(to.Addr()); host != nil {
		return c.dialHost(ctx, from, host, to)
	}
	if c.hostOf(to.Addr()) != nil {
		if err := from.Host.Path(from.Pod, to.Addr()); err != nil {
			return silence("%w", err)
		}
		return c.arrive(from, to)
	}
	return c.dialOutside(from, to)
}

func (c *Cluster) dialService(ctx context.Context, from Place, to netip.AddrPort) error {
	if c.Faults(from.Name, from.Host.Name).NoKubeProxy {
		return silence("no kube-proxy of %s leads to the Service %s", from.Host.Name, to)
	}
	backends, err := from.Host.Service(ctx, from.Pod, to)
	if err != nil {
		return unanswered(err)
	}
	return c.arriveAll(from, backends)
}

// dialHost is a connection to a node: somebody listens there, or kube-proxy has a NodePort.
func (c *Cluster) dialHost(ctx context.Context, from Place, host *Host, to netip.AddrPort) error {
	if _, listens := c.listener(to); listens {
		if from.Host != host && !host.Admits(to.Port()) {
			return silence("the firewall of %s has no rule for port %d", host.Name, to.Port())
		}
		return nil
	}
	backends, err := host.NodePort(ctx, to.Port())
	switch {
	case err != nil:
		return unanswered(err)
	case len(backends) == 0 && host.Windows:
		return silence("the firewall of %s has no rule for port %d", host.Name, to.Port())
	case len(backends) == 0:
		return ErrRefused
	case c.Faults(from.Name, host.Name).NoKubeProxy:
		return silence("no kube-proxy of %s leads on from port %d", host.Name, to.Port())
	case host == from.Host && host.Windows:
		// kubernetes/website, "Networking on Windows": "Local NodePort access from the node itself fails".
		return silence("a Windows node does not reach a NodePort of its own")
	}
	return c.arriveAll(Place{Host: host}, backends)
}

func (c *Cluster) dialOutside(from Place, to netip.AddrPort) error {
	c.mu.Lock()
	there := c.outside[to]
	c.mu.Unlock()
	switch {
	case c.Faults(from.Name, from.Host.Name).NoOutside:
		return silence("%s has no way out", from.Host.Name)
	case !there:
		return silence("nobody has the address %s", to)
	}
	return nil
}

// arriveAll: a client may be sent to any of the backends.
func (c *Cluster) arriveAll(from Place, backends []netip.AddrPort) error {
	if len(backends) == 0 {
		return ErrRefused // a kube-proxy rejects connections to a Service without endpoints
	}
	for _, backend := range backends {
		if err := c.arrive(from, backend); err != nil {
			return err
		}
	}
	return nil
}

// arrive is the end of a path that there is: the pod's node knows the way back, and the pod listens.
func (c *Cluster) arrive(from Place, to netip.AddrPort) error {
	host := c.hostOf(to.Addr())
	if host == nil {
		return c.atHost(to)
	}
	if err := c.back(from, host, to.Addr()); err != nil {
		return silence("%w", err)
	}
	if _, listens := c.listener(to); !listens {
		return ErrRefused
	}
	return nil
}

// back is the way of a pod's answers, if they have to leave its node.
func (c *Cluster) back(to Place, host *Host, pod netip.Addr) error {
	switch {
	case host == to.Host:
		return nil
	case c.Faults(to.Name, to.Host.Name, host.Name).NoPeers:
		return fmt.Errorf("the CNI has no way between %s and %s", to.Host.Name, host.Name)
	case to.Pod.IsValid():
		return host.Path(pod, to.Pod)
	}
	return nil
}

// atHost is a backend in the host's network, or one that is gone.
func (c *Cluster) atHost(to netip.AddrPort) error {
	host := c.hostAt(to.Addr())
	switch _, listens := c.listener(to); {
	case host == nil:
		return silence("no pod has the address %s", to.Addr())
	case listens && host.Admits(to.Port()):
		return nil
	case host.Windows:
		return silence("the firewall of %s has no rule for port %d", host.Name, to.Port())
	}
	return ErrRefused
}

// unanswered is what a node says of a way: a refusal stays one.
func unanswered(err error) error {
	if errors.Is(err, ErrRefused) {
		return ErrRefused
	}
	return silence("%w", err)
}
