package frontdoor

import (
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// installation is the part of an Installation that the rules ask.
type installation struct {
	ServiceCIDRs  []string       `json:"serviceCIDRs"`
	WindowsNodes  map[string]any `json:"windowsNodes"`
	CalicoNetwork struct {
		BGP              string   `json:"bgp"`
		WindowsDataplane string   `json:"windowsDataplane"`
		MTU              int64    `json:"mtu"`
		IPPools          []ipPool `json:"ipPools"`
	} `json:"calicoNetwork"`
}

type ipPool struct {
	CIDR          string `json:"cidr"`
	Encapsulation string `json:"encapsulation"`
}

// readInstallation with the operator's defaults: BGP is on, and a pool has IPIP with it and none without
// (pkg/controller/installation/core_controller.go, fillDefaults; pkg/controller/ippool/defaults.go).
func readInstallation(object *unstructured.Unstructured) (installation, error) {
	var read struct {
		Spec installation `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
		return installation{}, fmt.Errorf("read Installation: %w", err)
	}
	network := &read.Spec.CalicoNetwork
	if network.BGP == "" {
		network.BGP = "Enabled"
	}
	for i := range network.IPPools {
		if pool := &network.IPPools[i]; pool.Encapsulation == "" {
			pool.Encapsulation = map[bool]string{true: "IPIP", false: "None"}[network.BGP == "Enabled" && pool.isFour()]
		}
	}
	return read.Spec, nil
}

func (i installation) onWindows() bool { return i.CalicoNetwork.WindowsDataplane == "HNS" }

func (p ipPool) isFour() bool {
	prefix, err := netip.ParsePrefix(p.CIDR)
	return err == nil && prefix.Addr().Is4()
}

// rules refuse an Installation, in this order, before anything is made for Linux or Windows (validateCustomResource in
// pkg/controller/installation/validation.go of tigera/operator v1.42.4, called by core_controller.go and windows_controller.go;
// here those that what the flavors and pages set can break). An endpoint is what the operator knows of the API server.
var rules = []func(i installation, endpoint *corev1.ConfigMap) string{
	poolsNeedBGP, windowsNeedsEndpoint, windowsNeedsServices, windowsHasNoIPIP, nodesNeedWindows,
}

func invalid(i installation, endpoint *corev1.ConfigMap) string {
	for _, rule := range rules {
		if why := rule(i, endpoint); why != "" {
			return why
		}
	}
	return ""
}

func poolsNeedBGP(i installation, _ *corev1.ConfigMap) string {
	for _, pool := range i.CalicoNetwork.IPPools {
		kind := map[string]string{
			"IPIP": "IPIP encapsulation requires", "IPIPCrossSubnet": "IPIP encapsulation requires",
			"None": "unencapsulated IP pools require",
		}[pool.Encapsulation]
		if kind != "" && i.CalicoNetwork.BGP == "Disabled" {
			return "with BIRD cluster routing mode, " + kind + " that BGP is enabled"
		}
	}
	return ""
}

func windowsNeedsEndpoint(i installation, endpoint *corev1.ConfigMap) string {
	if !i.onWindows() || endpoint.Data["KUBERNETES_SERVICE_HOST"] != "" && endpoint.Data["KUBERNETES_SERVICE_PORT"] != "" {
		return ""
	}
	return "services endpoint configmap '" + endpointConfigMap + "' does not have all required information for Calico Windows " +
		"daemonset configuration"
}

func windowsNeedsServices(i installation, _ *corev1.ConfigMap) string {
	if i.onWindows() && len(i.ServiceCIDRs) == 0 {
		return "installation spec.ServiceCIDRs must be provided when using Calico CNI on Windows"
	}
	return ""
}

// windowsHasNoIPIP looks at the first pool of IPv4 alone.
func windowsHasNoIPIP(i installation, _ *corev1.ConfigMap) string {
	for _, pool := range i.CalicoNetwork.IPPools {
		switch {
		case !i.onWindows() || !pool.isFour():
		case pool.Encapsulation == "VXLAN" || pool.Encapsulation == "None":
			return ""
		default:
			return fmt.Sprintf("IPv4 IPPool encapsulation %s is not supported by Calico for Windows", pool.Encapsulation)
		}
	}
	return ""
}

func nodesNeedWindows(i installation, _ *corev1.ConfigMap) string {
	if !i.onWindows() && i.WindowsNodes != nil {
		return "installation spec.WindowsNodes is not valid and should not be provided when Calico for Windows is disabled"
	}
	return ""
}

// What the operator refuses, by the part of an Installation that is wrong.
func TestInstallationsRefused(t *testing.T) {
	whole := func(change func(spec, network map[string]any)) *unstructured.Unstructured {
		network := map[string]any{
			"bgp": "Disabled", "windowsDataplane": "HNS",
			"ipPools": []any{map[string]any{"cidr": "192.168.0.0/16", "encapsulation": "VXLAN", "blockSize": int64(25)}},
		}
		spec := map[string]any{"serviceCIDRs": []any{"10.96.0.0/12"}, "calicoNetwork": network, "windowsNodes": map[string]any{}}
		change(spec, network)
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	}
	pools := func(encapsulation string) []any {
		return []any{map[string]any{"cidr": "fd00::/64", "encapsulation": "VXLAN"}, map[string]any{
			"cidr": "192.168.0.0/16", "encapsulation": encapsulation,
		}}
	}
	for want, change := range map[string]func(spec, network map[string]any){
		"": func(map[string]any, map[string]any) {},
		"installation spec.ServiceCIDRs must be provided when using Calico CNI on Windows": func(spec, _ map[string]any) {
			delete(spec, "serviceCIDRs")
		},
		"with BIRD cluster routing mode, IPIP encapsulation requires that BGP is enabled": func(_, network map[string]any) {
			network["ipPools"] = pools("IPIPCrossSubnet")
		},
		"with BIRD cluster routing mode, unencapsulated IP pools require that BGP is enabled": func(_, network map[string]any) {
			network["ipPools"] = []any{map[string]any{"cidr": "192.168.0.0/16"}}
		},
		"IPv4 IPPool encapsulation IPIP is not supported by Calico for Windows": func(_, network map[string]any) {
			network["ipPools"], network["bgp"] = pools(""), "Enabled"
		},
		"IPv4 IPPool encapsulation VXLANCrossSubnet is not supported by Calico for Windows": func(_, network map[string]any) {
			network["ipPools"] = pools("VXLANCrossSubnet")
		},
		"installation spec.WindowsNodes is not valid and should not be provided when Calico for Windows is disabled": func(
			_, network map[string]any,
		) {
			network["windowsDataplane"] = "Disabled"
		},
	} {
		read := expect.Got(readInstallation(whole(change)))(t)
		expect.Same(t, "refusal", want, invalid(read, endpointOfKubelets()))
	}
	read := expect.Got(readInstallation(whole(func(map[string]any, map[string]any) {})))(t)
	half := &corev1.ConfigMap{Data: map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.10"}}
	expect.Same(t, "refusal", "services endpoint configmap 'kubernetes-services-endpoint' does not have all required information "+
		"for Calico Windows daemonset configuration", invalid(read, half))
}
