package azure

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

var errDied = errors.New("the process has died")

// process is all that one account sends. It dies at one of its calls: before it is sent, or when its answer is about to come.
type process struct {
	*door
	calls, dies int
	after, dead bool
}

func (p *process) Do(r *http.Request) (*http.Response, error) {
	if p.dead {
		return nil, errDied
	}
	p.calls++
	p.dead = p.calls == p.dies
	if p.dead && !p.after {
		return nil, errDied
	}
	answer, err := p.door.Do(r)
	if p.dead && err == nil {
		_ = answer.Body.Close()
		return nil, errDied
	}
	return answer, err
}

// mortal is a machine in the hands of one process after another. Another machine and things of strangers stand beside it.
type mortal struct {
	*stage
	t          *testing.T
	m, another cloud.Machine
	before     map[string]string
	account    *account
	process    *process
	died       bool
	told       int // adapters that stay, and are told
}

// newMortal has a first process that dies at that call; at 0 it lives on.
func newMortal(t *testing.T, dies int, after bool) *mortal {
	t.Helper()
	l := &mortal{stage: newStage(t), t: t}
	l.another = l.machine("another")
	l.run(l.watched(), l.another)
	l.Change(func(in *armsim.Inside) {
		for provider, kind := range map[string]string{network.Provider: "networkInterfaces", compute.Provider: "disks"} {
			id := doc.Resource(armsim.Subscription, armsim.Group, provider, kind, "strangers")
			in.World.Put(id, doc.Object{"location": armsim.Location, "properties": doc.Object{}})
		}
	})
	l.Advance(time.Hour)
	l.Change(func(in *armsim.Inside) { in.World.Lag.List, in.World.Lag.Get = 30*time.Second, 10*time.Second })
	l.before = l.things()
	l.Forget()
	l.through = func(d *door) policy.Transporter {
		l.process = &process{door: d, dies: dies, after: after}
		dies = 0
		return l.process
	}
	l.account = l.watched()
	l.m = l.machine("m")
	return l
}

// things are all VMs, disks, adapters and public IPs of the group, as they are.
func (s *stage) things() map[string]string {
	all := map[string]string{}
	s.Change(func(in *armsim.Inside) {
		for _, kind := range []string{compute.VM, compute.Disk, network.NIC, network.PublicIP} {
			for _, r := range in.World.All(world.Kind{Type: kind, Subscription: armsim.Subscription, Group: armsim.Group}) {
				content, _ := json.Marshal(r.Body)
				all[r.ID.String()] = string(content) + r.Etag()
			}
		}
	})
	return all
}

// until does it again and again while time passes, in the process that lives.
func (l *mortal) until(what string, step time.Duration, do func() (over bool)) {
	l.t.Helper()
	for range 200 {
		over := do()
		if !l.process.dead && over {
			return
		}
		l.Advance(step)
		l.look()
		if l.process.dead {
			l.died = true
			l.account, l.m.Asked = l.watched(), cloud.MaybeAsked
		}
	}
	l.t.Fatalf("it does not come about: %s; what there is (-before +now):\n%s", what, cmp.Diff(l.before, l.things()))
}

// look has the watch look at all lists, and sweep every ten minutes to the second, so that each life has the same calls.
func (l *mortal) look() {
	_, _ = l.account.Observe(l.t.Context(), l.another)
	sweeps := map[*lists.Scope]time.Time{}
	for _, s := range l.account.lists.AllScopes() {
		s.Do(func(state *lists.State) {
			state.Due[lists.VMs], state.Due[lists.Addresses], sweeps[s] = time.Time{}, time.Time{}, state.Due[lists.Remnants]
		})
	}
	for _, p := range l.account.lists.AllPowers() {
		p.Postpone(time.Time{})
	}
	l.account.poll(l.t.Context())
	for s, was := range sweeps {
		s.Do(func(state *lists.State) {
			if state.Due[lists.Remnants] != was {
				state.Due[lists.Remnants] = l.Now().Add(sweepEvery)
			}
		})
	}
}

// keep has the status keep what an answer says of the VM, unless the process has died before.
func (l *mortal) keep(vm cloud.VM, err error) (cloud.VM, error) {
	if !l.process.dead && vm.Record != nil {
		l.m.Record = *vm.Record
	}
	return vm, err
}

// running waits until the VM runs.
func (l *mortal) running() {
	l.t.Helper()
	l.until("the VM runs", 15*time.Second, func() bool {
		vm, err := l.keep(l.account.Ensure(l.t.Context(), l.m))
		return err == nil && vm.State == cloud.Running && len(vm.Addresses) == 3
	})
	l.m.Asked = cloud.Existed
	refused := l.requests() - 1 // Azure keeps the adapter of a VM that it had no room for a while
	if n := len(l.things()) - len(l.before); n < 3 || n > 3+refused {
		l.t.Errorf("there are %d things more, want a VM, a disk and an adapter, and %d of those refused at most", n, refused)
	}
}

