package azure

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// ends deletes the machine until it is let go, and returns what is reported then and before.
func (p *proof) ends() (last cloud.VM, deletions []infrav1.CloudDeletion) {
	p.t.Helper()
	for range 200 {
		vm, err := p.keep(p.a.Delete(p.t.Context(), p.m))
		deletions = append(deletions, p.m.Record.Azure.Deletion)
		if errors.Is(err, cloud.ErrNotFound) {
			return vm, deletions
		}
		p.live(p.a, 30*time.Second)
	}
	p.t.Fatal("it is not let go")
	return cloud.VM{}, nil
}

// TestWhatIsLeftIsTold: a machine that goes after Azure accepted our deletion leaves nothing to look for, in this process or the
// next. One whose VM nothing of ours ended says what to look for, each time.
func TestWhatIsLeftIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(p *proof)
		left  bool
	}{
		"deleted": {func(p *proof) { p.runs() }, false},
		"deleted by the process before": {func(p *proof) {
			p.runs()
			expect.OK(p.t, p.remove())
			expect.Same(p.t, "it is written down at once", infrav1.DeletionAccepted, p.m.Record.Azure.Deletion)
			p.live(p.a, 20*time.Minute)
			p.restart()
		}, false},
		"never asked for":      {func(*proof) {}, false},
		"perhaps asked for":    {func(p *proof) { p.restart() }, true},
		"removed by hand":      {func(p *proof) { p.runs(); p.Vanish(armsim.VMID(p.m.Name)) }, true},
		"removed, and unknown": {func(p *proof) { p.runs(); p.Vanish(armsim.VMID(p.m.Name)); p.restart() }, true},
		"accepted, and gone": {func(p *proof) {
			expect.Got(p.ensure())(p.t)
			p.Vanish(armsim.VMID(p.m.Name))
			p.live(p.a, 20*time.Minute)
		}, true},
		"refused": {func(p *proof) {
			p.Change(func(in *armsim.Inside) {
				in.Faults.Refuse = func(call armsim.Call) *armsim.Refusal {
					if call.Method != http.MethodPut {
						return nil
					}
					return &armsim.Refusal{Status: http.StatusBadRequest, Code: "InvalidParameter", Message: "no"}
				}
			})
			_, _ = p.ensure()
		}, false},
		"had no room": {func(p *proof) {
			p.Change(func(in *armsim.Inside) {
				in.Compute.Faults.Full = func(string, string) string { return "AllocationFailed" }
			})
			p.lives(30 * time.Minute)
			expect.Same(p.t, "a deletion is of the VM before", infrav1.CloudDeletion(""), p.m.Record.Azure.Deletion)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProof(t, false)
			c.begin(p)
			known := p.m.Record.Azure.VMID
			vm, _ := p.ends()
			expect.Same(t, "something may be left: "+vm.Left, c.left, vm.Left != "")
			for _, says := range []string{p.m.Name, "\"" + armsim.Group + "\"", known, "capwin-providerid=" + p.m.ProviderID} {
				expect.Same(t, says+" is in "+vm.Left, c.left, strings.Contains(vm.Left, says) && vm.Left != "")
			}
			again, err := p.a.Delete(t.Context(), p.m)
			expect.Same(t, "what is told again, as logs have it", cloud.VM{Left: vm.Left}, again)
			expect.Same(t, "it is gone still", true, errors.Is(err, cloud.ErrNotFound))
		})
	}
}

