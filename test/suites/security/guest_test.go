package security

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// TestWords has guests whose words are about more than themselves.
func TestWords(t *testing.T) {
	t.Parallel()
	s := newFakeStage(t)
	witness, other := s.booting(t, "witness")
	fine := func(t *testing.T) {
		t.Helper()
		witness.Await(t, "life of another", world.Windows("Ready True Running"), world.Windows("Stalled False NotStalled"),
			world.Tokens(1))
	}
	attempt(t,
		attack{by: "guest", tries: "reports success at once, to be taken for a Node", try: func(t *testing.T) string {
			t.Parallel()
			m, state := s.booting(t, "done")
			s.vm(state, func(vm *fake.VM) { vm.Report = guestReport(`"state":"Succeeded"`) })
			now := m.Await(t, "report", world.Windows("BootstrapSucceeded Unknown WaitingForNode"))
			s.look(t, m)
			m.Await(t, "its token", world.Tokens(1))
			fine(t)
			return "it waits for a Node that Cluster API sees, and keeps its token: " + string(now.Windows.Status.Phase)
		}},
		attack{
			by: "guest", tries: "reports a failure under another machine's name, to have that one's token removed",
			try: func(t *testing.T) string {
				t.Parallel()
				m, state := s.booting(t, "liar")
				s.vm(state, func(vm *fake.VM) {
					vm.Report = guestReport(fmt.Sprintf(`"state":"Failed","uid":%q,"machine":{"name":"witness"},"node":%q`,
						other.Core.UID, other.Windows.Status.ComputerName))
				})
				m.Await(t, "report", fails, world.Tokens(0))
				fine(t)
				return "only its own token is removed"
			},
		},
		attack{
			by: "guest", tries: "reports addresses of another machine and of the API server, and names",
			try: func(t *testing.T) string {
				t.Parallel()
				return s.addresses(t)
			},
		}, attack{by: "guest", tries: "reports 5000 addresses", try: func(t *testing.T) string {
			t.Parallel()
			m, state := s.booting(t, "flood")
			s.vm(state, func(vm *fake.VM) {
				for i := range 5000 {
					vm.Told = append(vm.Told, ipOf(fmt.Sprintf("10.7.%d.%d", i/250, i%250)))
				}
			})
			now := m.Await(t, "addresses", func(s world.State) string {
				if n := len(s.Windows.Status.Addresses); n < 32 {
					return fmt.Sprintf("there are %d addresses", n)
				}
				return ""
			})
			return fmt.Sprintf("%d are shown", len(now.Windows.Status.Addresses))
		}},
	)
}

func ipOf(address string) clusterv1.MachineAddress {
	return clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: address}
}

// addresses has a guest tell what belongs to others. A pool gave one address to another machine, which need not be ours.
func (s *fakeStage) addresses(t *testing.T) string {
	t.Helper()
	expect.OK(t, s.Client.Create(t.Context(), &ipamv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: "linux-0"},
		Spec: ipamv1.IPAddressSpec{
			ClaimRef: ipamv1.IPAddressClaimReference{Name: "linux-0"}, Address: "10.6.0.7", Prefix: new(int32(24)),
			PoolRef: ipamv1.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "nodes"},
		},
	}))
	endpoint := s.Cluster(t.Context(), t).Spec.ControlPlaneEndpoint.Host
	m, state := s.booting(t, "addresses")
	s.vm(state, func(vm *fake.VM) {
		vm.Told = []clusterv1.MachineAddress{
			ipOf("10.6.0.7"), ipOf("::ffff:10.6.0.7"), ipOf(endpoint), ipOf("127.0.0.1"), ipOf("fe80::1%x"), ipOf("0.0.0.0"), ipOf("x y"),
			{Type: clusterv1.MachineHostName, Address: "witness"},
			{Type: clusterv1.MachineInternalDNS, Address: "kubernetes.default.svc"},
			{Type: clusterv1.MachineExternalDNS, Address: "example.com"},
			{Type: clusterv1.MachineExternalIP, Address: "10.6.0.8"},
			ipOf("10.6.0.9"),
		}
	})
	name := state.Windows.Status.ComputerName
	m.Await(t, "addresses", func(s world.State) string {
		got := fmt.Sprint(s.Windows.Status.Addresses)
		if want := fmt.Sprintf("[{Hostname %s} {InternalDNS %s} {InternalIP 10.6.0.9}]", name, name); got != want {
			return got
		}
		return ""
	})
	var claims ipamv1.IPAddressClaimList
	expect.OK(t, s.Client.List(t.Context(), &claims))
	for _, claim := range claims.Items {
		if claim.Namespace == s.Name {
			t.Errorf("there is a claim %s", claim.Name)
		}
	}
	return "only its own is shown, and nothing is claimed"
}
