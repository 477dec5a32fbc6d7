package bootstrap_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

const (
	specNetwork   = "WindowsBootstrapConfig spec.network"
	podsField     = "Cluster spec.clusterNetwork.pods.cidrBlocks"
	servicesField = "Cluster spec.clusterNetwork.services.cidrBlocks"
)

func exceptions(cidrs ...string) func(*bootstrap.Input) {
	return withNetwork(func(n *bootstrapv1.Network) { n.ExceptionCIDRs = cidrs })
}

func clusterDNS(address string) func(*bootstrap.Input) {
	return withNetwork(func(n *bootstrapv1.Network) { n.ClusterDNS = address })
}

func nodePorts(first, last int32) func(*bootstrap.Input) {
	return withNetwork(func(n *bootstrapv1.Network) { n.NodePorts = bootstrapv1.Ports{First: first, Last: last} })
}

func dynamicPorts(first, last int32) func(*bootstrap.Input) {
	return withNetwork(func(n *bootstrapv1.Network) { n.DynamicPorts = bootstrapv1.Ports{First: first, Last: last} })
}

func opening(rules ...bootstrapv1.FirewallRule) func(*bootstrap.Input) {
	return withNetwork(func(n *bootstrapv1.Network) { n.Firewall = rules })
}

func withInterface(name string) func(*bootstrap.Input) {
	return withNetwork(func(n *bootstrapv1.Network) { n.Interface = name })
}

func withDomain(domain string) func(*bootstrap.Input) {
	return func(in *bootstrap.Input) { in.Cluster.Spec.ClusterNetwork.ServiceDomain = domain }
}

func withDSR(dsr bootstrapv1.DirectServerReturn) func(*bootstrap.Input) {
	return withNetwork(func(n *bootstrapv1.Network) {
		n.KubeProxy = bootstrapv1.KubeProxy{ConfigFile: bootstrapv1.KubeProxyConfigFileManaged, DSR: dsr}
	})
}

