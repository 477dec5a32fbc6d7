package addresses

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// effects are what our controllers do for an address, besides what they do for every machine.
var effects = []string{
	"management POST ipaddressclaims #1",
	"management POST ipaddressclaims #2",
	"management PATCH ipaddressclaims finalizers #1",
	"management PATCH ipaddresses finalizers #1",
	"management PATCH ipaddressclaims finalizers #2",
	"management PATCH ipaddresses finalizers #2",
	"management PATCH ipaddresses finalizers #3",
	"management PATCH ipaddressclaims finalizers #3",
	"management PATCH ipaddresses finalizers #4",
	"management PATCH ipaddressclaims finalizers #4",
}

// TestLife: what the pools gave is in the status, in the user data and in the VM, is held while there is a VM and given back
// after that.
func TestLife(t *testing.T) {
	gate, left := lookBefore(t, "management PATCH ipaddresses finalizers #3")
	s := newStage(t, gate)
	s.SetCredentials(t, datacenter.Credentials())
	s.pool(t, "nodes", "10.20.0.", "19")
	s.pool(t, "storage", "10.21.0.", "19")
	m := s.machine("life", "nodes", "storage")
	ready := s.running(t, m)

	want := []infrav1.MachineNetworkInterface{
		{
			Name: "pool-0", MACAddress: "00:50:56:00:00:0a",
			Addresses: []infrav1.NetworkAddress{{Address: "10.20.0.10/24", Gateway: "10.20.0.1"}},
		},
		{
			Name: "pool-1", MACAddress: "00:50:56:05:00:0a",
			Addresses: []infrav1.NetworkAddress{{Address: "10.21.0.10/24", Gateway: "10.21.0.1"}},
		},
		{Name: "dhcp", MACAddress: ready.Windows.Status.NetworkInterfaces[2].MACAddress},
	}
	expect.Same(t, "status.networkInterfaces", want, ready.Windows.Status.NetworkInterfaces)
	wantMACs(t, ready.Windows.Status.ComputerName, want)
	plan, err := scripts.Plan(ready.Data.Data["value"])
	for _, text := range []string{
		"10.20.0.10/24", "10.21.0.10/24", "10.20.0.1", want[0].MACAddress, want[1].MACAddress, "--node-ip=10.20.0.10",
	} {
		if err != nil || !strings.Contains(string(plan), `"`+text+`"`) {
			t.Errorf("the plan has no %q (%v)", text, err)
		}
	}
	for _, name := range []string{"life-0-0", "life-1-0"} {
		s.wantHeld(t, name)
	}

	m.End(t)
	wantNoVM(t, <-left)
	s.released(t, "life-0-0")
	s.released(t, "life-1-0")
	// The status says for which claim it waits, and so may be written once for each.
	ours := slices.DeleteFunc(gate.Effects(), func(effect string) bool { return !strings.Contains(effect, "ipaddress") })
	expect.Same(t, "effects", effects, ours)
}

// lookBefore sends the VMs that there are right before an effect.
func lookBefore(t *testing.T, wanted string) (*world.Gate, <-chan []string) {
	left := make(chan []string, 1)
	return &world.Gate{Before: func(effect string) {
		if effect == wanted {
			select {
			case left <- datacenter.Owner(t).VMs():
			default: // a try that was refused comes again
			}
		}
	}}, left
}

func wantNoVM(t *testing.T, seen []string) {
	t.Helper()
	if len(seen) != 0 {
		t.Errorf("an address is given back while there are VMs %q", seen)
	}
}

// TestForeground: who deletes in the foreground deletes the claims first. They, and the machine, wait for the VM.
func TestForeground(t *testing.T) {
	gate, left := lookBefore(t, "management PATCH ipaddresses finalizers #2")
	s := newStage(t, gate)
	s.SetCredentials(t, datacenter.Credentials())
	s.pool(t, "nodes", "10.28.0.", "19")
	m := s.machine("foreground", "nodes")
	s.running(t, m)
	expect.OK(t, s.Client.Delete(t.Context(), m.Windows.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationForeground)))
	wantNoVM(t, <-left)
	s.released(t, "foreground-0-0")
	m.End(t)
}

