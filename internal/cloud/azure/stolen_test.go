package azure

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// known is a record of the VM blue.ID by Azure's own ID of it.
func (p *proof) known() cloud.Record {
	return cloud.Record{Azure: infrav1.AzureRecord{Server: p.a.server(), VMID: blue.ID}}
}

// chosen is a machine whose providerID a user wrote into a new object: that of somebody else's VM.
func (p *proof) chosen(name string) cloud.Machine {
	m := p.machine("mine")
	m.Name, m.ProviderID = name, arm.ProviderID(homeOf(m).Parent().VM(name))
	m.Spec.ProviderID = m.ProviderID
	m.Asked, m.Own = cloud.MaybeAsked, false
	return m
}

// TestChosenIdentity: a user chooses the identity of his machine. What is deleted then is what docs/security.md says: a VM on
// which somebody forged all marks but that of its user data, for a machine whose owning Machine has its identity, too; and
// nothing else. A machine whose VM had another ID is held while a VM with all of its marks is there.
func TestChosenIdentity(t *testing.T) {
	n := &proofs{}
	for _, forged := range []bool{false, true} {
		for _, vouched := range []bool{false, true} {
			for _, kept := range []bool{false, true} {
				name := fmt.Sprintf("marks forged %t, the Machine has it %t, status there %t", forged, vouched, kept)
				t.Run(name, func(t *testing.T) {
					p := newProof(t, true)
					p.m = p.chosen("victim")
					if p.m.Vouched = vouched; vouched {
						p.m.Asked = cloud.Existed
					}
					p.foreign("victim", map[string]string{"owner": "finance"})
					if kept { // of another VM, which had the name before
						p.m.Record = p.known()
					}
					if forged {
						p.MergeTags(armsim.VMID("victim"), p.tagsOf(p.m))
					}
					n.runs.Add(1)
					p.lives(time.Hour)
					p.restart()
					gone := p.goes()
					documented := forged && vouched && !kept
					expect.Same(t, "it is deleted", documented, !p.vmExists())
					if !kept && !documented {
						expect.Same(t, "the status has no ID", infrav1.AzureRecord{}, p.m.Record.Azure)
					}
					if !p.vmExists() && !documented {
						n.foreign.Add(1)
					}
					expect.Same(t, "the machine goes", documented || kept && !forged, gone)
				})
			}
		}
	}
	t.Logf("proved: chosen identities: %s", n)
}

// lives has the controllers look at the machine for some time.
func (p *proof) lives(d time.Duration) {
	for range d / time.Minute {
		_, _ = p.ensure()
		p.live(p.a, time.Minute)
	}
}

// TestChosenNames: the names of a machine's disks and adapters follow from an identity and a spec that a user chose. Nothing that
// is not attached is deleted because of its name, and nothing for a user who cannot also forge all marks of it and has the
// Machine.
func TestChosenNames(t *testing.T) {
	n := &proofs{}
	const known = "all marks, and the Machine has the identity"
	for _, forged := range []string{"", "all marks", known, "one mark", "marks of another manager"} {
		p := newProof(t, false)
		p.m = p.chosen("pvc-0a1b2c3d")
		p.m.Vouched = forged == known
		p.m.Spec.Azure.DataDisks = []infrav1.AzureDataDisk{{Name: "1111-2222-3333-444455556666"}, {Name: "backup"}}
		tags := map[string]map[string]string{
			"": nil, "all marks": p.tagsOf(p.m), known: p.tagsOf(p.m), "one mark": {"capwin-providerid": p.m.ProviderID},
			"marks of another manager": func() map[string]string {
				m := p.m
				m.Cluster.Manager = "there"
				return p.tagsOf(m)
			}(),
		}[forged]
		for name, kind := range map[string]string{
			"pvc-0a1b2c3d-1111-2222-3333-444455556666": belongings.Disk, "pvc-0a1b2c3d-os": belongings.Disk,
			"pvc-0a1b2c3d-backup":   belongings.Disk,
			"pvc-0a1b2c3d-node-vip": belongings.Adapter, "pvc-0a1b2c3d-node-frontend": belongings.PublicIP,
		} {
			p.AddForeign(p.id(kind, name), tags)
		}
		before := slices.Collect(maps.Keys(p.things()))
		p.lives(30 * time.Minute)
		p.restart()
		p.m.Spec.Azure.Image = infrav1.AzureImage{} // and no VM is made
		n.runs.Add(1)
		expect.Same(t, forged+": the machine goes", true, p.goes())
		p.live(p.a, time.Hour)
		for _, id := range before {
			if _, there := p.things()[id]; !there && forged != known {
				n.foreign.Add(1)
				t.Errorf("%s: %s was deleted", forged, id)
			}
		}
	}
	t.Logf("proved: chosen names: %s", n)
}

