package azure

import (
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/buckets"
)

// The front door takes so many writes of a principal at once, and so many a second then.
const atDoor, perSecondAtDoor = 200, 10

// perSecond is how many requests for VMs compute takes from a subscription when its bucket is empty.
const perSecond = 500. / 60

// TestFlood asks for thousands of VMs at once.
func TestFlood(t *testing.T) {
	for _, test := range []struct {
		name     string
		stranger bool
		limit    time.Duration // with all machines
	}{
		{"alone", false, 600 * time.Second}, {"with a stranger who takes half", true, 1300 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, limit := 260, 60*time.Second
			if *full {
				n, limit = 5000, test.limit
			}
			s := newStage(t)
			drain := func(share float64) {
				s.Change(func(in *armsim.Inside) { in.Buckets.Drain(buckets.PutVM, armsim.Subscription, armsim.Location, share) })
			}
			var meanwhile func()
			if test.stranger {
				drain(0.5)
				meanwhile = func() { drain(perSecond / 2 * step.Seconds() / 1500) }
			}
			s.flood(n, limit, meanwhile)
		})
	}
}

// flood asks for VMs; a machine is done when Azure has accepted its request.
func (s *stage) flood(n int, limit time.Duration, meanwhile func()) {
	s.t.Helper()
	all, begin, cpu := machines(s.t, armsim.Subscription, n), time.Now(), worked()
	took := s.drive(all, 2*limit, func(m cloud.Machine) (bool, error) {
		_, err := s.account.Ensure(s.t.Context(), m)
		return err == nil, err
	}, meanwhile)
	refused, calls := s.refused()
	s.t.Logf("%d requests took %s of the moved clock, %.1f s of ours, %.4f CPU seconds each: %d of %d calls got a 429; %v", n, took,
		time.Since(begin).Seconds(), (worked()-cpu)/float64(n), refused, calls, s.ByClass())
	s.atMost("seconds until all are requested", limit.Seconds(), took.Seconds())
	floor := float64(n-atDoor) / perSecondAtDoor
	s.t.Logf("the front door allows %.0f seconds", floor)
	if took.Seconds() < floor {
		s.t.Errorf("all were requested after %s, for which the buckets of the front door have no room", took)
	}
	s.atMost("429s of 100 calls", 1, 100*float64(refused)/float64(calls))
	if made := len(s.Names(armsim.Group, "Microsoft.Compute/virtualMachines")); made != n {
		s.t.Errorf("there are %d VMs, want %d", made, n)
	}
}
