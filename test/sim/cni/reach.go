package cni

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Reach asks a Service from a pod. The pod's network must have the Service's policy, of this start of Windows, and packets must
// find their way to each pod behind the Service: a client that is sent to another one gets no answer.
func Reach(m *windows.Machine, pod, service string) error {
	network, err := networkOf(m, pod)
	if err != nil {
		return err
	}
	policy, err := policyOf(m, service)
	switch {
	case err != nil:
		return err
	case policy.text("Network") != network.text("Name"):
		return fmt.Errorf("dial tcp %s: no answer: kube-proxy works in the network %s, the pod is in %s",
			service, policy.text("Network"), network.text("Name"))
	}
	for backend := range strings.FieldsSeq(policy.text("Endpoints")) {
		address, _, _ := strings.Cut(backend, providerMark)
		if err := pathTo(m, network, backend); err != nil {
			return fmt.Errorf("dial tcp %s: no answer: the Service has the pod %s: %w", service, address, err)
		}
	}
	return nil
}

// networkOf a pod is the one in which it was made: another one of the same name has none of its endpoints.
func networkOf(m *windows.Machine, pod string) (item, error) {
	endpoint, err := find(m, endpoints, "IPAddress", pod)
	if err != nil {
		return nil, err
	}
	if endpoint == nil {
		return nil, fmt.Errorf("the pod with the address %s has no endpoint", pod)
	}
	name := endpoint.text("VirtualNetwork")
	if name == networkOfLab {
		return item{"Name": name}, nil
	}
	network, err := find(m, networks, "ID", endpoint.text("NetworkID"))
	if err == nil && network == nil {
		err = fmt.Errorf("the network %s of the pod with the address %s was removed", name, pod)
	}
	return network, err
}

func policyOf(m *windows.Machine, service string) (item, error) {
	all, err := list(m, policies)
	at := slices.IndexFunc(all, func(one item) bool {
		return one.text("ServiceVIP") == service && fmt.Sprint(one["Boot"]) == fmt.Sprint(m.Boots())
	})
	if err != nil || at < 0 {
		return nil, errors.Join(err, fmt.Errorf("dial tcp %s: no answer: no kube-proxy has made the Service's policies", service))
	}
	return all[at], nil
}

// pathTo says why packets from a network do not come to a backend.
func pathTo(m *windows.Machine, network item, backend string) error {
	text, sentTo, _ := strings.Cut(backend, providerMark)
	pod, err := netip.ParseAddr(text)
	if err != nil {
		return err
	}
	if own, err := find(m, endpoints, "IPAddress", text); err != nil || own != nil {
		return err // a pod of this node
	}
	switch {
	case strings.EqualFold(network.text("Type"), "Overlay"), network.text("Name") == networkOfAntrea:
		return pathInTunnel(m, network, pod, sentTo)
	case network.text("Name") == networkOfAzure:
		return nil // pods have addresses of the virtual network, in which Azure itself brings packets to all of them
	}
	return errors.Join(hasGateway(m, network), hasRoute(m, pod))
}

// pathInTunnel: a VXLAN of HNS sends a packet to the node of its destination, if it was told of that. kube-proxy makes the
// endpoint of a pod elsewhere with the node that it has found there, or with its own (kubernetes v1.36.3,
// pkg/proxy/winkernel/proxier.go: "Could not find provider address, assuming it is a public IP").
func pathInTunnel(m *windows.Machine, network item, pod netip.Addr, sentTo string) error {
	carrier, err := provider(m, network, pod)
	switch {
	case err != nil:
		return err
	case carrier == "":
		return fmt.Errorf("the network %s has no RemoteSubnetRoute to it", network.text("Name"))
	case sentTo != "" && sentTo != carrier:
		return fmt.Errorf("kube-proxy has found no RemoteSubnetRoute to it, and sends its packets to %s", sentTo)
	}
	return nil
}

// hasGateway: win-bridge and Calico give pods the second address behind the network's as their gateway
// (containernetworking/plugins 3d27709f, win-bridge_windows.go; projectcalico/calico 87c15906, cni-plugin/pkg/dataplane/windows),
// which is that of an endpoint to which somebody must have attached the host.
func hasGateway(m *windows.Machine, network item) error {
	gateway := network.subnet().Addr()
	if gateway.IsValid() {
		gateway = gateway.Next().Next()
	}
	endpoint, err := find(m, endpoints, "IPAddress", gateway.String())
	addresses, failed := m.AllAddresses()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	attached := slices.ContainsFunc(addresses, func(a windows.Address) bool { return a.Address == gateway.String()+"/32" })
	if endpoint == nil || !attached {
		return fmt.Errorf("no endpoint of the host is the gateway %s of the pods", gateway)
	}
	return nil
}

// hasRoute: routers do not know where pods are, so the default route is none.
func hasRoute(m *windows.Machine, pod netip.Addr) error {
	routes, err := m.AllRoutes()
	for _, route := range routes {
		prefix, failed := netip.ParsePrefix(route.To)
		if failed == nil && prefix.Bits() > 0 && prefix.Contains(pod) {
			return err
		}
	}
	return errors.Join(err, errors.New("the host has no route to it"))
}