// recorded waits until the status has Azure's own ID of the disk.
func (l *mortal) recorded() {
	l.t.Helper()
	l.until("the disk is written down", 5*time.Minute, func() bool {
		_, _ = l.keep(l.account.Ensure(l.t.Context(), l.m)) // it may have died
		return len(l.m.Record.Azure.Disks) > 0
	})
}

func (l *mortal) removed() { l.removedWith(45 * time.Second) }

func (l *mortal) removedWith(step time.Duration) {
	l.t.Helper()
	l.until("the VM is gone", step, func() bool {
		return errors.Is(expect.ErrorOf(l.keep(l.account.Delete(l.t.Context(), l.m))), cloud.ErrNotFound)
	})
}

// swept waits until the watch has removed what a removal left, or tells of it: what a process knew of a try that failed is lost
// with the process.
func (l *mortal) swept() {
	l.t.Helper()
	l.until("nothing is left, or it is told", 5*time.Minute, func() bool {
		told, _ := l.account.Marked()
		l.told = 0
		for _, one := range told {
			if one.Kind == belongings.Adapter && one.Key == l.m.Key {
				l.told++
			}
		}
		return len(l.things()) == len(l.before)+l.told && (l.told == 0 || l.died)
	})
}

// requests are the accepted requests for the machine's VM: it was made again only after a removal.
func (l *mortal) requests() (made int) {
	there := false
	for _, c := range l.Calls() {
		switch {
		case c.Class != "vm" || c.Resource != l.m.Name || c.Status >= http.StatusMultipleChoices:
		case c.Method == http.MethodDelete:
			there = false
		case c.Method == http.MethodPut:
			if there {
				l.t.Error("the VM was made while it was there")
			}
			there = true
			made++
		}
	}
	return made
}

// life is a way that a machine's life may take.
type life struct {
	name string
	// most is how many VMs are made at most, one after the other.
	most int
	none bool // no VM is made
	live func(*mortal)
}

var lives = []life{
	{name: "made and removed", most: 1, live: func(l *mortal) {
		l.running()
		l.removed()
	}},
	{name: "no room for the first size", most: 3, live: func(l *mortal) {
		l.Change(func(in *armsim.Inside) {
			in.Compute.Faults.Full = func(size, _ string) string {
				if size == "Standard_D4s_v5" {
					return "AllocationFailed"
				}
				return ""
			}
		})
		l.m.Spec.Azure.FallbackVMSizes = append(l.m.Spec.Azure.FallbackVMSizes, "Standard_D8s_v5")
		l.running()
		l.removed()
		l.swept()
	}},
	{name: "a removal that leaves the adapter and the disk", most: 1, live: func(l *mortal) {
		l.running()
		l.recorded()
		l.Change(func(in *armsim.Inside) { in.Network.Leave, in.Compute.Faults.LeaveDisks = true, true })
		l.removedWith(5 * time.Minute)
	}},
	{name: "an adapter before its VM", most: 1, live: func(l *mortal) {
		l.m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
		l.running()
		l.removed()
	}},
	{name: "an adapter whose VM never comes", none: true, live: func(l *mortal) {
		l.m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
		l.until("the adapter is made", time.Second, func() bool {
			_, err := l.keep(l.account.Ensure(l.t.Context(), l.m))
			waits := cloud.IsLater(err)
			return waits
		})
		l.removed()
		l.swept()
	}},
}

// lived lives a life, and says how many calls its first process made.
func lived(t *testing.T, of life, dies int, after bool) (calls int) {
	t.Helper()
	l := newMortal(t, dies, after)
	first := l.process
	of.live(l)
	if dies > 0 && !first.dead {
		t.Error("the process did not die")
	}
	if made := l.requests(); (made < 1 && !of.none) || made > of.most {
		t.Errorf("%d VMs were made, want at least one and at most %d", made, of.most)
	}
	if diff := cmp.Diff(l.before, l.things()); diff != "" && l.told == 0 {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
	return first.calls
}

// TestCrashes has the process die before and after each of its calls. One that remembers nothing takes over.
func TestCrashes(t *testing.T) {
	crashes := 0
	for _, of := range lives {
		calls := lived(t, of, 0, false)
		crashes += 2 * calls
		for n := range calls {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/call %d, done %t", of.name, n+1, after), func(t *testing.T) {
					lived(t, of, n+1, after)
				})
			}
		}
	}
	fmt.Fprintf(os.Stderr, "crashes: %d\n", crashes)
	expect.Same(t, "crashes", 404, crashes)
}
