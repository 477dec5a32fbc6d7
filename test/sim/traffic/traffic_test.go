package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A node of each build gets the images that containerd's rule gives it.
func TestPull(t *testing.T) {
	t.Parallel()
	var registry Registry
	registry.Remove("agnhost:2.99")
	registry.Limit("mirror/agnhost", "linux/amd64", "windows/10.0.20348")
	const noBuild, absent = "no match for platform in manifest", "failed to resolve image"
	for _, test := range []struct{ image, platform, want string }{
		{"registry.k8s.io/e2e-test-images/agnhost:2.63.0", "windows/10.0.17763", ""},
		{"registry.k8s.io/e2e-test-images/agnhost:2.63.0", "windows/10.0.20348", ""},
		{"registry.k8s.io/e2e-test-images/agnhost:2.63.0", "windows/10.0.25398", ""}, // that of 2022
		{"registry.k8s.io/e2e-test-images/agnhost:2.63.0", "windows/10.0.14393", noBuild},
		{"registry.k8s.io/e2e-test-images/agnhost:2.63.0", "linux/arm64", ""},
		{"registry.k8s.io/e2e-test-images/agnhost:2.63.0", "linux/s390x", noBuild},
		{"registry.k8s.io/e2e-test-images/agnhost:2.99", "linux/amd64", absent},
		{"mirror/agnhost", "windows/10.0.17763", noBuild},
		{"mirror/agnhost@sha256:0", "windows/10.0.26100", ""},
		{"example.com/web", "windows/10.0.14393", ""},
	} {
		err := registry.Pull(test.image, test.platform)
		if (err == nil) != (test.want == "") || !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s on %s: %v, want %q", test.image, test.platform, err, test.want)
		}
	}
	registry.Remove("")
	expect.OK(t, registry.Pull("agnhost:2.99", "linux/amd64"))
}

// flat is a node whose network and kube-proxy do all that the API says.
type flat struct {
	cluster *Cluster
	closed  bool
}

func (*flat) Path(netip.Addr, netip.Addr) error { return nil }

func (f *flat) Service(ctx context.Context, _ netip.Addr, to netip.AddrPort) ([]netip.AddrPort, error) {
	return f.cluster.Backends(ctx, to)
}

func (f *flat) NodePort(ctx context.Context, port uint16) ([]netip.AddrPort, error) {
	return f.cluster.BackendsOfNodePort(ctx, port)
}

func (f *flat) Admits(uint16) bool { return !f.closed }

// Each address leads where it does in a cluster, and each fault cuts what it says and no more.
func TestDial(t *testing.T) {
	t.Parallel()
	c, from := twoNodes(t)
	const holds, refused, silent = "holds", "refused", "silent"
	for _, test := range []struct {
		to, want string
		faults   Faults
		broken   string
	}{
		{to: "10.244.1.5:8080", want: holds},
		{to: "10.244.1.5:8081", want: refused},
		{to: "10.244.1.9:8080", want: silent},
		{to: "127.0.0.1:9090", want: holds}, // the client's own
		{to: "127.0.0.1:8080", want: refused},
		{to: "10.96.0.7:80", want: holds},
		{to: "10.96.0.7:81", want: silent},
		{to: "10.96.0.8:80", want: refused}, // a Service without endpoints
		{to: "192.0.2.2:30007", want: holds},
		{to: "192.0.2.2:30009", want: refused},
		{to: "192.0.2.3:30007", want: holds},
		{to: "192.0.2.3:30009", want: silent}, // the firewall of Windows
		{to: "192.0.2.3:10250", want: silent},
		{to: "1.1.1.1:443", want: holds},
		{to: "1.1.1.1:80", want: silent},
		{to: "10.96.0.7:80", want: silent, broken: "from", faults: Faults{NoKubeProxy: true}},
		{to: "10.244.1.5:8080", want: holds, broken: "from", faults: Faults{NoKubeProxy: true}},
		{to: "192.0.2.3:30007", want: silent, broken: "win", faults: Faults{NoKubeProxy: true}},
		{to: "192.0.2.2:30007", want: holds, broken: "win", faults: Faults{NoKubeProxy: true}},
		{to: "10.244.1.5:8080", want: silent, broken: "one", faults: Faults{NoPeers: true}},
		{to: "1.1.1.1:443", want: silent, broken: "one", faults: Faults{NoOutside: true}},
	} {
		c.Break(test.broken, test.faults)
		got := holds
		switch err := c.Dial(t.Context(), from, netip.MustParseAddrPort(test.to)); {
		case errors.Is(err, ErrRefused):
			got = refused
		case errors.Is(err, ErrSilence):
			got = silent
		case err != nil:
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s without %+v of %q: %s, want %s", test.to, test.faults, test.broken, got, test.want)
		}
		c.Break(test.broken, Faults{})
	}
	own := Place{Host: c.hostAt(netip.MustParseAddr("192.0.2.3"))}
	if err := c.Dial(t.Context(), own, netip.MustParseAddrPort("192.0.2.3:30007")); !errors.Is(err, ErrSilence) {
		t.Errorf("a Windows node reaches a NodePort of its own: %v", err)
	}
}

