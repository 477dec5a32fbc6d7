// Package addresses tests machines whose adapters have addresses of pools: with Cluster API's own manager, the IPAM provider
// of its project, and a vCenter that is simulated.
package addresses

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

var shared *world.World

func TestMain(m *testing.M) { world.Main(m, &shared, 3) }

// datacenter is the vCenter of all tests, which run one after the other. The two that wait for requests of a process before, and
// the one whose address may have to go as a stray, wait together.
var datacenter *vcenter.VCenter

// wantMACs compares the adapters of a VM, as they are in the vCenter, with those of a status.
func wantMACs(t *testing.T, name string, interfaces []infrav1.MachineNetworkInterface) {
	t.Helper()
	var got []string
	for _, device := range datacenter.Owner(t).Read(name, "config.hardware.device").Config.Hardware.Device {
		if card, ok := device.(types.BaseVirtualEthernetCard); ok {
			got = append(got, card.GetVirtualEthernetCard().MacAddress)
		}
	}
	same := func(mac string, adapter infrav1.MachineNetworkInterface) bool {
		return mac != "" && mac == adapter.MACAddress
	}
	if !slices.EqualFunc(got, interfaces, same) {
		t.Errorf("the VM has adapters %q, the status says %+v", got, interfaces)
	}
}

// others starts what the world has not, once: it ends with the process.
var others = sync.OnceValue(func() error {
	if err := servers.StartIPAM(context.Background(), shared.Management, os.Stderr); err != nil {
		return err
	}
	var err error
	datacenter, err = vcenter.Start()
	return err
})

// stage is a namespace with our controllers at work.
type stage struct {
	*world.Namespace
	process *world.Process
}

func newStage(t *testing.T, gate *world.Gate) *stage {
	t.Helper()
	s := quietStage(t)
	s.process = s.Run(t, world.Options{VSphere: vsphere.Provider{}, Gate: gate})
	return s
}

// clusters is how many there were.
var clusters atomic.Int32

// quietStage is one where our controllers are not at work yet. Its Cluster has a name of its own: when a Cluster comes or goes,
// the IPAM provider of Cluster API's project looks at the claims of all Clusters of that name, in all namespaces. It puts its
// finalizer even on those of another provider, and never takes it off (clusterToIPClaims of v1.0.3 asks for no kind of pool).
func quietStage(t *testing.T) *stage {
	t.Helper()
	name := shared.Unique(fmt.Sprint("addresses-", clusters.Add(1)))
	s := &stage{Namespace: shared.Namespace(t, world.Start{ClusterName: name})}
	expect.OK(t, others())
	return s
}

// pool makes one of the addresses .10 to last, with the gateway .1.
func (s *stage) pool(t *testing.T, name, network, last string) {
	t.Helper()
	pool := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"addresses": []any{network + "10-" + network + last}, "prefix": int64(24), "gateway": network + "1",
	}}}
	pool.SetAPIVersion("ipam.cluster.x-k8s.io/v1alpha2")
	pool.SetKind("InClusterIPPool")
	pool.SetNamespace(s.Name)
	pool.SetName(name)
	expect.OK(t, s.Client.Create(t.Context(), pool))
}

// machine has an adapter with an address of each pool, and then one by DHCP.
func (s *stage) machine(name string, pools ...string) *world.Machine {
	m := s.NewMachine(name)
	for i, pool := range pools {
		m.Windows.Spec.VSphere.NetworkInterfaces = append(m.Windows.Spec.VSphere.NetworkInterfaces, infrav1.VSphereNetworkInterface{
			Name: fmt.Sprint("pool-", i), Network: "VM Network", AddressesFromPools: []infrav1.IPPoolReference{
				{APIGroup: ipamv1.GroupVersion.Group, Kind: "InClusterIPPool", Name: pool},
			},
			Nameservers: []string{"10.20.0.2"},
		})
	}
	m.Windows.Spec.VSphere.NetworkInterfaces = append(m.Windows.Spec.VSphere.NetworkInterfaces, infrav1.VSphereNetworkInterface{
		Name: "dhcp", Network: "DC0_DVPG0",
	})
	return m
}

// claim and address are as the API server has them; nil is one that it has not.
func (s *stage) claim(ctx context.Context, t *testing.T, name string) *ipamv1.IPAddressClaim {
	t.Helper()
	return get(ctx, t, s, name, &ipamv1.IPAddressClaim{})
}

func (s *stage) address(ctx context.Context, t *testing.T, name string) *ipamv1.IPAddress {
	t.Helper()
	return get(ctx, t, s, name, &ipamv1.IPAddress{})
}

func get[O client.Object](ctx context.Context, t *testing.T, s *stage, name string, into O) O {
	t.Helper()
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Name, Name: name}, into)
	if apierrors.IsNotFound(err) {
		var zero O
		return zero
	}
	expect.OK(t, err)
	return into
}

// released waits until nothing of a claim is left. Garbage collection looks at new kinds twice a minute, and at none while
// the machine is busy.
func (s *stage) released(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := wait.Within(t.Context(), 3*wait.Patience)
	defer cancel()
	err := wait.Poll(ctx, func(ctx context.Context) error {
		if claim, address := s.claim(ctx, t, name), s.address(ctx, t, name); claim != nil || address != nil {
			return fmt.Errorf("claim %v, address %v", claim, address)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("release of %s: %v", name, err)
	}
}

// wantHeld wants the claim and the address of a VM that runs to be held, and the claim to name the Cluster.
func (s *stage) wantHeld(t *testing.T, name string) {
	t.Helper()
	claim, address := s.claim(t.Context(), t, name), s.address(t.Context(), t, name)
	if !held(claim) || !held(address) || claim.Spec.ClusterName != s.ClusterName {
		t.Errorf("claim and address of a VM that runs are not held: %+v %+v", claim, address)
	}
}

func held(o client.Object) bool { return controllerutil.ContainsFinalizer(o, infrav1.AddressFinalizer) }

// running brings a machine to where its VM runs.
func (s *stage) running(t *testing.T, m *world.Machine) world.State {
	t.Helper()
	m.Create(t)
	return m.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed)
}

// haveAll asks whether the claims are there.
func (s *stage) haveAll(t *testing.T, claims []string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, name := range claims {
			if s.claim(ctx, t, name) == nil {
				return fmt.Errorf("there is no claim %s", name)
			}
		}
		return nil
	}
}
