package addresses

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestFreeLeft: of two machines in a namespace one is gone. The other may be on its way, too, and still has its VM: what is its
// own stays held.
func TestFreeLeft(t *testing.T) {
	gone := each(hold(allNames...), deleting("claim win-0-0", "claim win-0-1", "claim win-2-0"), without("machine win"),
		deleting("claim winner-0-0", "claim winner-0-1", "address winner-0-0"), func(objects map[string]client.Object) {
			objects["machine winner"].SetFinalizers([]string{infrav1.MachineFinalizer})
		}, deleting("machine winner"))
	from2 := allNames[2:]
	both := []string{"claim win-0-1", "address win-0-1"}
	for name, c := range map[string]struct {
		change func(map[string]client.Object)
		fails  string
		filter string
		want   error
		held   []string
	}{
		"all":                       {},
		"all, of this manager":      {filter: "mine"},
		"claims of another manager": {filter: "theirs", held: allNames},
		"a claim that is not deleted": {
			change: func(o map[string]client.Object) { o["claim "+second].SetDeletionTimestamp(nil) }, held: both,
		},
		"a claim of nothing": {
			change: onClaim(func(c *ipamv1.IPAddressClaim) { c.OwnerReferences = nil }), held: both,
		},
		"a claim of another kind": {
			change: onClaim(func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].Kind = "Pod" }), held: both,
		},
		"a claim of another machine": {
			change: onClaim(func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].Name = "winner" }), held: both,
		},
		"a claim that is not held": {
			change: onClaim(func(c *ipamv1.IPAddressClaim) { c.Finalizers = c.Finalizers[1:] }), held: both[1:],
		},
		"claims cannot be listed":     {fails: "list *v1beta2.IPAddressClaimList", want: errAway, held: allNames},
		"machines cannot be listed":   {fails: "list *v1beta1.WindowsMachineList", want: errAway, held: allNames},
		"an address cannot be freed":  {fails: "patch address " + second, want: errAway, held: from2},
		"the machine came back, anew": {change: func(o map[string]client.Object) { o["machine win"] = ofPools() }, held: allNames},
		"claims of a machine elsewhere": {change: func(o map[string]client.Object) {
			for _, name := range allNames {
				o[name].SetNamespace("team-b")
			}
		}, held: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, each(gone, func(objects map[string]client.Object) {
				if c.change != nil {
					c.change(objects)
				}
			}))
			s.fails[c.fails], s.WatchFilter = c.want, c.filter
			wantEnd(t, c.want, s.FreeLeft(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "win"}))
			if len(c.held) > 0 || c.held == nil {
				expect.Same(t, "held", c.held, s.heldNames(t))
			} else if len(s.calls) > 0 {
				t.Errorf("it changed %q", s.calls)
			}
			s.leavesBystander(t)
		})
	}
}

// TestNothingLeft: the API server itself is not asked about each machine that goes.
func TestNothingLeft(t *testing.T) {
	s := newStage(t, nil)
	s.fails["list *v1beta1.WindowsMachineList"] = errAway
	expect.OK(t, s.FreeLeft(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "win"}))
}

