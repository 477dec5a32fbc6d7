// Package addresses tests machines whose adapters have addresses of pools: with Cluster API's own manager, the IPAM provider
// of its project, and a vCenter that is simulated.
package addresses

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/lab/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

var shared *world.World

func TestMain(m *testing.M) { world.Main(m, &shared, 1) }

// datacenter is the vCenter of all tests, which run one after the other, and hypervisor notes the adapters of its VMs.
var (
	datacenter *vcenter.VCenter
	hypervisor = &notes{macs: map[string][]string{}}
)

type notes struct {
	mu   sync.Mutex
	macs map[string][]string
}

func (n *notes) play(ctx context.Context, vm *vcenter.VM) {
	name, err := vm.Name(ctx)
	hardware, failed := vm.Hardware(ctx)
	if errors.Join(err, failed) != nil {
		return // it is off again
	}
	n.mu.Lock()
	n.macs[name] = hardware.MACs
	n.mu.Unlock()
	<-ctx.Done()
}

func (n *notes) of(name string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.macs[name]
}

// others starts what the world has not, once: it ends with the process.
var others = sync.OnceValue(func() error {
	ctx := context.Background()
	if err := servers.StartIPAM(ctx, shared.Management, os.Stderr); err != nil {
		return err
	}
	var err error
	if datacenter, err = vcenter.Start(ctx); err != nil {
		return err
	}
	go func() { _ = datacenter.Run(ctx, hypervisor.play) }()
	return nil
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

// quietStage is one where our controllers are not at work yet.
func quietStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Namespace: shared.Namespace(t, world.Start{})}
	if err := others(); err != nil {
		t.Fatal(err)
	}
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
	if err := s.Client.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
}

// machine has an adapter with an address of each pool, and then one by DHCP.
func (s *stage) machine(name string, pools ...string) *world.Machine {
	m := s.NewMachine(name)
	for _, pool := range pools {
		m.Windows.Spec.VSphere.Networks = append(m.Windows.Spec.VSphere.Networks, infrav1.VSphereNetwork{
			Name:               "VM Network",
			AddressesFromPools: []infrav1.IPPoolReference{{APIGroup: ipamv1.GroupVersion.Group, Kind: "InClusterIPPool", Name: pool}},
			Nameservers:        []string{"10.20.0.2"},
		})
	}
	m.Windows.Spec.VSphere.Networks = append(m.Windows.Spec.VSphere.Networks, infrav1.VSphereNetwork{Name: "DC0_DVPG0"})
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
		var none O
		return none
	}
	if err != nil {
		t.Fatal(err)
	}
	return into
}

// released waits until nothing of a claim is left. Garbage collection looks at new kinds twice a minute, and at none while
// the machine is busy.
func (s *stage) released(t *testing.T, name string) {
	t.Helper()
	err := world.Poll(t.Context(), 3*world.Patience, func(ctx context.Context) error {
		if claim, address := s.claim(ctx, t, name), s.address(ctx, t, name); claim != nil || address != nil {
			return fmt.Errorf("claim %v, address %v", claim, address)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("release of %s: %v", name, err)
	}
}

func held(o client.Object) bool { return controllerutil.ContainsFinalizer(o, infrav1.AddressFinalizer) }

// running brings a machine to where its VM runs.
func (s *stage) running(t *testing.T, m *world.Machine) world.State {
	t.Helper()
	m.Create(t)
	return m.Await(t, "running VM", world.Windows("Ready False WaitingForGuest"), world.DataSecretNamed)
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