// twoNodes are "one", from which a pod named "from" dials, and "win" with a server behind a Service.
func twoNodes(t *testing.T) (*Cluster, Place) {
	t.Helper()
	c := expect.Got(Start())(t)
	t.Cleanup(func() { expect.OK(t, c.Close()) })
	port := func(name string) *discoveryv1.EndpointSlice {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "default", Labels: map[string]string{discoveryv1.LabelServiceName: name},
			},
			Ports: []discoveryv1.EndpointPort{{Port: new(int32(8080))}},
		}
		if name == "full" {
			slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.244.1.5"}}}
		}
		return slice
	}
	service := func(name, address string, nodePort int32) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec: corev1.ServiceSpec{
				ClusterIP: address, Ports: []corev1.ServicePort{{Port: 80, NodePort: nodePort}},
			},
		}
	}
	c.Connect(fake.NewClientset(service("full", "10.96.0.7", 30007), service("empty", "10.96.0.8", 30008), port("full"),
		port("empty")))
	one := &Host{Name: "one", Address: netip.MustParseAddr("192.0.2.2"), Node: &flat{cluster: c}}
	win := &Host{Name: "win", Address: netip.MustParseAddr("192.0.2.3"), Windows: true, Node: &flat{cluster: c, closed: true}}
	c.Join(one)
	c.Join(win)
	server, client := netip.MustParseAddr("10.244.1.5"), netip.MustParseAddr("10.244.0.5")
	c.Add(win, server)
	c.Add(one, client)
	expect.Got(c.Listen(Place{Host: win, Pod: server}, 8080, ""))(t)
	expect.Got(c.Listen(Place{Host: win}, 10250, "127.0.0.1:1"))(t)
	expect.Got(c.Listen(Place{Host: one, Pod: client}, 9090, ""))(t)
	return c, Place{Host: one, Name: "from", Pod: client, Search: []string{"default.svc.cluster.local", "svc.cluster.local"}}
}

// Windows tries one suffix, and only with names of one word.
func TestNames(t *testing.T) {
	t.Parallel()
	c, from := twoNodes(t)
	windows := Place{Host: &Host{Name: "win", Windows: true}, Search: from.Search}
	for name, want := range map[string][2]int{"full": {3, 2}, "full.default": {3, 1}, "full.default.svc.cluster.local.": {1, 1}} {
		if got := [2]int{len(from.candidates(name)), len(windows.candidates(name))}; got != want {
			t.Errorf("%s is asked for by %v names on Linux and Windows, want %v", name, got, want)
		}
	}
	if !slices.Contains(windows.candidates("full"), "full.default.svc.cluster.local") {
		t.Errorf("Windows asks for %v", windows.candidates("full"))
	}
	for name, want := range map[string]string{
		"full.default.svc.cluster.local": "10.96.0.7", "none.default.svc.cluster.local": "", "registry.k8s.io": "192.0.2.200",
		"full": "",
	} {
		address, err := c.coreDNS(t.Context(), name)
		if want == "" && !errors.Is(err, ErrNoSuchHost) || want != "" && (err != nil || address.String() != want) {
			t.Errorf("CoreDNS says of %s: %s, %v, want %q", name, address, err, want)
		}
	}
}