// TestFreeStray looks at one address that was freed and has our finalizer again.
func TestFreeStray(t *testing.T) {
	const stray = second
	since := func(ago time.Duration) func(map[string]client.Object) {
		return onAddress(func(a *ipamv1.IPAddress) {
			a.Finalizers, a.DeletionTimestamp = append(a.Finalizers, "test/other"), new(metav1.NewTime(stageTime.Add(-ago)))
		})
	}
	old := each(hold("address "+stray), since(strayAfter))
	at := func(address string) func(map[string]client.Object) {
		return func(objects map[string]client.Object) {
			winner, _ := objects["machine winner"].(*infrav1.WindowsMachine)
			winner.Status.NetworkInterfaces = []infrav1.MachineNetworkInterface{{Addresses: []infrav1.NetworkAddress{{Address: address}}}}
		}
	}
	later := ctrl.Result{RequeueAfter: time.Minute}
	unheld := apierrors.NewNotFound(schema.GroupResource{Resource: "ipaddresses"}, stray)
	changed := apierrors.NewConflict(schema.GroupResource{Resource: "ipaddresses"}, stray, nil)
	for name, c := range map[string]struct {
		change  func(map[string]client.Object)
		fails   string
		with    error
		want    error
		result  ctrl.Result
		patched bool
	}{
		"a stray":     {change: old, patched: true},
		"gone":        {change: without("address " + stray)},
		"not deleted": {change: hold("address " + stray)},
		"not held":    {change: since(time.Hour), fails: "get claim " + stray, with: errAway}, // no look at anything else
		"not for long": {
			change: each(hold("address "+stray), since(strayAfter-time.Second)), result: ctrl.Result{RequeueAfter: time.Second},
		},
		"held by claim": {change: each(old, hold("claim "+stray)), result: later},
		"by one without a status": {
			change: each(old, hold("claim "+stray), onClaim(noStatus)),
			result: later,
		},
		"by one that leads elsewhere": {
			change:  each(old, hold("claim "+stray), onClaim(func(c *ipamv1.IPAddressClaim) { c.Status.AddressRef.Name = "x" })),
			patched: true,
		},
		"a claim that is not there": {change: each(old, without("claim "+stray)), patched: true},
		"a machine has it":          {change: each(old, at("10.0.1.5/24")), result: later},
		"a machine that goes, with its VM": {
			change: each(old, at("10.0.1.5/24"), func(objects map[string]client.Object) {
				objects["machine winner"].SetFinalizers([]string{infrav1.MachineFinalizer})
			}, deleting("machine winner")),
			result: later,
		},
		"a machine whose VM is gone": {change: each(old, at("10.0.1.5/24"), func(objects map[string]client.Object) {
			objects["machine winner"].SetFinalizers(nil)
		}, deleting("machine winner")), patched: true},
		"a machine has another":      {change: each(old, at("10.0.1.6/24")), patched: true},
		"a machine has what is none": {change: each(old, at("10.0.1.5")), patched: true},
		"nonsense, as a machine has": {
			change:  each(old, onAddress(func(a *ipamv1.IPAddress) { a.Spec.Address = "nonsense" }), at("nonsense")),
			patched: true,
		},
		"it cannot be read":         {change: old, fails: "get address " + stray, with: errAway, want: errAway},
		"its claim cannot be read":  {change: old, fails: "get claim " + stray, with: errAway, want: errAway},
		"machines cannot be listed": {change: old, fails: "list *v1beta1.WindowsMachineList", with: errAway, want: errAway},
		"it cannot be freed":        {change: old, fails: "patch address " + stray, with: errAway, want: errAway, patched: true},
		"it goes at that time":      {change: old, fails: "patch address " + stray, with: unheld, patched: true},
		"it is changed at that time": {
			change: old, fails: "patch address " + stray, with: changed, patched: true,
			result: ctrl.Result{Requeue: true}, //nolint:staticcheck // it asks for the limiter
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.change)
			s.fails[c.fails] = c.with
			freed := 0
			log := funcr.New(func(string, string) { freed++ }, funcr.Options{})
			request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team-a", Name: stray}}
			result, err := s.freeStray(ctrl.LoggerInto(t.Context(), log), request)
			if (err == nil) != (c.want == nil) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			expect.Same(t, "result", c.result, result)
			if (len(s.calls) > 0) != c.patched {
				t.Errorf("it changed %q", s.calls)
			}
			if (freed > 0) != (c.patched && c.with == nil) {
				t.Errorf("the log has %d lines", freed)
			}
			s.leavesBystander(t)
		})
	}
}

// The claim in the API server itself is asked before an address is freed: the cache may be behind.
func TestStrayInTheCacheAlone(t *testing.T) {
	const stray = second
	old := each(hold("address "+stray), deleting("address "+stray))
	behind, live := newStage(t, old), newStage(t, each(old, hold("claim "+stray)))
	ahead := *live.Pools
	ahead.Live, behind.Live = behind.Client, live.Client
	expect.Same(t, "in use", true, expect.Got(behind.inUse(t.Context(), strayIn(t, behind)))(t))
	expect.Same(t, "in use, as the cache knows", true, expect.Got(ahead.inUse(t.Context(), strayIn(t, live)))(t))
	live.fails["get claim "+stray] = errAway
	if _, err := ahead.inUse(t.Context(), strayIn(t, live)); err == nil {
		t.Error("the cache does not answer, and the address is free")
	}
	if _, err := behind.inUse(t.Context(), strayIn(t, behind)); err == nil {
		t.Error("the API server does not answer, and the address is free")
	}
}

func strayIn(t *testing.T, s *stage) *ipamv1.IPAddress {
	t.Helper()
	address, _ := s.get(t, &ipamv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: second}}).(*ipamv1.IPAddress)
	return address
}

// TestOthers: of what a guest tells, only an address that a pool gave to another machine of the namespace is not its own.
func TestOthers(t *testing.T) {
	s := newStage(t, func(objects map[string]client.Object) {
		elsewhere := addressOf(&ipamv1.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: "x"}}, "10.9.9.9")
		objects["address x"] = elsewhere
	})
	told := func(texts ...string) (all []netip.Addr) {
		for _, text := range texts {
			all = append(all, netip.MustParseAddr(text))
		}
		return all
	}
	got := expect.Got(s.Others(t.Context(), s.windows, told("10.0.0.5", "10.1.0.5", "10.5.5.5", "10.9.9.9", "10.1.2.5")))(t)
	if want := told("10.1.0.5", "10.1.2.5"); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
	s.fails["list *v1beta2.IPAddressList"] = errAway
	_, err := s.Others(t.Context(), s.windows, told("10.0.0.5"))
	wantEnd(t, errAway, err)
}