// What cannot work names the field, the value and what to write instead, also where the API server was not asked.
func TestNetworkRefuses(t *testing.T) {
	metrics := bootstrapv1.FirewallRule{Name: "metrics", Protocol: "TCP", Ports: bootstrapv1.Ports{First: 9182}}
	six, four := []string{"fd00:1::/56"}, []string{"10.244.0.0/16"}
	for _, test := range []struct {
		name        string
		changes     []func(*bootstrap.Input)
		field, want string
	}{
		{"NAT", inNetwork("nat", ""), specNetwork + ".mode", `"nat" is not valid; use l2bridge, l2tunnel, overlay, transparent or none`},
		{"no mode", []func(*bootstrap.Input){withVNI(4096)}, specNetwork + ".mode", `"" is not valid`},
		{"overlay without CNI", inNetwork("overlay", ""), specNetwork + ".cni", "must be set in mode overlay; use Flannel, Calico, OVNKubernetes or"},
		{"overlay by AzureCNI", inNetwork("overlay", "AzureCNI", onAzure), specNetwork + ".cni", "AzureCNI does not work in mode overlay"},
		{"none with a CNI", inNetwork("none", "Calico"), specNetwork + ".cni", "Calico does not work in mode none; use no cni, or another mode"},
		{"AzureCNI on vSphere", inNetwork("l2bridge", "AzureCNI"), specNetwork + ".cni", "works on Azure only, and the machine is on vSphere"},
		{"l2tunnel on vSphere", inNetwork("l2tunnel", "AzureCNI"), specNetwork + ".cni", "works on Azure only"},
		{"transparent on Azure", inNetwork("transparent", "Antrea", onAzure), specNetwork + ".mode", "which Azure drops; use l2tunnel"},
		{"more pods than addresses", inNetwork("l2tunnel", "AzureCNI", onAzure, withPods(256)), "WindowsBootstrapConfig spec.kubelet.maxPods", "256 pods cannot have an address each, because a network interface on Azure has 256; use 255 or less"},
		{"VNI for Calico", inNetwork("overlay", "Calico", withVNI(4096)), specNetwork + ".vni", "has no effect in mode overlay with Calico; remove it"},
		{"VNI without VXLAN", inNetwork("l2bridge", "Flannel", withVNI(4096)), specNetwork + ".vni", "has no effect"},
		{"small VNI", inNetwork("overlay", "Flannel", withVNI(4095)), specNetwork + ".vni", "4095 is not accepted by Windows; use 4096 to 16777215"},
		{"large VNI", inNetwork("overlay", "Flannel", withVNI(1<<24)), specNetwork + ".vni", "is not accepted by Windows"},
		{"interface for OVN", inNetwork("overlay", "OVNKubernetes", withInterface("a")), specNetwork + ".interface", "has no effect"},
		{"interface for none", inNetwork("none", "", withInterface("a")), specNetwork + ".interface", "mode none with no cni; remove it"},
		{"name for Antrea", inNetwork("transparent", "Antrea", withNetwork(func(n *bootstrapv1.Network) { n.NetworkName = "a" })), specNetwork + ".networkName", "has no effect"},
		{"name with wildcard", inNetwork("l2bridge", "Flannel", withNetwork(func(n *bootstrapv1.Network) { n.NetworkName = "*" })), specNetwork + ".networkName", `"*" is not a name that every CNI accepts`},
		{"name as path", inNetwork("l2bridge", "Flannel", withNetwork(func(n *bootstrapv1.Network) { n.NetworkName = `..\a` })), specNetwork + ".networkName", "is not a name"},
		{"interface with quotes", inNetwork("l2bridge", "Flannel", withInterface(`a"b`)), specNetwork + ".interface", "is not the name of an adapter; use one such as Ethernet0"},
		{"exceptions for Calico", inNetwork("l2bridge", "Calico", exceptions("10.0.0.0/8")), specNetwork + ".exceptionCIDRs", "has no effect"},
		{"DNS for Calico", inNetwork("l2bridge", "Calico", clusterDNS("10.96.0.10")), specNetwork + ".clusterDNS", "has no effect"},
		{"kube-proxy of Antrea", inNetwork("transparent", "Antrea", withKubeProxy), specNetwork + ".kubeProxy", "remove it"},
		{"kube-proxy of Calico's VXLAN", inNetwork("overlay", "Calico", withKubeProxy), specNetwork + ".kubeProxy", "that Calico makes later; remove it"},
		{"kube-proxy of OVN", inNetwork("overlay", "OVNKubernetes", withKubeProxy), specNetwork + ".kubeProxy", "that OVNKubernetes makes later"},
		{"kube-proxy of nobody", inNetwork("overlay", "Flannel", withNetwork(func(n *bootstrapv1.Network) { n.KubeProxy.DSR = "Enabled" })), specNetwork + ".kubeProxy.configFile", `"" is not valid; use Managed`},
		{"odd DSR", inNetwork("overlay", "Flannel", withDSR("true")), specNetwork + ".kubeProxy.dsr", `"true" is not valid; use Enabled or Disabled`},

		{"no pods", inNetwork("overlay", "Flannel", withRanges(nil, four)), podsField, "must not be empty, because the files of Flannel need it; use the CIDR of the cluster's pods"},
		{"no pods for kube-proxy", inNetwork("l2tunnel", "AzureCNI", onAzure, withRanges(nil, four), withKubeProxy), podsField, "must not be empty"},
		{"no services", inNetwork("overlay", "Flannel", withRanges(four, nil)), servicesField, "must not be empty, because the files of Flannel need it; use the CIDR of the cluster's Services"},
		{"odd pods", inNetwork("overlay", "Calico", withRanges([]string{"10.244.0.0"}, nil)), podsField, `"10.244.0.0" is not a CIDR`},
		{"odd services", inNetwork("overlay", "Calico", withRanges(nil, []string{"10.96.0.1/12"})), servicesField, "use 10.96.0.0/12"},
		{"overlap", inNetwork("overlay", "Calico", withRanges(four, []string{"10.244.8.0/24"})), servicesField, "10.244.8.0/24 overlaps the pods' 10.244.0.0/16"},
		{"IPv6 only", inNetwork("l2bridge", "Calico", withRanges(six, nil)), podsField, "fd00:1::/56 is IPv6 only, which pods on Windows do not support; add an IPv4 CIDR"},
		{"IPv6 only with Antrea", inNetwork("transparent", "Antrea", withRanges(six, nil)), podsField, "is IPv6 only"},
		{"services of IPv6 only", inNetwork("l2bridge", "Flannel", withRanges(four, []string{"fd00:2::/112"})), servicesField, "is IPv6 only"},
		{"dual-stack VXLAN", inNetwork("overlay", "Flannel", dualStack), podsField, "overlay on Windows carries IPv4 only; use an IPv4 CIDR only"},
		{"few services", inNetwork("overlay", "Flannel", withRanges(four, []string{"10.96.0.0/29"})), servicesField, "10.96.0.0/29 has no tenth address"},
		{"odd domain", inNetwork("overlay", "Flannel", withDomain(`a"b`)), "Cluster spec.clusterNetwork.serviceDomain", "is not a DNS name; use one such as cluster.local"},
		{"odd exception", inNetwork("overlay", "Flannel", exceptions("10.0.0.1/8")), specNetwork + ".exceptionCIDRs", `"10.0.0.1/8" is not a CIDR in canonical form; use 10.0.0.0/8`},
		{"exception of IPv6", inNetwork("l2bridge", "Flannel", exceptions("fd00::/8")), specNetwork + ".exceptionCIDRs", "use IPv4 only"},
		{"AzureCNI without the virtual network", inNetwork("l2tunnel", "AzureCNI", onAzure), specNetwork + ".exceptionCIDRs", "pods of AzureCNI have addresses of the virtual network"},
		{"a start that Windows delays", inNetwork("overlay", "Calico", withKubelet(bootstrapv1.Kubelet{Start: "AutomaticDelayed"})), "WindowsBootstrapConfig spec.kubelet.start", "AutomaticDelayed has no effect in mode overlay with Calico"},
		{"DNS elsewhere", inNetwork("overlay", "Flannel", clusterDNS("10.0.0.10")), specNetwork + ".clusterDNS", `"10.0.0.10" is not an address in the Services' 10.96.0.0/12`},
		{"DNS by name", inNetwork("overlay", "Flannel", clusterDNS("dns")), specNetwork + ".clusterDNS", `"dns" is not an address`},

		{"ports the wrong way", inNetwork("none", "", nodePorts(81, 80)), specNetwork + ".nodePorts", "81-80 is not a range of ports"},
		{"no ports", inNetwork("none", "", nodePorts(-1, 80)), specNetwork + ".nodePorts", "is not a range of ports; use first and last from 1 to 65535"},
		{"few dynamic ports", inNetwork("none", "", dynamicPorts(50000, 50100)), specNetwork + ".dynamicPorts", "50000-50100 is not accepted by Windows; use at least 255 ports"},
		{"low dynamic ports", inNetwork("none", "", dynamicPorts(1000, 2000)), specNetwork + ".dynamicPorts", "all above 1024"},
		{"dynamic ports beyond", inNetwork("none", "", dynamicPorts(60000, 70000)), specNetwork + ".dynamicPorts", "is not a range of ports"},
		{"overlap of ports", inNetwork("none", "", dynamicPorts(32000, 65535)), specNetwork + ".dynamicPorts", "32000-65535 overlaps nodePorts 30000-32767; use ports below or above them"},
		{"no room for ports", inNetwork("none", "", nodePorts(30000, 65400)), specNetwork + ".dynamicPorts", "too few ports are left after nodePorts, which end at 65400; use ports below them"},
		{"rule without name", inNetwork("none", "", opening(bootstrapv1.FirewallRule{Protocol: "TCP", Ports: metrics.Ports})), specNetwork + ".firewall", `name ""`},
		{"rule twice", inNetwork("none", "", opening(metrics, metrics)), specNetwork + ".firewall", `name "metrics" is not valid, is used twice`},
		{"our rule", inNetwork("none", "", opening(bootstrapv1.FirewallRule{Name: "vxlan", Protocol: "UDP", Ports: metrics.Ports})), specNetwork + ".firewall", `is one of ours`},
		{"odd protocol", inNetwork("none", "", opening(bootstrapv1.FirewallRule{Name: "a", Protocol: "ICMP", Ports: metrics.Ports})), specNetwork + ".firewall", `protocol "ICMP" of a is not valid; use TCP or UDP`},
		{"rule without ports", inNetwork("none", "", opening(bootstrapv1.FirewallRule{Name: "a", Protocol: "TCP"})), specNetwork + ".firewall", "is not a range of ports"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := bootstrap.Render(plainInput(t, test.changes...))
			var refused *bootstrap.InvalidError
			if !errors.As(err, &refused) || refused.Field != test.field || !strings.Contains(refused.Message, test.want) {
				t.Errorf("%v, want %s: %s", err, test.field, test.want)
			}
		})
	}
}

