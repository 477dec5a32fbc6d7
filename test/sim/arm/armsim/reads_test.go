package armsim_test

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// Azure's client reads the quotas of a region and what is used of them.
func TestUsages(t *testing.T) {
	c := armsim.New(t)
	s, h := sdk(t, c), newByHand(t, c)
	h.put(t, "vm")
	c.Change(func(w *armsim.Inside) { w.Compute.Faults.Cores = map[string]int{"standardDSv5Family": 10} })
	got := map[string][2]int64{}
	for pager := s.usage.NewListPager(armsim.Location, nil); pager.More(); {
		for _, one := range expect.Got(pager.NextPage(t.Context()))(t).Value {
			got[*one.Name.Value] = [2]int64{int64(*one.CurrentValue), *one.Limit}
		}
	}
	equal(t, got["standardDSv5Family"], [2]int64{4, 10})
	equal(t, got["cores"][0], int64(4))
	equal(t, got["lowPriorityCores"][0], int64(0))
}

// A subscription uses a resource provider once it is registered.
func TestProviders(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	state := func() string {
		return doc.Text(h.get(t, "/subscriptions/"+armsim.Subscription+"/providers/Microsoft.Compute").body, "registrationState")
	}
	equal(t, state(), "Registered")
	c.Change(func(w *armsim.Inside) { w.Faults.Unregistered = []string{"Microsoft.Compute"} })
	equal(t, state(), "NotRegistered")
}
