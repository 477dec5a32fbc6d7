package bootstrap_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// proxyConfiguration is what we write of kubeproxy.config.k8s.io/v1alpha1, by its own names: kube-proxy drops what it
// does not know with a line in its log only.
type proxyConfiguration struct {
	APIVersion       string `json:"apiVersion"`
	Kind             string `json:"kind"`
	Mode             string `json:"mode"`
	ClientConnection struct {
		Kubeconfig string `json:"kubeconfig"`
	} `json:"clientConnection"`
	ClusterCIDR        string          `json:"clusterCIDR"`
	HostnameOverride   string          `json:"hostnameOverride"`
	HealthzBindAddress string          `json:"healthzBindAddress"`
	MetricsBindAddress string          `json:"metricsBindAddress"`
	FeatureGates       map[string]bool `json:"featureGates,omitempty"`
	Winkernel          struct {
		NetworkName string `json:"networkName"`
		SourceVip   string `json:"sourceVip,omitempty"`
		EnableDSR   bool   `json:"enableDSR"`
		// ForwardHealthCheckVip: probes of an internal load balancer go to the endpoint RootHnsEndpointName.
		ForwardHealthCheckVip bool   `json:"forwardHealthCheckVip,omitempty"`
		RootHnsEndpointName   string `json:"rootHnsEndpointName,omitempty"`
	} `json:"winkernel"`
}

func TestProxyConfiguration(t *testing.T) {
	found := 0
	for _, golden := range networkGoldens {
		in := plainInput(t, golden.change)
		for _, file := range every[*plan.File](render(t, in).Plan()) {
			if file.Path.String() != `C:\etc\kube-proxy\config.conf` {
				continue
			}
			found++
			got := readProxy(t, file)
			if got.Mode != "kernelspace" || got.HostnameOverride != "blue-win-x7k2p" || got.Winkernel.NetworkName == "" {
				t.Errorf("%s: %+v", golden.name, got)
			}
			overlay := in.Config.Spec.Network.Mode == "Overlay"
			want := map[bool]string{true: "10.244.3.254"}[overlay]
			if in.Config.Spec.Network.CNI == "Calico" {
				want = "10.244.9.77"
			}
			if got.Winkernel.SourceVip != want {
				t.Errorf("%s: source VIP %q, want %q", golden.name, got.Winkernel.SourceVip, want)
			}
			probed := in.WindowsMachine.Spec.Azure != nil && in.Config.Spec.Network.CNI != "AzureCNI" && !overlay
			if got.Winkernel.ForwardHealthCheckVip != probed || (got.Winkernel.RootHnsEndpointName == "cbr0_ep") != probed {
				t.Errorf("%s: probes of load balancers %t: %+v", golden.name, probed, got.Winkernel)
			}
			// Off by default up to 1.32, locked on from 1.34.
			gated := in.Machine.Spec.Version == "v1.30.14"
			if want := map[bool]map[string]bool{true: {"WinDSR": true}}[gated]; !maps.Equal(got.FeatureGates, want) {
				t.Errorf("%s: gates %v, want %v", golden.name, got.FeatureGates, want)
			}
			if dsr := in.Config.Spec.Network.KubeProxy.DSR != "Disabled"; got.Winkernel.EnableDSR != dsr {
				t.Errorf("%s: DSR %t, want %t", golden.name, got.Winkernel.EnableDSR, dsr)
			}
		}
	}
	if found != 16 {
		t.Errorf("%d golden plans configure kube-proxy, 16 are known", found)
	}
}

// readProxy reads strictly, and wants each field to be there once.
func readProxy(t *testing.T, file *plan.File) proxyConfiguration {
	t.Helper()
	text := strings.NewReplacer("<podPrefix>", "10.244.3", "<sourceVIP>", "10.244.9.77").Replace(file.Text.String())
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var got proxyConfiguration
	expect.OK(t, decoder.Decode(&got))
	var wanted, written any
	again, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(again, &wanted)
	}
	expect.OK(t, err)
	expect.OK(t, json.NewDecoder(bytes.NewBufferString(text)).Decode(&written))
	expect.Same(t, "names in other case, or missing", wanted, written)
	return got
}