// TestLeftOf: a machine that is let go may have a VM somewhere if this process asked for one, and nothing says what came of that,
// or if there was one: also when its object says that nobody ever asked.
func TestLeftOf(t *testing.T) {
	for name, c := range map[string]struct {
		work work
		left bool
	}{
		"nothing was asked":         {work{}, false},
		"Azure refused it":          {work{Memory: next.Memory{Put: next.Put{Answer: next.Refused}}}, false},
		"Azure accepted it":         {work{Memory: next.Memory{Put: next.Put{Answer: next.Accepted}}}, true},
		"the answer was lost":       {work{Memory: next.Memory{Put: next.Put{Answer: next.Lost}}}, true},
		"an answer before was lost": {work{Memory: next.Memory{Lost: blue.Noon, Put: next.Put{Answer: next.Refused}}}, true},
		"it was there":              {work{existed: true}, true},
		"it had an ID":              {work{record: &infrav1.AzureRecord{VMID: blue.ID}}, true},
		"we removed it":             {work{existed: true, removed: true}, false},
	} {
		m := blue.Machine()
		m.Asked = cloud.NeverAsked
		expect.Same(t, name, c.left, leftOf(m, c.work) != "")
	}
}

// TestDeletionOfAnotherVM: that Azure accepted the deletion of a VM that had no room says nothing of the one that follows.
func TestDeletionOfAnotherVM(t *testing.T) {
	p := newProof(t, false)
	p.m.Spec.Azure.FallbackVMSizes = []string{"Standard_D4as_v5"}
	p.Change(func(in *armsim.Inside) {
		in.Compute.Faults.Full = func(size, _ string) string {
			return map[string]string{"Standard_D4s_v5": "AllocationFailed"}[size]
		}
	})
	p.runs()
	expect.Same(t, "a deletion is known", infrav1.CloudDeletion(""), p.m.Record.Azure.Deletion)
	p.restart()
	p.ReplaceTags(p.MoveVM(armsim.VMID(p.m.Name), otherName), nil)
	told := p.refusals(30*time.Minute, p.remove)
	expect.Same(t, "told", []string{infrav1.VMMovedReason}, reasons(told))
}

// TestAnotherID: a VM with all marks of the machine and another ID than its VM's may be a copy, or the VM of a try that a
// restored status does not know. It is held and told with both IDs; nothing of it is reported; and it is no taken name.
func TestAnotherID(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, existed := range []bool{false, true} {
			p := newProof(t, false)
			p.runs()
			p.live(p.a, 20*time.Minute)
			shown := p.m.Record.Azure.VMID
			if restart {
				p.restart()
			} else {
				p.a.ledger.bury(p.m, "", p.Now())
			}
			p.m.Asked = map[bool]cloud.Asked{true: cloud.Existed}[existed]
			p.m.Record = p.known()
			for _, pass := range []func() error{func() error { return expect.ErrorOf(p.ensure()) }, p.remove} {
				told := p.refusals(30*time.Minute, pass)
				says := told[infrav1.VMNotProvedReason]
				expect.Same(t, "told", []string{infrav1.VMNotProvedReason}, reasons(told))
				expect.Same(t, "both IDs are in: "+says, true, strings.Contains(says, shown) && strings.Contains(says, blue.ID))
			}
			expect.Same(t, "what is known", p.known(), p.m.Record)
			p.Forget()
			p.refusals(time.Hour, p.remove)
			expect.Same(t, "looks at it while it is held", true, p.OfVM(p.m.Name)["GET vm"] <= 1)
			expect.Same(t, "it is there", true, p.vmExists())
			p.Change(func(in *armsim.Inside) { in.Compute.Delete(armsim.VMID(p.m.Name), true) }) // as the sentence says
			expect.Same(t, "it goes then", []bool{true, false}, []bool{p.goes(), p.vmExists()})
		}
	}
}

// TestRestoredBetweenTries: a second try's VM runs, and the status comes back from a backup that was made during the first.
func TestRestoredBetweenTries(t *testing.T) {
	p := newProof(t, false)
	p.m.Spec.Azure.FallbackVMSizes = []string{"Standard_D4as_v5"}
	p.Change(func(in *armsim.Inside) {
		in.Compute.Faults.Full = func(size, _ string) string {
			return map[string]string{"Standard_D4s_v5": "AllocationFailed"}[size]
		}
	})
	expect.Got(p.ensure())(t)
	first := p.m.Record
	p.runs()
	expect.Same(t, "another VM", false, first.Azure.VMID == p.m.Record.Azure.VMID)
	p.m.Record, p.m.Asked = first, cloud.MaybeAsked
	p.restart()
	puts := p.ByClass()["PUT vm"]
	told := p.refusals(30*time.Minute, func() error { return expect.ErrorOf(p.ensure()) })
	expect.Same(t, "told of the living", []string{infrav1.VMNotProvedReason}, reasons(told))
	told = p.refusals(30*time.Minute, p.remove)
	expect.Same(t, "told of the one that goes", []string{infrav1.VMNotProvedReason}, reasons(told))
	expect.Same(t, "VMs", []any{true, puts}, []any{p.vmExists(), p.ByClass()["PUT vm"]})
}

