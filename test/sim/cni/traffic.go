package cni

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Path says why packets of a pod, or of the host for an address that is not valid, do not come to a pod.
func Path(m *windows.Machine, from, to netip.Addr) error {
	if !from.IsValid() {
		return hostPath(m, to)
	}
	network, err := networkOf(m, from.String())
	if err != nil || network.text("Name") == networkOfLab { // of which nothing is known but that it works
		return err
	}
	if err := pathTo(m, network, to.String()); err != nil {
		return fmt.Errorf("from the pod %s to %s: %w", from, to, err)
	}
	return nil
}

// hostPath is the host's way. In a bridge it needs an address there for the pods of its own, and routes for others. In a VXLAN it
// has its own pods alone: packets of the host do not enter the tunnel. Antrea gives it a gateway of its own, and with AzureCNI
// pods are in the host's network.
func hostPath(m *windows.Machine, to netip.Addr) error {
	own, err := find(m, endpoints, "IPAddress", to.String())
	if err != nil {
		return err
	}
	for _, name := range []string{networkOfAntrea, networkOfAzure} {
		if there, err := hasNetwork(m, name); there || err != nil {
			return err
		}
	}
	if own == nil {
		return hasRoute(m, to)
	}
	network, err := networkOf(m, to.String())
	if err != nil || !strings.EqualFold(network.text("Type"), "L2Bridge") {
		return err
	}
	return hasGateway(m, network)
}

// Service is where kube-proxy leads connections to a Service's address, of a pod, or of the host for an address that is not
// valid.
func Service(m *windows.Machine, from netip.Addr, service string) ([]netip.Addr, error) {
	if from.IsValid() {
		if err := Reach(m, from.String(), service); err != nil {
			return nil, err
		}
	}
	policy, err := policyOf(m, service)
	if err != nil {
		return nil, err
	}
	return behindPolicy(m, policy)
}

// NodePort is where kube-proxy leads connections to a port of the node from elsewhere; nowhere is a port that it does not know.
func NodePort(m *windows.Machine, port uint16) ([]netip.Addr, error) {
	policy, err := policyOf(m, nodePort(int32(port)))
	if err != nil {
		return nil, nil //nolint:nilerr // because there is none
	}
	return behindPolicy(m, policy)
}

// behindPolicy are the pods of a policy, to each of which there must be a way from its network.
func behindPolicy(m *windows.Machine, policy item) ([]netip.Addr, error) {
	network, err := getNetwork(m, policy.text("Network"))
	if err != nil {
		return nil, err
	}
	var all []netip.Addr
	for backend := range strings.FieldsSeq(policy.text("Endpoints")) {
		text, _, _ := strings.Cut(backend, providerMark)
		address, failed := netip.ParseAddr(text)
		all = append(all, address)
		if failed = errors.Join(failed, pathTo(m, network, backend)); failed != nil {
			err = errors.Join(err, fmt.Errorf("the Service has the pod %s: %w", text, failed))
		}
	}
	return all, err
}
