package cni

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// write tells HNS of the Services: the network in which packets are changed, and this start of Windows.
func write(m *windows.Machine, network string, services map[string][]string) error {
	err := forgetServices(m)
	for address, backends := range services {
		if err == nil {
			err = makeItem(m, "/policylists", map[string]any{"ServiceVIP": address}, map[string]any{
				"Network": network, "Endpoints": strings.Join(backends, " "), "Boot": m.Boots(),
			})
		}
	}
	return err
}

func forgetServices(m *windows.Machine) error {
	all, err := m.HNSCall("GET", "/policylists", "")
	for _, one := range all {
		if err == nil {
			_, err = m.HNSCall("DELETE", fmt.Sprintf("/policylists/%v", one["ID"]), "")
		}
	}
	return err
}

// Reach asks a Service from a pod: the pod's network must have the Service's policy, with endpoints, of this start of Windows.
func Reach(m *windows.Machine, pod, service string) error {
	endpoints, err := m.HNSCall("GET", "/endpoints", "")
	policies, failed := m.HNSCall("GET", "/policylists", "")
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	at := slices.IndexFunc(endpoints, func(e map[string]any) bool { return e["IPAddress"] == pod })
	if at < 0 {
		return fmt.Errorf("the pod with the address %s has no endpoint", pod)
	}
	network := endpoints[at]["VirtualNetwork"]
	for _, policy := range policies {
		switch {
		case policy["ServiceVIP"] != service || fmt.Sprint(policy["Boot"]) != fmt.Sprint(m.Boots()):
		case policy["Network"] != network:
			return fmt.Errorf("dial tcp %s: no answer: kube-proxy works in the network %v, the pod is in %v",
				service, policy["Network"], network)
		case policy["Endpoints"] == "":
			return fmt.Errorf("dial tcp %s: connection refused: the Service has no endpoints", service)
		default:
			return nil
		}
	}
	return fmt.Errorf("dial tcp %s: no answer: no kube-proxy has made the Service's policies", service)
}

// networkType is that of a network of HNS; "" is one that is not there.
func networkType(m *windows.Machine, name string) (string, error) {
	all, err := m.HNSCall("GET", "/networks", "")
	for _, network := range all {
		if network["Name"] == name {
			return fmt.Sprint(network["Type"]), err
		}
	}
	return "", err
}