func TestNetworkTakes(t *testing.T) {
	for _, test := range []struct {
		reason  string
		changes []func(*bootstrap.Input)
	}{
		{"a CNI of one's own may do IPv6", inNetwork("none", "", withRanges([]string{"fd00:1::/56"}, nil))},
		{"Calico knows its pods itself", inNetwork("overlay", "Calico", withRanges(nil, nil))},
		{"AzureCNI's pods are in the virtual network", inNetwork("l2tunnel", "AzureCNI", onAzure, vnet, withRanges(nil, []string{"10.96.0.0/16"}), withPods(255))},
		{"nothing is put in order at a start", inNetwork("none", "", withKubelet(bootstrapv1.Kubelet{Start: "AutomaticDelayed"}))},
		{"the largest VNI", inNetwork("overlay", "WinOverlay", withVNI(1<<24-1))},
		{"dynamic ports before the node ports", inNetwork("none", "", nodePorts(30000, 65400), dynamicPorts(1025, 29999))},
		{"one node port", inNetwork("none", "", withNetwork(func(n *bootstrapv1.Network) { n.NodePorts.First = 30000 }))},
		{"DNS at another address", inNetwork("l2bridge", "Flannel", dualStack, clusterDNS("10.96.0.53"))},
	} {
		if _, err := bootstrap.Render(plainInput(t, test.changes...)); err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	mine := exceptions("10.0.0.0/24")
	for _, test := range []struct {
		name    string
		changes []func(*bootstrap.Input)
		want    []string // a word of each, in order
	}{
		{"nothing said", nil, nil},
		{"none", inNetwork("none", "", dualStack), nil},
		{"VXLAN", inNetwork("overlay", "Calico"), nil},
		{"VXLAN by Flannel", inNetwork("overlay", "Flannel", mine, withKubeProxy), nil},
		{"no exceptions", inNetwork("l2bridge", "Flannel"), []string{"one subnet", "exceptionCIDRs is empty"}},
		{"the subnet is known", inNetwork("l2bridge", "Flannel", withAdapters(staticAdapter("10.20.0.5/24"))), []string{"one subnet"}},
		{"no exceptions in VXLAN", inNetwork("overlay", "Flannel"), nil},
		{"one subnet", inNetwork("l2bridge", "Flannel", mine), []string{"all nodes must be in one subnet"}},
		{"route tables", inNetwork("l2bridge", "Calico", onAzure), []string{"needs a route table entry"}},
		{"addresses", inNetwork("l2bridge", "AzureCNI", onAzure, mine, dualStack), []string{"secondary addresses"}},
		{"half of dual-stack", inNetwork("l2bridge", "Calico", dualStack), []string{"one subnet", "gives pods on Windows IPv4 addresses only"}},
		{"no daemon", inNetwork("l2bridge", "WinBridge", mine), []string{"one subnet", "WinBridge has no daemon"}},
		{"no daemon in VXLAN", inNetwork("overlay", "WinOverlay", mine), []string{"WinOverlay has no daemon"}},
		{"Open vSwitch", inNetwork("transparent", "Antrea", dualStack), []string{"forged transmits"}},
		{"no DSR", inNetwork("overlay", "Flannel", mine, withDSR("Disabled")), []string{"without DSR"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := render(t, plainInput(t, test.changes...)).Warnings()
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("%q, want %q", got, test.want)
			}
			for _, warning := range got {
				if !strings.HasPrefix(warning, specNetwork+": ") {
					t.Errorf("%q does not say of what it speaks", warning)
				}
			}
		})
	}
}