// TestAddressIsKept: no other machine gets the address of a claim before the VM is gone, and then one does.
func TestAddressIsKept(t *testing.T) {
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	s.pool(t, "one", "10.22.0.", "10")
	first, second := s.machine("first", "one"), s.machine("second", "one")
	s.running(t, first)
	expect.OK(t, s.Client.Delete(t.Context(), s.claim(t.Context(), t, "first-0-0")))
	wait.Eventually(t, "the provider to take the address back", func(ctx context.Context) error {
		if address := s.address(ctx, t, "first-0-0"); address == nil || address.DeletionTimestamp.IsZero() ||
			len(address.Finalizers) != 1 {
			return fmt.Errorf("address %+v", address)
		}
		return nil
	})
	second.Create(t)
	second.Await(t, "no address", world.Windows("Ready False WaitingForIPAddress"),
		world.Config("Ready Unknown WaitingForMachineAddresses"))
	for range 5 {
		second.Touch(t, s.claim(t.Context(), t, "second-0-0"), "look again")
		s.process.Reconcile(t, world.Machines, second.Key)
	}
	if claim := s.claim(t.Context(), t, "second-0-0"); claim.Status.AddressRef.Name != "" {
		t.Fatal("the address of a VM that lives was given to another machine")
	}
	second.Await(t, "no address", world.Windows("Ready False WaitingForIPAddress"))

	first.End(t)
	s.released(t, "first-0-0")
	second.Touch(t, s.claim(t.Context(), t, "second-0-0"), "there is one now")
	have := second.Await(t, "running VM", world.Windows("Ready True Running"))
	if got := have.Windows.Status.NetworkInterfaces[0].Addresses[0].Address; got != "10.22.0.10/24" {
		t.Errorf("the second machine has %s", got)
	}
	second.End(t)
}

// TestAddressLost: an address that goes before there is a VM is not used, and the machine says so. Without credentials there
// is no VM, and nothing is held for one.
func TestAddressLost(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.pool(t, "nodes", "10.23.0.", "19")
	m := s.machine("lost", "nodes")
	m.Create(t)
	m.Await(t, "credentials", world.Windows("Ready False CredentialsMissing"), world.DataSecretNamed)
	claim := s.claim(t.Context(), t, "lost-0-0")
	if held(claim) || held(s.address(t.Context(), t, "lost-0-0")) {
		t.Error("an address is held though there can be no VM")
	}
	expect.OK(t, s.Client.Delete(t.Context(), claim))
	s.released(t, "lost-0-0")
	s.SetCredentials(t, datacenter.Credentials())
	m.Touch(t, m.Windows, "credentials")
	m.Await(t, "loss", world.Windows("Ready False AddressLost"), world.Windows("Stalled True AddressLost"))
	if vms := datacenter.Owner(t).VMs(); slices.ContainsFunc(vms, func(vm string) bool { return strings.HasPrefix(vm, "lost-") }) {
		t.Errorf("there are VMs %q", vms)
	}
	m.End(t)
}

// TestNoVM: a machine that goes before it could have a VM goes without the cloud, and its address with it.
func TestNoVM(t *testing.T) {
	s := newStage(t, nil)
	s.pool(t, "nodes", "10.24.0.", "19")
	m := s.machine("early", "nodes")
	m.Create(t)
	m.Await(t, "credentials", world.Windows("Ready False CredentialsMissing"))
	m.End(t)
	s.released(t, "early-0-0")
}

// TestPoolIsMissing: the condition names the claim and the pool, and what comes late is taken.
func TestPoolIsMissing(t *testing.T) {
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	m := s.machine("late", "later")
	m.Create(t)
	have := m.Await(t, "no pool", world.Windows("Ready False WaitingForIPAddress"),
		world.Config("Ready Unknown WaitingForMachineAddresses"))
	const want = "IPAddressClaim late-0-0 has no address of InClusterIPPool later yet"
	if got := conditions.Get(have.Windows, infrav1.ReadyCondition).Message; !strings.HasPrefix(got, want) {
		t.Errorf("message %q, want %q", got, want)
	}
	s.pool(t, "later", "10.25.0.", "19")
	m.Await(t, "running VM", world.Windows("Ready True Running"))
	m.End(t)
}

// TestForeignClaim: a claim of our name that belongs to another is left alone.
func TestForeignClaim(t *testing.T) {
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	s.pool(t, "nodes", "10.26.0.", "19")
	foreign := &ipamv1.IPAddressClaim{Spec: ipamv1.IPAddressClaimSpec{PoolRef: ipamv1.IPPoolReference{
		APIGroup: ipamv1.GroupVersion.Group, Kind: "InClusterIPPool", Name: "nodes",
	}}}
	foreign.Namespace, foreign.Name = s.Name, "taken-0-0"
	expect.OK(t, s.Client.Create(t.Context(), foreign))
	wait.Eventually(t, "its address", func(ctx context.Context) error {
		if s.address(ctx, t, "taken-0-0") == nil {
			return errors.New("it has none")
		}
		return nil
	})
	m := s.machine("taken", "nodes")
	m.Create(t)
	m.Await(t, "somebody else's claim", world.Windows("Ready False WaitingForIPAddress"))
	expect.OK(t, client.IgnoreNotFound(s.Client.Delete(t.Context(), foreign)))
	m.Await(t, "a claim of its own", world.Windows("Ready True Running"))
	if !held(s.claim(t.Context(), t, "taken-0-0")) {
		t.Error("the machine's own claim is not held")
	}
	m.End(t)
}
