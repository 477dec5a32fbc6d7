package azure

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestWokenByID: a VM that is known by Azure's own ID of it wakes its machine whatever its tags are, once for each change and as
// soon as with them; and no other machine with that identity. It costs no call more than with its tags.
func TestWokenByID(t *testing.T) {
	vm := func(p *proof) { p.ReplaceTags(armsim.VMID(p.m.Name), map[string]string{"costcenter": "4711"}) }
	calls := map[string]int{}
	for _, untagged := range []bool{false, true} {
		for name, change := range map[string]struct {
			do   func(*proof)
			soon time.Duration
		}{
			"untouched": {func(*proof) {}, 0},
			"stopped":   {func(p *proof) { p.Shutdown(armsim.VMID(p.m.Name)) }, lists.IdlePowers},
			"moved":     {func(p *proof) { p.MoveVM(armsim.VMID(p.m.Name), otherName) }, idleList},
			"removed":   {func(p *proof) { p.Vanish(armsim.VMID(p.m.Name)) }, idleList},
		} {
			t.Run(fmt.Sprintf("%s, untagged %t", name, untagged), func(t *testing.T) {
				p := newProof(t, false)
				p.runs()
				other := rival(p.m)
				_, _ = p.a.Delete(t.Context(), other)
				p.live(p.a, 90*time.Minute) // until nothing is expected any more
				if untagged {
					vm(p)
					after, keys := p.woken(20 * time.Minute)
					expect.Same(t, "woken by other tags", true, after > 0 && after <= idleList*11/10+10*time.Second)
					expect.Same(t, "who is", []cloud.Key{p.m.Key}, keys)
				}
				p.Forget()
				change.do(p)
				after, keys := p.woken(20 * time.Minute)
				if change.soon == 0 {
					expect.Same(t, "woken by nothing", 0, len(keys))
					sum := 0
					for _, n := range p.ByClass() {
						sum += n
					}
					calls[fmt.Sprint(untagged)] = sum
					return
				}
				expect.Same(t, fmt.Sprintf("woken in time: %s", after), true, after > 0 && after <= change.soon*11/10+15*time.Second)
				expect.Same(t, "who is", []cloud.Key{p.m.Key}, slices.Compact(keys))
			})
		}
	}
	t.Logf("calls in 20 minutes, by whether the VM has lost its tags: %v", calls)
	// Lists come a tenth of their time earlier or later: 30 to 38 calls. A call for each list of power states would be 20 more.
	expect.Same(t, "few more calls", true, calls["true"] <= calls["false"]+10)
}

// woken are the keys that a watch sends in a time, and how long the first takes.
func (p *proof) woken(d time.Duration) (first time.Duration, keys []cloud.Key) {
	for passed := time.Duration(0); passed < d; passed += 5 * time.Second {
		p.Advance(5 * time.Second)
		keys = append(keys, p.a.poll(p.t.Context())...)
		if len(keys) > 0 && first == 0 {
			first = passed + 5*time.Second
		}
	}
	return first, keys
}

// TestMovedAndUntagged: a VM that was moved to a group whose policy replaces its tags is found by its name and Azure's own ID of
// it.
func TestMovedAndUntagged(t *testing.T) {
	for _, restart := range []bool{false, true} {
		p := newProof(t, false)
		p.runs()
		p.live(p.a, 90*time.Minute)
		tags := p.tagsOf(p.m)
		p.ReplaceTags(armsim.VMID(p.m.Name), map[string]string{"costcenter": "4711"})
		p.live(p.a, 5*time.Minute)
		there := p.MoveVM(armsim.VMID(p.m.Name), otherName)
		if restart {
			p.restart()
			p.live(p.a, 15*time.Minute) // until no request of an earlier process can bring the VM
		}
		p.live(p.a, 3*time.Minute)
		puts, began := p.ByClass()["PUT vm"], p.Now()
		for range 100 {
			if expect.ErrorOf(p.ensure()) != nil {
				break
			}
			p.live(p.a, 5*time.Second)
		}
		expect.Same(t, "it is told within a minute", true, p.Now().Sub(began) <= time.Minute)
		told := p.refusals(20*time.Minute, func() error { return expect.ErrorOf(p.ensure()) })
		expect.Same(t, "told of the living", []string{infrav1.VMMovedReason}, reasons(told))
		told = p.refusals(20*time.Minute, p.remove)
		expect.Same(t, "told of the one that goes", []string{infrav1.VMMovedReason}, reasons(told))
		expect.Same(t, "it is there", true, p.vmExists())
		expect.Same(t, "VMs that are made", puts, p.ByClass()["PUT vm"])
		p.ReplaceTags(p.MoveVM(there, armsim.Group), tags)
		expect.Same(t, "it goes", []bool{true, false}, []bool{p.goes(), p.vmExists()})
	}
}

func reasons(told map[string]string) (all []string) {
	for reason := range told {
		all = append(all, reason)
	}
	slices.Sort(all)
	return all
}

// TestUnsearched: without the right to the list of the subscription nothing is proved gone, and the right is named. What Azure
// accepted to delete needs no such proof.
func TestUnsearched(t *testing.T) {
	refuse := func(p *proof) {
		p.Change(func(in *armsim.Inside) {
			in.Faults.Refuse = func(call armsim.Call) *armsim.Refusal {
				if call.Class != "vm status list" {
					return nil
				}
				return &armsim.Refusal{
					Status: 403, Code: "AuthorizationFailed",
					Message: "The client 'c' with object id 'o' does not have authorization to perform " +
						"action 'Microsoft.Compute/virtualMachines/read' over scope '/subscriptions/s' or the scope is invalid.",
				}
			}
		})
	}
	p := newProof(t, false)
	p.runs()
	refuse(p)
	p.Vanish(armsim.VMID(p.m.Name))
	told := p.refusals(30*time.Minute, p.remove)
	const says = "Microsoft.Compute/virtualMachines/read on /subscriptions/s"
	expect.Same(t, fmt.Sprint("it is told: ", told), true, strings.Contains(told[infrav1.CredentialsRejectedReason], says))
	p.Change(func(in *armsim.Inside) { in.Faults.Refuse = nil })
	expect.Same(t, "it goes with the right", true, p.goes())
	p = newProof(t, false)
	p.runs()
	refuse(p)
	expect.Same(t, "it goes without it", []bool{true, false}, []bool{p.goes(), p.vmExists()})
}
