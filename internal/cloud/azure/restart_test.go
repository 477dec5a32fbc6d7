package azure

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// held lets nothing through that it holds before it is opened, and says when one waits.
type held struct {
	policy.Transporter
	holds       func(*http.Request) bool
	waits, open chan struct{}
}

func ofPowers(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "statusOnly") }

func (h held) Do(r *http.Request) (*http.Response, error) {
	if h.holds(r) {
		h.waits <- struct{}{}
		<-h.open
	}
	return h.Transporter.Do(r)
}

// TestRestartTellsNoRunningVMOff has a new process list the VMs before Azure has answered which of them run: nobody is told that
// it is not known, which would be written into the status of thousands of machines, and be taken back.
func TestRestartTellsNoRunningVMOff(t *testing.T) {
	s := newStage(t)
	m := s.machine("m")
	s.run(s.watched(), m)
	gate := held{holds: ofPowers, waits: make(chan struct{}), open: make(chan struct{})}
	s.through = func(d *door) policy.Transporter { gate.Transporter = d; return gate }
	a := s.watched()
	scope := a.lists.Scope(homeOf(m).Parent())
	listed := make(chan struct{})
	go func() { a.poll(t.Context()); close(listed) }()
	<-gate.waits
	expect.Same(t, "VMs are listed", false, scope.Unlisted())
	for range 3 {
		_, err := a.Observe(t.Context(), m)
		if pause, waits := pauseOf(err); !waits || pause != time.Second {
			t.Errorf("Observe = %v while it is not known which VMs run, want to be told to wait", err)
		}
	}
	close(gate.open)
	<-listed
	expect.Same(t, "state", cloud.Running, expect.Got(a.Observe(t.Context(), m))(t).State)
}

// TestPowersBeforeVMs has a machine wait for the second page of the first list of VMs, while the watch gets the power states of
// the subscription: they are kept, although it is not known yet that these VMs are ours.
func TestPowersBeforeVMs(t *testing.T) {
	s := newStage(t)
	s.Change(func(in *armsim.Inside) { in.Faults.PageSize = 1 })
	first, second, before := s.machine("first"), s.machine("second"), s.watched()
	s.run(before, first)
	s.run(before, second)
	another := func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/virtualMachines") && strings.Contains(r.URL.RawQuery, "oken") && !ofPowers(r)
	}
	gate := held{holds: another, waits: make(chan struct{}), open: make(chan struct{})}
	s.through = func(d *door) policy.Transporter { gate.Transporter = d; return gate }
	a := s.watched()
	told := make(chan cloud.VM)
	go func() {
		vm, err := a.Observe(t.Context(), first)
		expect.Fine(t, err)
		told <- vm
	}()
	<-gate.waits
	a.poll(t.Context())
	close(gate.open)
	vm := <-told
	expect.Same(t, "state and what is told", string(cloud.Running), string(vm.State)+vm.Detail)
}

// TestAnotherGroupAfterARestart has a new process learn of a second resource group when the power states are known: they are
// asked for again before anything is told of its VMs.
func TestAnotherGroupAfterARestart(t *testing.T) {
	s := newStage(t)
	s.AddGroup(armsim.Subscription, "others")
	here, there := s.machine("here"), s.machineIn("others", "there")
	before := s.watched()
	s.run(before, here)
	s.run(before, there)
	a := s.watched()
	for _, m := range []cloud.Machine{here, there} {
		vm := expect.Got(a.Observe(t.Context(), m))(t)
		expect.Same(t, m.Name, string(cloud.Running), string(vm.State)+vm.Detail)
	}
}
