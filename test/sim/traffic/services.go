package traffic

import (
	"context"
	"errors"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

var errUnknown = errors.New("no Service has this address and port")

// errNotConnected is a network that was not told of its cluster.
var errNotConnected = errors.New("the network does not know its cluster: call Connect")

func (c *Cluster) api() (kubernetes.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		return nil, errNotConnected
	}
	return c.client, nil
}

// isPort finds the port of a Service by what a client dials.
type isPort func(service *corev1.Service, port corev1.ServicePort) bool

// Backends are the ready endpoints behind an address and a port of a Service, as the API server has them.
func (c *Cluster) Backends(ctx context.Context, to netip.AddrPort) ([]netip.AddrPort, error) {
	found, all, err := c.behind(ctx, func(service *corev1.Service, port corev1.ServicePort) bool {
		return service.Spec.ClusterIP == to.Addr().String() && port.Port == int32(to.Port())
	})
	if err == nil && !found {
		err = errUnknown
	}
	return all, err
}

// BackendsOfNodePort are those behind a NodePort; none without an error is a port that no Service has.
func (c *Cluster) BackendsOfNodePort(ctx context.Context, nodePort uint16) ([]netip.AddrPort, error) {
	found, all, err := c.behind(ctx, func(_ *corev1.Service, port corev1.ServicePort) bool {
		return port.NodePort == int32(nodePort) && nodePort > 0
	})
	if err == nil && found && len(all) == 0 {
		err = ErrRefused
	}
	return all, err
}

func (c *Cluster) behind(ctx context.Context, is isPort) (found bool, all []netip.AddrPort, err error) {
	client, err := c.api()
	if err != nil {
		return false, nil, err
	}
	services, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, nil, err
	}
	for i := range services.Items {
		service := &services.Items[i]
		for _, port := range service.Spec.Ports {
			if is(service, port) {
				all, err = endpoints(ctx, client, service, port.Name)
				return true, all, err
			}
		}
	}
	return false, nil, nil
}

// endpoints are the ready ones of a Service, with the number that its port has there.
func endpoints(
	ctx context.Context, client kubernetes.Interface, service *corev1.Service, name string,
) ([]netip.AddrPort, error) {
	slices, err := client.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name})
	if err != nil {
		return nil, err
	}
	var all []netip.AddrPort
	for _, slice := range slices.Items {
		port := portNamed(slice.Ports, name)
		for _, one := range slice.Endpoints {
			if port == 0 || one.Conditions.Ready != nil && !*one.Conditions.Ready {
				continue
			}
			for _, text := range one.Addresses {
				if address, err := netip.ParseAddr(text); err == nil {
					all = append(all, netip.AddrPortFrom(address, port))
				}
			}
		}
	}
	return all, nil
}

func portNamed(ports []discoveryv1.EndpointPort, name string) uint16 {
	for _, port := range ports {
		if port.Port != nil && (port.Name == nil && name == "" || port.Name != nil && *port.Name == name) {
			return uint16(*port.Port) //nolint:gosec // because the API server takes no other ports
		}
	}
	return 0
}