// TestCopiedMarks: a disk with the mark of a VM that is gone, a copy of a disk, and all that another management cluster made: a
// sweep leaves all of it, and tells it.
func TestCopiedMarks(t *testing.T) {
	p := newProof(t, false)
	p.runs()
	other := p.m
	other.Cluster.Manager = "there"
	other.Name, other.Key.Name = "win-2", "other"
	other.ProviderID = arm.ProviderID(homeOf(p.m).Parent().VM(other.Name))
	gone := map[string]string{"capwin-providerid": arm.ProviderID(homeOf(p.m).Parent().VM("gone"))}
	p.AddForeign(p.id(belongings.Disk, "golden-database"), gone)
	p.AddForeign(p.id(belongings.Disk, p.m.Name+"-os-restored"), p.tagsOf(p.m))
	p.AddForeign(p.id(belongings.Disk, "win-2-os"), p.tagsOf(other))
	p.AddForeign(p.id(belongings.Adapter, "win-2-node"), p.tagsOf(other))
	p.lives(2 * time.Hour)
	for _, kind := range []string{belongings.Disk, belongings.Adapter} {
		t.Logf("%s: %v", kind, p.resources(kind))
	}
	told := map[string]bool{}
	all, _ := p.a.Marked()
	for _, one := range all {
		told[one.Kind+" "+one.Name] = true
	}
	expect.Same(t, "told", map[string]bool{
		" " + p.m.Name: true, "disk win-2-os": true, "network interface win-2-node": true, "disk " + p.m.Name + "-os-restored": true,
	}, told)
	expect.Same(t, "foreign things", 4, len(p.foreignThings())+1)
}

// TestMovedByHand: a VM that somebody moved to another group is told, is not deleted there, and its machine is not let go; moved
// back, it goes.
func TestMovedByHand(t *testing.T) {
	for _, kept := range []bool{true, false} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("status there %t, restart %t", kept, restart), func(t *testing.T) {
				p := newProof(t, false)
				p.runs()
				there := p.MoveVM(armsim.VMID(p.m.Name), otherName)
				if restart {
					p.restart()
				}
				if !kept {
					p.m.Record = cloud.Record{}
				}
				told := p.refusals(20*time.Minute, func() error { return expect.ErrorOf(p.ensure()) })
				expect.Same(t, "told of the living", true, told[infrav1.VMMovedReason] != "")
				told = p.refusals(20*time.Minute, p.remove)
				expect.Same(t, "told of the one that goes", true, told[infrav1.VMMovedReason] != "")
				expect.Same(t, "it is there", true, p.vmExists())
				p.MoveVM(there, armsim.Group)
				expect.Same(t, "it goes", []bool{true, false}, []bool{p.goes(), p.vmExists()})
			})
		}
	}
}

// refusals are the errors of passes, by their reasons. None lets go.
func (p *proof) refusals(d time.Duration, pass func() error) map[string]string {
	p.t.Helper()
	all := map[string]string{}
	for range d / (30 * time.Second) {
		err := pass()
		if errors.Is(err, cloud.ErrNotFound) {
			p.t.Fatal("it is let go")
		}
		if refused, ok := errors.AsType[*cloud.Error](err); ok {
			all[refused.Reason] = refused.Message
		}
		p.live(p.a, 30*time.Second)
	}
	return all
}

// TestNotFound: each look at a VM, and each deletion of one, that Azure answers with 404 in any form says that it is gone; none
// of a proxy's does, nor does a page.
func TestNotFound(t *testing.T) {
	for _, form := range armsim.NotFoundForms {
		for _, proxy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, proxy %t", form, proxy), func(t *testing.T) {
				p := newProof(t, false)
				p.runs()
				own := !proxy && form != armsim.HTMLNotFound
				var all []armsim.NotFound
				for _, method := range []string{http.MethodGet, http.MethodDelete} {
					all = append(all, armsim.NotFound{Method: method, Name: p.m.Name, Form: form, Proxy: proxy})
				}
				if own {
					p.Vanish(armsim.VMID(p.m.Name))
				}
				p.AnswerNotFound(all...)
				if own {
					expect.Same(t, "it goes", true, p.goes())
					return
				}
				p.refusals(30*time.Minute, p.remove)
				p.AnswerNotFound()
				expect.Same(t, "it goes once Azure answers", []bool{true, false}, []bool{p.goes(), p.vmExists()})
			})
		}
	}
}

// TestWithoutID: Azure does not tell its own ID of a VM, or in another form. Then marks decide, and nothing is lost.
func TestWithoutID(t *testing.T) {
	p := newProof(t, false)
	p.Change(func(in *armsim.Inside) { in.Compute.Faults.HideVMID = true })
	for range 60 {
		_, _ = p.ensure()
		p.live(p.a, 10*time.Second)
	}
	expect.Same(t, "ID", "", p.m.Record.Azure.VMID)
	p.ReplaceTags(armsim.VMID(p.m.Name), nil)
	p.m.Asked = cloud.Existed
	p.restart()
	told := p.refusals(20*time.Minute, p.remove)
	expect.Same(t, "told", true, told[infrav1.VMNotProvedReason] != "")
	p.Change(func(in *armsim.Inside) { in.Compute.Faults.HideVMID = false })
	p.ReplaceTags(armsim.VMID(p.m.Name), p.tagsOf(p.m))
	expect.Same(t, "it goes", []bool{true, false}, []bool{p.goes(), p.vmExists()})
	expect.Same(t, "no ID", []string{"", "", blue.ID}, []string{arm.UUID("x"), arm.UUID(blue.ID + "0"), arm.UUID(blue.ID)})
}