// What stays on the disk in clear names no token, and leaves the kubelet running whatever fails.
func TestEveryBootEndsWithTheKubelet(t *testing.T) {
	for _, golden := range networkGoldens {
		boot := render(t, plainInput(t, golden.changes...)).Plan().EveryBoot
		if len(boot) == 0 {
			continue
		}
		steps := boot[0].Steps
		for _, step := range steps[:len(steps)-1] {
			if !step.Base().Optional {
				t.Errorf("%s: %s would keep the kubelet from starting", golden.name, step.Base().Name)
			}
		}
		last, ok := steps[len(steps)-1].(*plan.ServiceState)
		if !ok || last.Service != "kubelet" || last.State != plan.ServiceRunning || last.Optional {
			t.Errorf("%s: the kubelet is not started again", golden.name)
		}
	}
}

// The service manager starts an automatic service before any task can look at the network: where one does, the last that
// a bootstrap does is to take the kubelet's start from Windows, and to see that it runs.
func TestWindowsDoesNotStartTheKubelet(t *testing.T) {
	for _, golden := range networkGoldens {
		p := render(t, plainInput(t, golden.changes...)).Plan()
		last := p.Phases[len(p.Phases)-1].Steps
		var argv []string
		if len(last) > 1 {
			if run, ok := last[len(last)-2].(*plan.Run); ok {
				for _, value := range run.Argv {
					argv = append(argv, value.String())
				}
			}
		}
		state, ok := last[len(last)-1].(*plan.ServiceState)
		runs := ok && state.Service == "kubelet" && state.State == plan.ServiceRunning && !state.Optional
		onDemand := slices.Equal(argv, []string{"sc.exe", "config", "kubelet", "start=", "demand"})
		if booted := len(p.EveryBoot) > 0; (runs && onDemand) != booted {
			t.Errorf("%s: every boot %t, but the bootstrap ends with %q, the kubelet running %t", golden.name, booted, argv, runs)
		}
	}
}