// TestUnknownKind: a 404 that says that Azure does not know virtual machines there says nothing of one of them, and is told.
func TestUnknownKind(t *testing.T) {
	codes := []string{"InvalidResourceType", "InvalidResourceNamespace", "NoRegisteredProviderFound", "InvalidApiVersionParameter"}
	for _, code := range codes {
		for _, classes := range [][]string{{"vm"}, {"vm", "vm list"}} {
			p := newProof(t, false)
			p.runs()
			p.Change(func(in *armsim.Inside) {
				in.Faults.Refuse = func(call armsim.Call) *armsim.Refusal {
					if !slices.Contains(classes, call.Class) || call.Method == http.MethodPut {
						return nil
					}
					return &armsim.Refusal{Status: http.StatusNotFound, Code: code, Message: "not for this api-version"}
				}
			})
			p.restart()
			told := p.refusals(30*time.Minute, p.remove)
			says := told[infrav1.SpecInvalidReason]
			expect.Same(t, "it says what it is: "+says, true, strings.Contains(says, code))
			p.Change(func(in *armsim.Inside) { in.Faults.Refuse = nil })
			expect.Same(t, "it goes once Azure answers", []bool{true, false}, []bool{p.goes(), p.vmExists()})
		}
	}
}

// TestForeignAdapterStays: somebody who may write tags marks the adapter of a VM that was never a machine's; its owner deletes
// the VM and keeps the adapter.
func TestForeignAdapterStays(t *testing.T) {
	for _, marks := range []string{"the adapter", "the adapter and the VM", "neither"} {
		p := newProof(t, true)
		m := p.machine("never")
		m.Name, m.Key = "prod-db", cloud.Key{Namespace: "team", Name: "never"}
		m.ProviderID = arm.ProviderID(homeOf(p.m).Parent().VM("prod-db"))
		p.foreign("prod-db", map[string]string{"owner": "finance"})
		vm, nic := armsim.VMID("prod-db"), p.id(belongings.Adapter, "prod-db-nic")
		put := func(properties doc.Object) {
			properties["provisioningState"], properties["resourceGuid"] = "Succeeded", "11111111-2222-4333-8444-555555555555"
			properties["ipConfigurations"] = []any{doc.Object{"name": "c", "properties": doc.Object{"privateIPAddress": "10.9.9.9"}}}
			p.Change(func(in *armsim.Inside) {
				in.World.Put(nic, doc.Object{
					"id": nic.String(), "name": "prod-db-nic", "location": armsim.Location, "properties": properties,
				})
			})
			if marks != "neither" {
				p.MergeTags(nic, p.tagsOf(m))
			}
		}
		put(doc.Object{"virtualMachine": doc.Object{"id": vm.String()}})
		if marks == "the adapter and the VM" {
			p.MergeTags(vm, p.tagsOf(m))
		}
		p.Change(func(in *armsim.Inside) { // as the VM itself shows it
			profile := doc.Of(in.World.Find(vm).Body, "properties", "networkProfile")
			profile["networkInterfaces"] = append(profile["networkInterfaces"].([]any), doc.Object{"id": nic.String()})
		})
		p.live(p.a, 40*time.Minute)
		p.Vanish(vm)
		put(doc.Object{})
		p.live(p.a, time.Hour)
		there := false
		p.Change(func(in *armsim.Inside) { there = in.World.Find(nic) != nil })
		expect.Same(t, "marks on "+marks+": the adapter is there", true, there)
	}
}
