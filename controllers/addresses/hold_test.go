package addresses

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var allNames = []string{
	"claim win-0-0", "address win-0-0", "claim win-0-1", "address win-0-1", "claim win-2-0", "address win-2-0",
}

// first of the claims alone, which is before the one of the cases.
var firstNames = allNames[:2]

// TestHold has the address of the second claim change between its choice and the VM, or a call for it fail.
func TestHold(t *testing.T) {
	lost := func(how string) error {
		return phase.Stall(infrav1.AddressLostReason,
			"address 10.0.1.5/24 of IPAddressClaim win-0-1 was %s before the VM was created, "+
				"but the user data contains it; delete the Machine to get a new one", how)
	}
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "ipaddresses"}, second)
	for name, c := range map[string]struct {
		change func(map[string]client.Object)
		fails  string
		with   error
		want   error // nil if all is held
		held   []string
	}{
		"all there":             {held: allNames},
		"another address":       {change: onAddress(func(a *ipamv1.IPAddress) { a.Spec.Address = "10.0.1.6" }), want: lost("changed")},
		"another prefix length": {change: onAddress(func(a *ipamv1.IPAddress) { *a.Spec.Prefix = 25 }), want: lost("changed")},
		"a gateway":             {change: onAddress(func(a *ipamv1.IPAddress) { a.Spec.Gateway = "10.0.1.1" }), want: lost("changed")},
		"no prefix length":      {change: onAddress(func(a *ipamv1.IPAddress) { a.Spec.Prefix = nil }), want: lost("taken away")},
		"no address":            {change: without("address " + second), want: lost("taken away")},
		"no claim":              {change: without("claim " + second), want: lost("taken away")},
		"claim of another": {
			change: onClaim(func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].UID = "uid-0" }), want: lost("taken away"),
		},
		"claim without address": {
			change: onClaim(noStatus), want: lost("taken away"), fails: "get address ", with: errAway, // nothing to read
		},
		"claim deleted":   {change: deleting("claim " + second), want: lost("taken away")},
		"address deleted": {change: deleting("address " + second), want: lost("taken away")},
		"deleted, and held for long": {
			change: each(hold("claim "+second, "address "+second), deleting("claim "+second, "address "+second)), held: allNames,
		},
		"deleted, and only the claim is held": {
			change: each(hold("claim "+second), deleting("claim "+second, "address "+second)), want: lost("taken away"),
			held: append(firstNames[:2:2], "claim win-0-1"),
		},
		"deleted, and only the address is held": {
			change: each(hold("address "+second), deleting("claim "+second)), want: lost("taken away"),
			held: append(firstNames[:2:2], "address win-0-1"),
		},
		"claim cannot be read":      {fails: "get claim " + second, with: errAway, want: errAway},
		"address cannot be read":    {fails: "get address " + second, with: errAway, want: errAway},
		"claim cannot be held":      {fails: "patch claim " + second, with: errAway, want: errAway},
		"address cannot be held":    {fails: "patch address " + second, with: errAway, want: errAway, held: allNames[:3]},
		"address goes at that time": {fails: "patch address " + second, with: gone, want: lost("taken away"), held: allNames[:3]},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.change)
			s.fails[c.fails] = c.with
			err := s.Hold(t.Context(), s.windows, s.known)
			wantEnd(t, c.want, err)
			if c.held == nil {
				c.held = firstNames
			}
			expect.Same(t, "held", c.held, s.heldNames(t))
			s.leavesBystander(t)
		})
	}
}

// noStatus is a claim as a restore or a move leaves it.
func noStatus(c *ipamv1.IPAddressClaim) { c.Status = ipamv1.IPAddressClaimStatus{} }

// wantEnd compares stops whole; of another error it wants that it is passed on, and no stop.
func wantEnd(t *testing.T, want, got error) {
	t.Helper()
	stop := phase.Of(want)
	if stop.Err == nil {
		expect.Same(t, "stop", stop, phase.Of(got))
		return
	}
	if apierrors.ReasonForError(got) != apierrors.ReasonForError(want) || phase.Of(got).Err == nil {
		t.Errorf("the end is %v, want %v", got, want)
	}
}

