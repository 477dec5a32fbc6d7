package traffic

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
)

// ErrNoSuchHost is the answer for a name that nobody has.
var ErrNoSuchHost = errors.New("no such host")

const (
	clusterDomain = "cluster.local"
	portOfDNS     = 53
	// enoughDots: a name with fewer is tried with the suffixes first (ndots:5 of the kubelet, pkg/kubelet/network/dns/dns.go).
	enoughDots = 5
)

// Resolve asks for the address of a name: ErrNoSuchHost, ErrRefused or ErrSilence where there is none.
func (c *Cluster) Resolve(ctx context.Context, from Place, name string) (netip.Addr, error) {
	if c.Faults(from.Name, from.Host.Name).NoDNS {
		return netip.Addr{}, silence("nobody answers questions for names")
	}
	if !from.Nameserver.IsValid() {
		return c.ofOutside(name)
	}
	if err := c.Dial(ctx, from, netip.AddrPortFrom(from.Nameserver, portOfDNS)); err != nil {
		return netip.Addr{}, err
	}
	for _, candidate := range from.candidates(name) {
		address, err := c.coreDNS(ctx, candidate)
		if !errors.Is(err, ErrNoSuchHost) {
			return address, err
		}
	}
	return netip.Addr{}, ErrNoSuchHost
}

// candidates are what is asked for. Windows tries its suffixes with names without a dot alone, and has but the first one
// (kubernetes/website, "Networking on Windows", DNS limitations).
func (p Place) candidates(name string) []string {
	if whole, is := strings.CutSuffix(name, "."); is {
		return []string{whole}
	}
	dots, search := strings.Count(name, "."), p.Search
	if p.Host.Windows {
		search = search[:min(1, len(search))]
		if dots > 0 {
			search = nil
		}
	}
	var all []string
	for _, suffix := range search {
		all = append(all, name+"."+suffix)
	}
	if !p.Host.Windows && dots >= enoughDots {
		return slices.Insert(all, 0, name)
	}
	return append(all, name)
}

// coreDNS answers for the Services of the cluster, and hands on what is not of it.
func (c *Cluster) coreDNS(ctx context.Context, name string) (netip.Addr, error) {
	inside, is := strings.CutSuffix(name, "."+clusterDomain)
	if !is {
		return c.ofOutside(name)
	}
	words := strings.Split(inside, ".")
	if len(words) != 3 || words[2] != "svc" {
		return netip.Addr{}, ErrNoSuchHost
	}
	client, err := c.api()
	if err != nil {
		return netip.Addr{}, err
	}
	service, err := client.CoreV1().Services(words[1]).Get(ctx, words[0], metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return netip.Addr{}, ErrNoSuchHost
	}
	if err != nil {
		return netip.Addr{}, err
	}
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		return netip.ParseAddr(service.Spec.ClusterIP)
	}
	return c.headless(ctx, service)
}

// headless is the first pod of a Service without an address of its own.
func (c *Cluster) headless(ctx context.Context, service *corev1.Service) (netip.Addr, error) {
	client, err := c.api()
	if err != nil || len(service.Spec.Ports) == 0 {
		return netip.Addr{}, errors.Join(err, ErrNoSuchHost)
	}
	all, err := endpoints(ctx, client, service, service.Spec.Ports[0].Name)
	if err != nil || len(all) == 0 {
		return netip.Addr{}, errors.Join(err, ErrNoSuchHost)
	}
	return all[0].Addr(), nil
}

func (c *Cluster) ofOutside(name string) (netip.Addr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if address, known := c.names[strings.TrimSuffix(name, ".")]; known {
		return address, nil
	}
	return netip.Addr{}, ErrNoSuchHost
}
