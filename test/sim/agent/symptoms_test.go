package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// What people see of a node that lacks one of the mends, or nothing.

// cutConnections: after the join, somebody removed the network through whose vSwitch the kubelet talks.
func cutConnections(s *stage) string {
	at := slices.IndexFunc(s.Effects, func(e string) bool { return strings.HasPrefix(e, "joined behind id-") })
	if at < 0 {
		return ""
	}
	removal := "hns DELETE /networks/" + strings.TrimPrefix(s.Effects[at], "joined behind ")
	if slices.ContainsFunc(s.Effects[at:], func(e string) bool { return strings.TrimSpace(e) == removal }) {
		return "the vSwitch of the node's connections was removed after the join"
	}
	return ""
}

func (s *stage) externalID() string {
	for _, network := range expect.Got(s.Machine.HNSCall("GET", "/networks", ""))(s.t) {
		if network["Name"] == "External" {
			return fmt.Sprint(network["ID"])
		}
	}
	return ""
}

// cutOff: an adapter with the pool's address has no way out.
func cutOff(s *stage) string {
	why := ""
	expect.OK(s.t, s.Machine.Setup(func(state *windows.State) {
		for _, adapter := range state.Adapters {
			if !adapter.Virtual {
				continue
			}
			var routes []string
			for _, route := range state.Routes {
				if route.Index == adapter.Index {
					routes = append(routes, route.To)
				}
			}
			if len(routes) == 0 || len(state.DNS[adapter.Index]) == 0 {
				why = fmt.Sprintf("%s has routes %v and name servers %v", adapter.Name, routes, state.DNS[adapter.Index])
			}
		}
	}))
	return why
}

func noMetadata(s *stage) string {
	for _, to := range []string{"169.254.169.254/32", "168.63.129.16/32"} {
		if routes := expect.Got(s.Machine.NetRoutes(to))(s.t); len(routes) == 0 {
			return "no route to " + to
		}
	}
	return ""
}

func onlyIPv4(s *stage) string {
	endpoints := expect.Got(s.Machine.HNSCall("GET", "/endpoints", ""))(s.t)
	if slices.ContainsFunc(endpoints, func(e map[string]any) bool { return e["IPv6Address"] != nil }) {
		return ""
	}
	return "the pod has no IPv6 address"
}

// ghosts are endpoints of pods that ended when Windows did.
func ghosts(s *stage) string {
	for _, endpoint := range expect.Got(s.Machine.HNSCall("GET", "/endpoints", ""))(s.t) {
		name := fmt.Sprint(endpoint["Name"])
		if strings.HasPrefix(name, "pod") && !strings.HasPrefix(name, fmt.Sprintf("pod%d_", s.Machine.Boots())) {
			return fmt.Sprintf("endpoint %s has no pod", name)
		}
	}
	return ""
}

// notOn tells that a network is on another adapter than this one.
func notOn(adapter, name string) func(s *stage) string {
	return func(s *stage) string {
		for _, network := range expect.Got(s.Machine.HNSCall("GET", "/networks", ""))(s.t) {
			if network["Name"] == name && network["NetworkAdapterName"] != adapter {
				return fmt.Sprintf("%s is on %v", name, network["NetworkAdapterName"])
			}
		}
		return ""
	}
}