// TestClaim asks for what is missing, once, and tells what it waits for.
func TestClaim(t *testing.T) {
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "ipaddressclaims"}, second)
	fresh := "IPAddressClaim win-0-1 was created a moment ago; waiting for it to appear in the cache"
	for name, c := range map[string]struct {
		change func(map[string]client.Object)
		fails  string
		with   error
		reason string
		says   string
		calls  []string
		after  time.Duration // of the next look
	}{
		"all there": {},
		"one missing": {
			change: without("claim " + second), reason: "WaitingForIPAddress", says: "IPAddressClaim win-0-1",
			calls: []string{"create claim win-0-1"}, after: 5 * time.Second,
		},
		"one not in the cache": {
			change: without("claim " + second), fails: "create claim " + second, with: exists, reason: "WaitingForIPAddress",
			says: fresh, calls: []string{"create claim win-0-1"}, after: 5 * time.Second,
		},
		"one cannot be created": {
			change: without("claim " + second), fails: "create claim " + second, with: errAway, reason: "InternalError",
			calls: []string{"create claim win-0-1"},
		},
		"one cannot be read": {fails: "get claim " + second, with: errAway, reason: "InternalError"},
		"no address": {
			change: without("address " + second), reason: "WaitingForIPAddress",
			says: "IPAddressClaim win-0-1 refers to IPAddress win-0-1, which does not exist", after: 5 * time.Second,
		},
		"useless address": {
			change: onAddress(func(a *ipamv1.IPAddress) { a.Spec.Prefix = nil }), reason: "SpecInvalid",
			says: "IPAddress win-0-1: no valid address with a prefix length; correct pool six, then delete IPAddressClaim win-0-1, " +
				"and the machine creates a new one", after: 2 * time.Minute,
		},
		"address cannot be read": {fails: "get address " + second, with: errAway, reason: "InternalError"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.change)
			s.fails[c.fails] = c.with
			found, err := s.Claim(t.Context(), s.windows, blue)
			stop := phase.Of(err)
			if stop.Reason != c.reason || !strings.Contains(stop.Message, c.says) || (c.reason == "") != (len(found) == 3) {
				t.Errorf("stop %+v, found %+v", stop, found)
			}
			expect.Same(t, "next look", c.after, stop.After)
			expect.Same(t, "stalled", c.after == 2*time.Minute, stop.Stalled)
			expect.Same(t, "calls", c.calls, s.calls)
			s.leavesBystander(t)
		})
	}
	s := newStage(t, nil)
	found := expect.Got(s.Claim(t.Context(), s.windows, blue))(t)
	want := []infrav1.MachineNetworkInterface{
		{
			Name: "node", MACAddress: "00:50:56:00:00:05",
			Addresses: []infrav1.NetworkAddress{{Address: "10.0.0.5/24"}, {Address: "10.0.1.5/24"}},
		},
		{Name: "other", MACAddress: found[1].MACAddress},
		{Name: "storage", MACAddress: "00:50:56:08:02:05", Addresses: []infrav1.NetworkAddress{{Address: "10.0.2.5/24"}}},
	}
	expect.Same(t, "interfaces", want, found)
	s.windows.Status.NetworkInterfaces = want
	s.fails["get claim win-0-0"] = errAway
	expect.Same(t, "what is in the status", want, expect.Got(s.Claim(t.Context(), s.windows, &clusterv1.Cluster{}))(t))
}

// TestParse: a prefix length that is missing, or does not fit, is no address.
func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		address, gateway string
		prefix           *int32
		want             string // the address, or how the problem begins
	}{
		"IPv4":        {"10.0.0.5", "10.0.0.1", new(int32(24)), "10.0.0.5/24"},
		"IPv6":        {"fd00::5", "", new(int32(64)), "fd00::5/64"},
		"no prefix":   {"10.0.0.5", "", nil, "no valid address"},
		"too long":    {"10.0.0.5", "", new(int32(33)), "no valid address"},
		"a name":      {"node-1", "", new(int32(24)), "no valid address"},
		"a zone":      {"fe80::1%eth0", "", new(int32(64)), "no valid address"},
		"far gateway": {"10.0.0.5", "10.1.0.1", new(int32(24)), "gateway 10.1.0.1 is not in the network"},
	} {
		found, problem := parse(&ipamv1.IPAddress{Spec: ipamv1.IPAddressSpec{Address: c.address, Prefix: c.prefix, Gateway: c.gateway}})
		got := problem
		if problem == "" {
			got = found.Address
			expect.Same(t, name+": gateway", c.gateway, found.Gateway)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
