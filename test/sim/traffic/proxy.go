package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Outsiders are servers that each new network has: what a cluster pulls from, and an address that answers everywhere.
var outsiders = map[string]string{
	"registry.k8s.io": "192.0.2.200:443", "mcr.microsoft.com": "192.0.2.201:443", "one.one.one.one": "1.1.1.1:443",
	"dns.google": "8.8.8.8:53",
}

// Start makes a network without nodes, and the proxy by which an API server dials those that will come. Close ends it.
func Start() (*Cluster, error) {
	// The name of a socket may not be long, and a test's folder is.
	folder, err := os.MkdirTemp("", "net")
	if err != nil {
		return nil, fmt.Errorf("create folder: %w", err)
	}
	c := &Cluster{
		folder: folder, hosts: map[string]*Host{}, pods: map[netip.Addr]*Host{}, listeners: map[netip.AddrPort]string{},
		faults: map[string]Faults{}, outside: map[netip.AddrPort]bool{}, names: map[string]netip.Addr{},
		open: map[string]map[net.Conn]bool{},
	}
	for name, at := range outsiders {
		c.Outside(name, netip.MustParseAddrPort(at))
	}
	if c.proxy, err = net.Listen("unix", c.Socket()); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the API server: %w", err), os.RemoveAll(folder))
	}
	server := &http.Server{Handler: http.HandlerFunc(c.serveConnect), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(c.proxy) }() // it ends with its listener
	return c, nil
}

// Socket is where the proxy listens, for an API server's egress selector of the protocol HTTPConnect.
func (c *Cluster) Socket() string { return filepath.Join(c.folder, "proxy") }

// Close ends the network. Connections that are open end with those who have opened them.
func (c *Cluster) Close() error { return errors.Join(c.proxy.Close(), os.RemoveAll(c.folder)) }

// serveConnect leads to the listener of a node, and to all others as it is asked: webhooks and aggregated API servers.
func (c *Cluster) serveConnect(w http.ResponseWriter, r *http.Request) {
	host, target, err := c.behindOf(r.RequestURI)
	var far net.Conn
	if err == nil {
		far, err = new(net.Dialer).DialContext(r.Context(), "tcp", target)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer c.track(host, far)()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = far.Close()
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := near.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		_, _ = near.Close(), far.Close()
		return
	}
	both(near, buffered, far)
}

// behindOf is where the listener is of an address that nothing can dial, and of which node.
func (c *Cluster) behindOf(text string) (node, target string, err error) {
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return "", text, nil //nolint:nilerr // because a name is the resolver's
	}
	host := c.hostAt(at.Addr())
	if host == nil {
		return "", text, nil
	}
	behind, listens := c.listener(at)
	switch {
	case c.Faults(host.Name).KubeletClosed, !listens, behind == "":
		return "", "", fmt.Errorf("dial tcp %s: %w", at, ErrRefused)
	case !host.Admits(at.Port()):
		return "", "", fmt.Errorf("dial tcp %s: i/o timeout: the firewall of %s has no rule for the port", at, host.Name)
	}
	return host.Name, behind, nil
}

// Reach connects to the real listener at an address of a pod or of a node, as a kubelet does for those who forward its ports.
func (c *Cluster) Reach(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
	behind, listens := c.listener(at)
	if !listens || behind == "" {
		return nil, fmt.Errorf("dial tcp %s: %w", at, ErrRefused)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", behind)
}

// both copies in both directions until either side ends.
func both(near net.Conn, buffered io.Reader, far net.Conn) {
	var copies sync.WaitGroup
	copies.Go(func() {
		_, _ = io.Copy(far, buffered)
		_ = far.Close()
	})
	copies.Go(func() {
		_, _ = io.Copy(near, far)
		_ = near.Close()
	})
	copies.Wait()
}

// PlaceOf is where a pod's containers are, with the name server that the kubelet of a node gives to it
// (pkg/kubelet/network/dns/dns.go).
func PlaceOf(host *Host, pod *corev1.Pod, address, nameserver string) Place {
	place := Place{Host: host, Name: pod.Name}
	if pod.Spec.HostNetwork && (host.Windows || pod.Spec.DNSPolicy != corev1.DNSClusterFirstWithHostNet) {
		return place
	}
	if !pod.Spec.HostNetwork {
		place.Pod, _ = netip.ParseAddr(address) // none is none
	}
	if pod.Spec.DNSPolicy == corev1.DNSDefault {
		return place
	}
	if server, err := netip.ParseAddr(nameserver); err == nil {
		place.Nameserver = server
		place.Search = []string{pod.Namespace + ".svc." + clusterDomain, "svc." + clusterDomain, clusterDomain}
	}
	return place
}