// A restart in the middle of a bootstrap runs no everyBoot: until the last script has run Windows starts the kubelet.
func TestScriptsMayRestart(t *testing.T) {
	in := plainInput(t, inNetwork("overlay", "Calico", func(in *bootstrap.Input) {
		in.Config.Spec.Custom.PostJoin = []bootstrapv1.CustomScript{{Name: "drivers", Content: "exit 3010"}}
	})...)
	p := render(t, in).Plan()
	var names []string
	for _, step := range p.Phases[len(p.Phases)-1].Steps {
		names = append(names, step.Base().Name)
	}
	if want := []string{"write-drivers", "run-drivers", "kubelet-starts-last", "kubelet-goes-on"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// HNS of Server 2019 fails at exceptions with the same first address.
func TestExceptions(t *testing.T) {
	for _, test := range []struct {
		name    string
		changes []func(*bootstrap.Input)
		want    []string
	}{
		{"pods and services", inNetwork("l2bridge", "Flannel"), []string{"10.244.0.0/16", "10.96.0.0/12"}},
		{"more", inNetwork("l2bridge", "Flannel", exceptions("192.168.0.0/24")), []string{"10.244.0.0/16", "10.96.0.0/12", "192.168.0.0/24"}},
		{"the machine's", inNetwork("l2bridge", "Flannel", withAdapters(staticAdapter("192.168.7.5/22"))), []string{"10.244.0.0/16", "10.96.0.0/12", "192.168.4.0/22"}},
		{"the machine's of IPv4", inNetwork("l2bridge", "WinBridge", withAdapters(staticAdapter("10.20.0.5/24", "fd00::5/64"))), []string{"10.244.0.0/16", "10.96.0.0/12", "10.20.0.0/24"}},
		{"another adapter's", inNetwork("l2bridge", "Flannel", withInterface("a"), withAdapters(vmAdapter{}, numbered(staticAdapter("10.20.0.5/24"), 2))), []string{"10.244.0.0/16", "10.96.0.0/12"}},
		{"the machine's beside VXLAN", inNetwork("overlay", "Flannel", withAdapters(staticAdapter("10.20.0.5/24"))), []string{"10.244.0.0/16", "10.96.0.0/12"}},
		{"the broadest", inNetwork("l2bridge", "Flannel", exceptions("10.0.0.0/16", "10.0.0.0/8", "10.0.0.0/24")), []string{"10.0.0.0/8"}},
		{"twice", inNetwork("l2bridge", "Flannel", exceptions("10.20.0.0/24"), withAdapters(staticAdapter("10.20.0.5/24"))), []string{"10.244.0.0/16", "10.96.0.0/12", "10.20.0.0/24"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := expect.Got(json.Marshal(render(t, plainInput(t, test.changes...)).Plan()))(t)
			text := strings.ReplaceAll(string(plan), `\"`, `"`)
			want := `"Exceptions":["` + strings.Join(test.want, `","`) + `"]`
			if _, found, _ := strings.Cut(text, `"Exceptions":`); !strings.Contains(text, want) {
				t.Errorf("no %s, but %.120s", want, found)
			}
		})
	}
}
