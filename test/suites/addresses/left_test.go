package addresses

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestFinalizerTakenAway: who has no credentials any more, because even our finalizer did not keep them, removes the VM and the
// machine's finalizer by hand, as the condition says. Nothing of its addresses stays held.
func TestFinalizerTakenAway(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	s.pool(t, "nodes", "10.29.0.", "19")
	m := s.machine("stripped", "nodes")
	s.running(t, m)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: world.Credentials}}
	wait.Eventually(t, "our finalizer on the Secret", func(ctx context.Context) error {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		if err == nil && len(secret.Finalizers) == 0 {
			err = errors.New("it has none")
		}
		return err
	})
	expect.OK(t, s.Client.Delete(t.Context(), secret))
	world.Change(t, s.Client, secret, func(o *corev1.Secret) { o.Finalizers = nil })
	m.Await(t, "loss", world.Windows("CloudReachable False CredentialsMissing"))
	m.Delete(t)
	m.Await(t, "credentials", world.Windows("Ready False CredentialsMissing"))
	s.wantHeld(t, "stripped-0-0")
	datacenter.Owner(t).Remove(m.Load(t).Windows.Status.ComputerName)
	world.Change(t, s.Client, m.Load(t).Windows, func(w *infrav1.WindowsMachine) {
		controllerutil.RemoveFinalizer(w, infrav1.MachineFinalizer)
	})
	m.Await(t, "end", world.Gone)
	s.released(t, "stripped-0-0")
}

// TestClaimLostItsStatus, as in a restore: its address has its name, and is let go. The pool is of no provider, which would
// write the status again.
func TestClaimLostItsStatus(t *testing.T) {
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	m := s.machine("restored", "by-hand", "by-hand", "by-hand")
	adapters := m.Windows.Spec.VSphere.NetworkInterfaces
	for i := range 3 {
		adapters[i].AddressesFromPools[0].Kind = "ListOnPaper"
	}
	m.Create(t)
	names := []string{"restored-0-0", "restored-1-0", "restored-2-0"}
	wait.Eventually(t, "claims", s.haveAll(t, names))
	for i, name := range names {
		s.give(t, name, "10.30.0.1"+string(rune('0'+i)))
	}
	m.Await(t, "running VM", world.Windows("Ready True Running"))
	for _, name := range names {
		world.ChangeStatus(t, s.Client, s.claim(t.Context(), t, name), func(c *ipamv1.IPAddressClaim) {
			c.Status = ipamv1.IPAddressClaimStatus{}
		})
	}
	var foreign *ipamv1.IPAddress
	for _, name := range names[1:] {
		foreign = s.address(t.Context(), t, name)
		world.Change(t, s.Client, foreign, func(a *ipamv1.IPAddress) { a.Finalizers = nil })
		expect.OK(t, s.Client.Delete(t.Context(), foreign))
	}
	foreign = &ipamv1.IPAddress{Spec: foreign.Spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Name, Name: names[2], Finalizers: []string{infrav1.AddressFinalizer},
	}}
	foreign.Spec.ClaimRef.Name = "another"
	expect.OK(t, s.Client.Create(t.Context(), foreign))
	m.End(t)
	s.released(t, names[0])
	s.released(t, names[1])
	if left := s.address(t.Context(), t, names[2]); left == nil || !held(left) {
		t.Errorf("the address of another claim was let go: %+v", left)
	}
}

// give does what a provider does for a claim.
func (s *stage) give(t *testing.T, name, text string) {
	t.Helper()
	claim := s.claim(t.Context(), t, name)
	address := &ipamv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: name, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(claim, ipamv1.GroupVersion.WithKind("IPAddressClaim")),
		}},
		Spec: ipamv1.IPAddressSpec{
			ClaimRef: ipamv1.IPAddressClaimReference{Name: name}, PoolRef: claim.Spec.PoolRef,
			Address: text, Prefix: new(int32(24)), Gateway: "10.30.0.1",
		},
	}
	expect.OK(t, s.Client.Create(t.Context(), address))
	world.ChangeStatus(t, s.Client, claim, func(c *ipamv1.IPAddressClaim) { c.Status.AddressRef.Name = name })
}

// TestUselessAddress is told before it is kept: once the pool is mended, another claim brings another one.
func TestUselessAddress(t *testing.T) {
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	m := s.machine("useless", "by-hand")
	m.Windows.Spec.VSphere.NetworkInterfaces[0].AddressesFromPools[0].Kind = "ListOnPaper"
	m.Create(t)
	claimed := s.haveAll(t, []string{"useless-0-0"})
	wait.Eventually(t, "claim", claimed)
	s.give(t, "useless-0-0", "10.31.0.10")
	have := m.Await(t, "refusal",
		world.Windows("Stalled True SpecInvalid"), world.Config("Ready Unknown WaitingForMachineAddresses"))
	const want = "IPAddress useless-0-0: gateway 10.30.0.1 is not in the network of 10.31.0.10/24; correct pool by-hand, " +
		"then delete IPAddressClaim useless-0-0, and the machine creates a new one"
	got, found := conditions.Get(have.Windows, infrav1.ReadyCondition).Message, have.Windows.Status.NetworkInterfaces
	if got != want || found != nil {
		t.Errorf("message %q, want %q; adapters %+v", got, want, found)
	}
	t.Run("beside a Cluster that comes and goes", func(t *testing.T) {
		other := newStage(t, nil)
		other.SetCredentials(t, datacenter.Credentials())
		other.pool(t, "nodes", "10.38.0.", "10")
		m := other.machine("beside", "nodes")
		other.running(t, m)
		m.End(t)
	})
	expect.OK(t, s.Client.Delete(t.Context(), s.claim(t.Context(), t, "useless-0-0")))
	wait.Eventually(t, "the address to go", func(ctx context.Context) error {
		if s.address(ctx, t, "useless-0-0") != nil {
			return errors.New("it is there")
		}
		return nil
	})
	wait.Eventually(t, "another claim", claimed)
	s.give(t, "useless-0-0", "10.30.0.20")
	m.Await(t, "running VM", world.Windows("Ready True Running"))
	m.End(t)
}

// TestMACTaken: two subnets in one network whose addresses agree in their ends would give two VMs one MAC.
func TestMACTaken(t *testing.T) {
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	s.pool(t, "one", "10.32.0.", "19")
	s.pool(t, "two", "10.36.0.", "19")
	first, second := s.machine("mac-first", "one"), s.machine("mac-second", "two")
	s.running(t, first)
	second.Create(t)
	have := second.Await(t, "refusal", world.Windows("Ready False MACTaken"), world.Windows("Stalled True MACTaken"))
	if got := conditions.Get(have.Windows, infrav1.ReadyCondition).Message; !strings.Contains(got, "WindowsMachine mac-first") {
		t.Errorf("message %q names no other machine", got)
	}
	for _, m := range []*world.Machine{second, first} {
		m.End(t)
	}
}
