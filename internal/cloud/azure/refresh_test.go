package azure

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// names are those of keys, in order.
func names(keys []cloud.Key) string {
	var all []string
	for _, key := range keys {
		all = append(all, key.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestGroupThatIsMissed: it counts that a group does not exist, once in 15 seconds, and while the subscription answers.
func TestGroupThatIsMissed(t *testing.T) {
	s := newStage(t)
	a := s.account()
	at := a.lists.Scope(arm.GroupID(armsim.Subscription, "nowhere"))
	for _, step := range []struct{ after, times int }{{0, 1}, {14, 1}, {1, 2}} {
		s.Advance(time.Duration(step.after) * time.Second)
		keys, err := a.listVMs(t.Context(), at)
		expect.OK(t, err)
		expect.Same(t, "keys", 0, len(keys))
		expect.Same(t, "times", step.times, stateIn(at).Missed.Times)
	}
	expect.Same(t, "it is listed", false, stateIn(at).Listed.IsZero())
	unknown := a.lists.Scope(arm.GroupID("22222222-2222-3333-4444-555555555555", "nowhere"))
	_, _ = a.listVMs(t.Context(), unknown)
	expect.Same(t, "times in a subscription that is not ours", 0, stateIn(unknown).Missed.Times)
	stateIn(at).Listing = true
	_, err := a.listVMs(t.Context(), at)
	expect.Says(t, "who comes meanwhile", err, "waiting for Azure's list of VMs")
}

// TestSweepThatWaits: a sweep whose next list has to wait goes on with it, and is due when its turn comes.
func TestSweepThatWaits(t *testing.T) {
	s := newStage(t)
	a := s.account()
	at := a.lists.Scope(arm.GroupID(armsim.Subscription, armsim.Group))
	_, err := a.listVMs(t.Context(), at)
	expect.OK(t, err)
	began := s.Now()
	stateIn(at).Sweeping = lists.Sweeping{Began: began, Adapters: []lists.Resource{}}
	silence(a, limiter.ListNetwork)
	a.pollRest(t.Context(), at)
	expect.Same(t, "due in a minute", true, stateIn(at).Due[lists.Remnants].Sub(s.Now()) <= time.Minute)
	expect.Same(t, "what was read is kept", true, stateIn(at).Sweeping.Adapters != nil && stateIn(at).Sweeping.Disks == nil)
	expect.Same(t, "swept", true, stateIn(at).Swept.IsZero())
	s.Advance(time.Minute + time.Second)
	a.pollRest(t.Context(), at)
	expect.Same(t, "swept since the first list", began, stateIn(at).Swept)
	expect.Same(t, "lists of adapters", 0, s.ByClass()["GET nic list"])
	expect.Same(t, "lists of disks", 1, s.ByClass()["GET disk list"])
	expect.Same(t, "nothing is kept", true, stateIn(at).Sweeping.Adapters == nil)
}

// TestAddressesThatAreHidden: the right that is missing is remembered, and forgotten when it is there.
func TestAddressesThatAreHidden(t *testing.T) {
	s := newStage(t)
	a := s.account()
	at := a.lists.Scope(arm.GroupID(armsim.Subscription, armsim.Group))
	without("Microsoft.Network/networkInterfaces/read")(s, nil)
	_, err := a.listAddresses(t.Context(), at)
	expect.Says(t, "addresses", err, "Microsoft.Network/networkInterfaces/read")
	expect.Same(t, "the right is missing", true, stateIn(at).Refused[lists.AdapterList] != nil)
	without()(s, nil)
	_, err = a.listAddresses(t.Context(), at)
	expect.OK(t, err)
	expect.Same(t, "the right is missing still", false, stateIn(at).Refused[lists.AdapterList] != nil)
}

// TestRequestThatWaits: a request that was not sent is none.
func TestRequestThatWaits(t *testing.T) {
	s := newStage(t)
	a, m := s.account(), s.machine("m")
	silence(a, limiter.PutVM)
	var err error
	for range 5 {
		_, err = a.Ensure(t.Context(), m)
		s.Advance(5 * time.Second)
	}
	waits := cloud.IsLater(err)
	expect.Same(t, "it waits for its turn", true, waits)
	expect.Same(t, "a request", next.Put{}, a.ledger.recall(m).Put)
	s.Advance(time.Minute)
	for range 5 {
		_, err = a.Ensure(t.Context(), m)
		s.Advance(5 * time.Second)
	}
	expect.OK(t, err)
	expect.Same(t, "a request in its turn", next.Accepted, a.ledger.recall(m).Put.Answer)
	silence(a, limiter.DeleteVM)
	waits = cloud.IsLater(expect.ErrorOf(a.Delete(t.Context(), m)))
	expect.Same(t, "a deletion waits for its turn", true, waits)
	expect.Same(t, "a deletion", next.Delete{}, a.ledger.recall(m).Delete)
}
