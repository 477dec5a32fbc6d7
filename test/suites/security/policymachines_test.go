package security

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

func (s *thief) updateMachines(t *testing.T) {
	machine := s.windows("")
	machine.ObjectMeta = s.meta()
	s.make(t, machine)
	tryMetadata(t, s, machine, "a machine", "own-machines")
	attempt(t, s.refused("own-machines", "moves a machine to another login", change(machine, func(m *infrav1.WindowsMachine) {
		m.Spec.IdentityRef.Name = "another"
	})))
	s.allowed(t, "identity, server and finalizer", change(machine, func(m *infrav1.WindowsMachine) {
		m.Spec.ProviderID = "vsphere://42064d55-dcf3-6be7-3ac7-e1a4d3b70bd4"
		m.Annotations[infrav1.ServerAnnotation] = "11111111-2222-3333-4444-555555555555"
		m.Finalizers = append(m.Finalizers, infrav1.MachineFinalizer)
	}))
}

func (s *thief) windows(name string) *infrav1.WindowsMachine {
	return &infrav1.WindowsMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: infrav1.WindowsMachineSpec{
			IdentityRef: world.SecretIdentity("cloud"), VSphere: &infrav1.VSphereVM{Datacenter: "dc0"},
		},
	}
}

func (s *thief) createClaims(t *testing.T) {
	create := func(edit func(*ipamv1.IPAddressClaim)) func(*testing.T, client.Client) error {
		return func(t *testing.T, api client.Client) error {
			claim := s.claim()
			edit(claim)
			return api.Create(t.Context(), claim)
		}
	}
	for tries, edit := range map[string]func(*ipamv1.IPAddressClaim){
		"claims an address without an owner":   func(c *ipamv1.IPAddressClaim) { c.OwnerReferences = nil },
		"claims an address for another kind":   func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].Kind = "Cluster" },
		"claims for a kind of the same name":   func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].APIVersion = "example.com/v1" },
		"claims in the name of others":         func(c *ipamv1.IPAddressClaim) { c.Name = "node-7" },
		"claims beside an owner":               func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].Controller = nil },
		"claims an address and keeps it":       func(c *ipamv1.IPAddressClaim) { c.Finalizers = []string{"example.com/keep"} },
		"claims with an annotation":            func(c *ipamv1.IPAddressClaim) { c.Annotations = map[string]string{"a": "b"} },
		"claims with a label that others read": func(c *ipamv1.IPAddressClaim) { c.Labels["a"] = "b" },
	} {
		attempt(t, s.refused("own-claims", tries, create(edit)))
	}
	s.allowed(t, "a claim", create(func(*ipamv1.IPAddressClaim) {}))
}

// claim is one as the manager makes it.
func (s *thief) claim() *ipamv1.IPAddressClaim {
	machine := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Name: s.name(), UID: forged}}
	return &ipamv1.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: machine.Name + "-0-0",
			Labels:          map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.WatchLabel: "w"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(machine, infrav1.GroupVersion.WithKind("WindowsMachine"))},
		},
		Spec: ipamv1.IPAddressClaimSpec{PoolRef: ipamv1.IPPoolReference{APIGroup: "example.com", Kind: "Pool", Name: "nodes"}},
	}
}

func (s *thief) updateAddresses(t *testing.T) {
	hold := func(o client.Object) { o.SetFinalizers(append(o.GetFinalizers(), infrav1.AddressFinalizer)) }
	claim, others, beside := s.claim(), s.claim(), s.claim()
	for _, c := range []*ipamv1.IPAddressClaim{claim, others, beside} {
		machine := c.OwnerReferences[0]
		c.ObjectMeta = s.meta()
		owner := s.windows(c.Name) // there is one, or the garbage collector would take the reference away
		s.make(t, owner)
		machine.Name, machine.UID = owner.Name, owner.UID
		c.Name += "-0-0"
		machine.Controller = new(c == claim)
		if c != others {
			c.OwnerReferences = append(c.OwnerReferences, machine)
		}
		s.make(t, c)
	}
	address := &ipamv1.IPAddress{ObjectMeta: s.meta(), Spec: ipamv1.IPAddressSpec{
		ClaimRef: ipamv1.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef,
		Address: "192.0.2.5", Prefix: new(int32(24)),
	}}
	s.make(t, address)
	tryMetadata(t, s, claim, "a claim", "own-finalizers")
	tryMetadata(t, s, address, "an address", "own-finalizers")
	attempt(t, s.refused("own-claims", "holds a claim of others", change[client.Object](others, hold)),
		s.refused("own-claims", "holds a claim that a machine does not control", change[client.Object](beside, hold)))
	for _, o := range []client.Object{claim, address} {
		s.allowed(t, "its finalizer", change(o, hold))
	}
}
