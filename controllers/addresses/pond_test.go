package addresses

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// stage is an API server with a machine "win", and a bystander "winner" beside it: both have three claims with an address each.
type stage struct {
	*Pools
	windows *infrav1.WindowsMachine
	known   []infrav1.MachineNetworkInterface
	fails   map[string]error // by call: "get ipaddresses win-0-0", "patch ipaddressclaims win-0-0"
	calls   []string         // that changed something
	before  []client.Object  // the bystander's
}

var errAway = apierrors.NewInternalError(fmt.Errorf("etcdserver: request timed out"))

var stageTime = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// newStage lets change edit the objects, by kind and name, before they are there; one that it sets to nil is not.
func newStage(t *testing.T, change func(map[string]client.Object)) *stage {
	t.Helper()
	s := &stage{windows: ofPools(), fails: map[string]error{}}
	bystander := ofPools()
	bystander.Name, bystander.UID = "winner", "uid-2"
	objects := map[string]client.Object{"machine win": s.windows, "machine winner": bystander}
	for i, windows := range []*infrav1.WindowsMachine{s.windows, bystander} {
		for j, claim := range claimsOf(windows, blue) {
			claim.UID = types.UID("claim-" + claim.Name)
			claim.Status.AddressRef.Name = claim.Name
			objects["claim "+claim.Name] = claim
			objects["address "+claim.Name] = addressOf(claim, fmt.Sprintf("10.%d.%d.5", i, j))
			if i > 0 {
				claim.Finalizers = []string{infrav1.AddressFinalizer}
				objects["address "+claim.Name].SetFinalizers(claim.Finalizers)
				s.before = append(s.before, claim, objects["address "+claim.Name])
			}
		}
	}
	if change != nil {
		change(objects)
	}
	var there []client.Object
	for _, object := range objects {
		if object != nil {
			there = append(there, object)
		}
	}
	scheme := runtime.NewScheme()
	expect.OK(t, ipamv1.AddToScheme(scheme))
	expect.OK(t, infrav1.AddToScheme(scheme))
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(there...).WithInterceptorFuncs(calls.Ask(s.asked)).
		WithIndex(&ipamv1.IPAddress{}, byAddress, ipOf).
		WithIndex(&infrav1.WindowsMachine{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
		Build()
	s.Pools = &Pools{Client: api, Live: api, Now: func() time.Time { return stageTime }}
	for i := range s.before { // as the API server has them
		s.before[i] = s.get(t, s.before[i])
	}
	for _, adapter := range s.windows.Spec.VSphere.NetworkInterfaces {
		s.known = append(s.known, infrav1.MachineNetworkInterface{Name: adapter.Name})
	}
	s.known[0].Addresses = []infrav1.NetworkAddress{{Address: "10.0.0.5/24"}, {Address: "10.0.1.5/24"}}
	s.known[2].Addresses = []infrav1.NetworkAddress{{Address: "10.0.2.5/24"}}
	return s
}

func addressOf(claim *ipamv1.IPAddressClaim, ip string) *ipamv1.IPAddress {
	return &ipamv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name},
		Spec: ipamv1.IPAddressSpec{
			ClaimRef: ipamv1.IPAddressClaimReference{Name: claim.Name}, Address: netip.MustParseAddr(ip).String(), Prefix: new(int32(24)),
		},
	}
}

// asked has changes noted, and calls fail.
func (s *stage) asked(c calls.Call) error {
	o, one := c.Object.(client.Object)
	if !one {
		return s.fails[fmt.Sprintf("list %T", c.Object)]
	}
	call := callOf(c.Verb, o, c.Key.Name)
	if c.Verb != "get" {
		s.calls = append(s.calls, call)
	}
	return s.fails[call]
}

func callOf(verb string, o client.Object, name string) string {
	kind := "machine"
	switch o.(type) {
	case *ipamv1.IPAddress:
		kind = "address"
	case *ipamv1.IPAddressClaim:
		kind = "claim"
	}
	return verb + " " + kind + " " + name
}

func (s *stage) get(t *testing.T, o client.Object) client.Object {
	t.Helper()
	fails := s.fails
	s.fails = nil
	defer func() { s.fails = fails }()
	found, _ := o.DeepCopyObject().(client.Object)
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(o), found); !apierrors.IsNotFound(err) {
		expect.OK(t, err)
		return found
	}
	return nil
}

// heldNames are the machine's claims and addresses that we hold, in order.
func (s *stage) heldNames(t *testing.T) (all []string) {
	t.Helper()
	for _, claim := range claimsOf(ofPools(), nil) {
		for _, o := range []client.Object{claim, &ipamv1.IPAddress{ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: claim.Name,
		}}} {
			if found := s.get(t, o); found != nil && held(found) {
				all = append(all, callOf("", o, o.GetName())[1:])
			}
		}
	}
	return all
}

// leavesBystander checks that what belongs to another machine of the namespace is as it was.
func (s *stage) leavesBystander(t *testing.T) {
	t.Helper()
	for _, before := range s.before {
		expect.Same(t, "a bystander's "+callOf("", before, before.GetName()), before, s.get(t, before))
	}
}

// Changes of the objects of a stage.
func hold(names ...string) func(map[string]client.Object) {
	return func(objects map[string]client.Object) {
		for _, name := range names {
			objects[name].SetFinalizers([]string{infrav1.AddressFinalizer})
		}
	}
}

// deleting has objects be deleted, which others hold too.
func deleting(names ...string) func(map[string]client.Object) {
	return func(objects map[string]client.Object) {
		for _, name := range names {
			objects[name].SetDeletionTimestamp(new(metav1.NewTime(stageTime.Add(-time.Hour))))
			objects[name].SetFinalizers(append(objects[name].GetFinalizers(), "test/other"))
		}
	}
}

func without(name string) func(map[string]client.Object) {
	return func(objects map[string]client.Object) { objects[name] = nil }
}

// second is the claim, with its address, that the cases are about.
const second = "win-0-1"

func onAddress(change func(*ipamv1.IPAddress)) func(map[string]client.Object) {
	return func(objects map[string]client.Object) {
		address, _ := objects["address "+second].(*ipamv1.IPAddress)
		change(address)
	}
}

func onClaim(change func(*ipamv1.IPAddressClaim)) func(map[string]client.Object) {
	return func(objects map[string]client.Object) {
		claim, _ := objects["claim "+second].(*ipamv1.IPAddressClaim)
		change(claim)
	}
}

func each(changes ...func(map[string]client.Object)) func(map[string]client.Object) {
	return func(objects map[string]client.Object) {
		for _, change := range changes {
			change(objects)
		}
	}
}
