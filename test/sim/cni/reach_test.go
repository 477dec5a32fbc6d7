package cni

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const (
	service = "10.96.0.7"
	ownPod  = "10.244.3.5"
	farPod  = "10.244.1.9"
)

var elsewhere = []peer{{netip.MustParsePrefix("10.244.1.0/24"), "192.0.2.11"}}

// A pod reaches a Service whose pods are on another node only by what each kind of network needs for that.
func TestReach(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind string
		do   func(m *windows.Machine, p *proxier) error
		want string
	}{
		"no kube-proxy": {"L2Bridge", func(*windows.Machine, *proxier) error { return nil }, "no kube-proxy has made"},
		"a bridge alone": {
			"L2Bridge", func(_ *windows.Machine, p *proxier) error { return p.sync(behind(farPod)) },
			"no endpoint of the host is the gateway 10.244.3.2",
		},
		"no route": {"L2Bridge", func(m *windows.Machine, p *proxier) error {
			return all(p.sync(behind(farPod)), makeHostEndpoint(m, "pods", "10.244.3.2"))
		}, "the host has no route to it"},
		"gateway and route": {"L2Bridge", func(m *windows.Machine, p *proxier) error {
			return all(p.sync(behind(farPod)), makeHostEndpoint(m, "pods", "10.244.3.2"), setRoutes(m, "pods", elsewhere))
		}, ""},
		"a pod of the node": {"L2Bridge", func(_ *windows.Machine, p *proxier) error { return p.sync(behind(ownPod)) }, ""},
		"a VXLAN alone": {
			"Overlay", func(_ *windows.Machine, p *proxier) error { return p.sync(behind(farPod)) },
			"the network pods has no RemoteSubnetRoute",
		},
		"a VXLAN that learns after kube-proxy": {"Overlay", func(m *windows.Machine, p *proxier) error {
			return all(p.sync(behind(farPod)), setRemoteSubnets(t.Context(), m, "pods", elsewhere))
		}, "kube-proxy has found no RemoteSubnetRoute to it, and sends its packets to 10.0.0.5"},
		"a VXLAN that knows": {"Overlay", func(m *windows.Machine, p *proxier) error {
			return all(setRemoteSubnets(t.Context(), m, "pods", elsewhere), p.sync(behind(farPod)))
		}, ""},
		"a network that is another one": {"Overlay", func(m *windows.Machine, p *proxier) error {
			return all(setRemoteSubnets(t.Context(), m, "pods", elsewhere), p.sync(behind(farPod)), removeNetworks(m),
				makeNetwork(m, "pods", "Overlay", netip.MustParsePrefix("10.244.3.0/24"), nil))
		}, "the network pods of the pod with the address 10.244.3.5 was removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machineWith(t, test.kind)
			expect.OK(t, test.do(m, &proxier{machine: m, network: "pods"}))
			err := Reach(m, ownPod, service)
			if has(err) != (test.want != "") || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("the pod reaches the Service with %v, want %q", err, test.want)
			}
		})
	}
}

// all is the first error: what is behind it in the list was tried as well.
func all(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func behind(pods ...string) map[string][]string { return map[string][]string{service: pods} }

// machineWith a network of pods, with one pod.
func machineWith(t *testing.T, kind string) *windows.Machine {
	t.Helper()
	m := expect.Got(windows.New(t.TempDir()))(t)
	m.ManagementIP = "10.0.0.5"
	expect.OK(t, m.Setup(func(s *windows.State) {
		s.Adapters = []windows.Adapter{{Index: 6, Name: "node", DHCP: true}}
		s.Addresses = []windows.Address{{Index: 6, Address: "10.0.0.5/24", Origin: "Dhcp"}}
		s.Routes = []windows.Route{{Index: 6, To: "0.0.0.0/0", Via: "10.0.0.1"}}
	}))
	expect.OK(t, makeNetwork(m, "pods", kind, netip.MustParsePrefix("10.244.3.0/24"), nil))
	expect.Got(makeEndpoint(m, "pod_pods", "pods", map[string]any{"IPAddress": ownPod}))(t)
	return m
}

// Two kube-proxies at once: each removes what the other one has made when it starts, and neither notices.
func TestTwoProxies(t *testing.T) {
	t.Parallel()
	m := machineWith(t, "L2Bridge")
	first, second := &proxier{machine: m, network: "pods"}, &proxier{machine: m, network: "pods"}
	expect.OK(t, first.sync(behind(ownPod)))
	expect.OK(t, Reach(m, ownPod, service))
	expect.OK(t, forgetServices(m)) // the second one starts
	expect.OK(t, first.sync(behind(ownPod)))
	expect.Says(t, "until it has its Services", Reach(m, ownPod, service), "no kube-proxy has made")
	expect.OK(t, second.sync(behind(ownPod)))
	expect.OK(t, Reach(m, ownPod, service))
	// What changes is written by both, once.
	expect.OK(t, first.sync(behind(ownPod, "10.244.3.6")))
	expect.OK(t, second.sync(behind(ownPod, "10.244.3.6")))
	if left := expect.Got(list(m, policies))(t); len(left) != 1 {
		t.Errorf("the Service has the policies %v", left)
	}
}

// flanneld follows the nodes of its own backend that say all that it needs.
func TestLeases(t *testing.T) {
	t.Parallel()
	node := func(name, podCIDR string, told ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
		n.Spec.PodCIDR = podCIDR
		for _, one := range told {
			key, value, _ := strings.Cut(one, "=")
			n.Annotations[flannelDomain+key] = value
		}
		return n
	}
	const managed, vxlan, gateway = "kube-subnet-manager=true", "backend-type=vxlan", "backend-type=host-gw"
	mac := `backend-data={"VNI":4096,"VtepMAC":"0a:58:0a:f4:00:01"}`
	nodes := []*corev1.Node{
		node("own", "10.244.3.0/24", managed, vxlan, mac, "public-ip=192.0.2.9"),
		node("good", "10.244.1.0/24", managed, vxlan, mac, "public-ip=192.0.2.11"),
		node("no MAC", "10.244.4.0/24", managed, vxlan, `backend-data={"VNI":4096}`, "public-ip=192.0.2.12"),
		node("Linux' VNI", "10.244.5.0/24", managed, vxlan, `backend-data={"VNI":1,"VtepMAC":"0a:58:0a:f4:00:01"}`),
		node("no range", "", managed, vxlan, mac, "public-ip=192.0.2.13"),
		node("no flanneld", "10.244.6.0/24"),
		node("another backend", "10.244.7.0/24", managed, gateway, "backend-data=null", "public-ip=192.0.2.14"),
	}
	f := &Flannel{plan: &backend{Type: "vxlan"}, node: "own"}
	if got := f.leases(nodes); !slices.Equal(got, elsewhere) {
		t.Errorf("the peers in a VXLAN are %v, want %v", got, elsewhere)
	}
	f.plan.Type = "host-gw"
	want := []peer{{netip.MustParsePrefix("10.244.7.0/24"), "192.0.2.14"}}
	if got := f.leases(nodes); !slices.Equal(got, want) {
		t.Errorf("the peers by routes are %v, want %v", got, want)
	}
}