// TestFree frees what is held, and nothing of which the end is not known.
func TestFree(t *testing.T) {
	from2 := allNames[2:]
	for name, c := range map[string]struct {
		change func(map[string]client.Object)
		fails  string
		want   error
		held   []string
	}{
		"all":        {},
		"no claim":   {change: without("claim " + second), held: []string{"address win-0-1"}},
		"no address": {change: without("address " + second)},
		"claim not held": {
			change: onClaim(func(c *ipamv1.IPAddressClaim) { c.Finalizers = nil }), held: []string{"address win-0-1"},
		},
		"claim of a restore": {change: onClaim(func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].UID = "uid-0" })},
		"status lost":        {change: onClaim(noStatus)},
		"status lost, and the address is another's": {
			change: each(onClaim(noStatus), onAddress(func(a *ipamv1.IPAddress) { a.Spec.ClaimRef.Name = "winner-0-1" })),
			held:   []string{"address win-0-1"},
		},
		"address names no claim":  {change: onAddress(func(a *ipamv1.IPAddress) { a.Spec.ClaimRef.Name = "" })},
		"claim cannot be read":    {fails: "get claim " + second, want: errAway, held: from2},
		"address cannot be read":  {fails: "get address " + second, want: errAway, held: from2},
		"address cannot be freed": {fails: "patch address " + second, want: errAway, held: from2},
		"claim cannot be freed": {
			fails: "patch claim " + second, want: errAway, held: append([]string{"claim win-0-1"}, allNames[4:]...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, each(hold(allNames...), func(objects map[string]client.Object) {
				if c.change != nil {
					c.change(objects)
				}
			}))
			s.fails[c.fails] = c.want
			wantEnd(t, c.want, s.Free(t.Context(), s.windows))
			expect.Same(t, "held", c.held, s.heldNames(t))
			s.leavesBystander(t)
		})
	}
}

// TestReadBack reads the adapters of a machine that lost its status, from claims that it holds.
func TestReadBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(map[string]client.Object)
		fails  string
		want   error
		found  bool
	}{
		"all held":         {found: true},
		"one not held":     {change: onClaim(func(c *ipamv1.IPAddressClaim) { c.Finalizers = nil })},
		"one not there":    {change: without("claim " + second)},
		"one is another's": {change: onClaim(func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].UID = "uid-0" })},
		"one has no address": {
			change: onClaim(func(c *ipamv1.IPAddressClaim) { c.Status = ipamv1.IPAddressClaimStatus{} }),
		},
		"an address is gone":        {change: without("address " + second)},
		"an address is useless":     {change: onAddress(func(a *ipamv1.IPAddress) { a.Spec.Prefix = nil })},
		"a claim cannot be read":    {fails: "get claim " + second, want: errAway},
		"an address cannot be read": {fails: "get address " + second, want: errAway},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, each(hold(allNames...), func(objects map[string]client.Object) {
				if c.change != nil {
					c.change(objects)
				}
			}))
			s.fails[c.fails] = c.want
			found, err := s.ReadBack(t.Context(), s.windows)
			wantEnd(t, c.want, err)
			if (len(found) == 3) != c.found || len(found) != 0 && len(found) != 3 {
				t.Errorf("found %+v", found)
			}
			if len(s.calls) > 0 {
				t.Errorf("it changed %q", s.calls)
			}
		})
	}
	s := newStage(t, hold(allNames...))
	s.windows.Status.NetworkInterfaces = s.known
	s.windows.Status.NetworkInterfaces[0].MACAddress = "00:50:56:00:00:05"
	if found, err := s.ReadBack(t.Context(), s.windows); found != nil || err != nil {
		t.Errorf("what is in the status is read again: %v, %v", found, err)
	}
}
