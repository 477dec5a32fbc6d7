package azure

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// rival is a machine of another namespace into which somebody wrote the identity of another machine.
func rival(of cloud.Machine) cloud.Machine {
	return cloud.Machine{
		Identity: of.Identity, Key: cloud.Key{Namespace: "tenant", Name: "rival"}, UID: "rival", Spec: of.Spec, UserData: of.UserData,
		Cluster: cloud.ClusterMark{Name: "red", UID: "r", Manager: manager},
	}
}

// TestTwoMachinesOneIdentity: what this process knows of a machine proves nothing for another one with its identity, which sees
// nothing of the VM, deletes nothing, and is woken by nothing.
func TestTwoMachinesOneIdentity(t *testing.T) {
	for _, tags := range []string{"right", "replaced"} {
		for _, restart := range []string{"no", "before the owner is seen", "after the owner is seen"} {
			t.Run(fmt.Sprintf("tags %s, restart %s", tags, restart), func(t *testing.T) {
				p := newProof(t, false)
				p.runs()
				if tags == "replaced" {
					p.ReplaceTags(armsim.VMID(p.m.Name), map[string]string{"owner": "finance"})
				}
				if restart != "no" {
					p.restart()
				}
				if restart == "after the owner is seen" {
					p.m.Record.Azure.Disks = nil // so that something new is seen of its VM
					p.lives(30 * time.Minute)
				}
				other, woken := rival(p.m), 0
				for i := range 40 {
					vm, err := p.a.Observe(t.Context(), other)
					wantHeld(t, vm, err)
					_, err = p.a.Ensure(t.Context(), other)
					wantHeld(t, cloud.VM{}, err)
					vm, err = p.a.Delete(t.Context(), other)
					wantHeld(t, vm, err)
					p.Advance(30 * time.Second)
					for _, key := range p.a.poll(t.Context()) {
						if key == other.Key && i > 0 { // the first list of a process wakes all
							woken++
						}
					}
				}
				expect.Same(t, "woken", 0, woken)
				expect.Same(t, "the VM is there", true, p.vmExists())
				vm, err := p.ensure()
				expect.Same(t, "its owner has it", true, err == nil && vm.State == cloud.Running)
				expect.Same(t, "it goes with its owner", []bool{true, false}, []bool{p.goes(), p.vmExists()})
			})
		}
	}
}

// wantHeld wants a machine to be held because of a VM that is not proved to be its own, and nothing to be reported of that.
func wantHeld(t *testing.T, vm cloud.VM, err error) {
	t.Helper()
	if cloud.IsLater(err) {
		t.Logf("later: %s", err)
		return
	}
	cloudtest.WantError(t, err, cloud.Invalid, infrav1.VMNotProvedReason)
	expect.Same(t, "what is reported", cloud.VM{}, vm)
}

// TestAnotherServer: what the Azure of a tenant says of a VM proves nothing in another one, and a record of there is not wiped
// here.
func TestAnotherServer(t *testing.T) {
	here, there := newProof(t, false), newProof(t, false)
	here.runs()
	here.ReplaceTags(armsim.VMID(here.m.Name), map[string]string{"owner": "platform"})
	there.a.choose(t)
	there.runs()
	same := here.UniqueID(armsim.VMID(here.m.Name))
	there.Change(func(in *armsim.Inside) {
		r := in.World.Find(armsim.VMID(there.m.Name))
		doc.Set(r.Body, same, "properties", "vmId")
		in.World.Touch(r)
	})
	there.m.Record = cloud.Record{}
	there.restart()
	there.a.choose(t)
	there.runs()
	learned := there.m.Record
	expect.Same(t, "the ID that it learned there", same, learned.Azure.VMID)
	expect.Same(t, "the server is a chosen one", true, strings.HasPrefix(learned.Azure.Server, "chosen https://"))
	here.restart()
	moved := rival(here.m)
	named := strings.TrimPrefix(learned.Azure.Server, "chosen ")
	for name, server := range map[string]string{"there": learned.Azure.Server, "nowhere": "", "by name": named} {
		moved.UID = types.UID(name)
		moved.Record = learned
		moved.Record.Azure.Server = server
		for range 20 {
			vm, err := here.a.Delete(t.Context(), moved)
			wantHeld(t, vm, err)
			here.live(here.a, 30*time.Second)
		}
	}
	expect.Same(t, "the VM is there", true, here.vmExists())
}

// TestChosenServer: a cloud whose addresses a Secret chose is no other cloud.
func TestChosenServer(t *testing.T) {
	s := newStage(t)
	named, chosen, m := s.account(), s.account(), s.machine("m")
	chosen.choose(t)
	expect.Same(t, "equal servers", false, named.server() == chosen.server())
	for name, c := range map[string]struct {
		a      *account
		server string
		serves bool
	}{
		"named": {named, named.server(), true}, "chosen": {chosen, chosen.server(), true}, "unknown": {chosen, "", true},
		"named, not chosen": {chosen, named.server(), false}, "chosen, not named": {named, chosen.server(), false},
		"another": {chosen, "chosen https://other", false},
	} {
		m.Server = c.server
		_, err := c.a.Observe(t.Context(), m)
		refused, ok := errors.AsType[*cloud.Error](err)
		expect.Same(t, name, c.serves, !ok || refused.Kind != cloud.Transient)
	}
}

// TestAnotherManager: another management cluster has a machine with equal names. A copied Machine does not make its VM ours; the
// data of its Secret do, and so does the operator's word.
func TestAnotherManager(t *testing.T) {
	for name, c := range map[string]struct {
		made  string // the data with which the VM was made; none by an earlier release
		proof cloud.Proof
		ours  bool
	}{
		"a copied Machine":                       {made: "theirs", proof: cloud.Proof{Vouched: true, Asked: cloud.Existed}},
		"one of an earlier release":              {proof: cloud.Proof{Vouched: true, Asked: cloud.Existed}},
		"other data":                             {made: "theirs", proof: cloud.Proof{Vouched: true, Digest: "x"}},
		"its data":                               {made: "theirs", proof: cloud.Proof{Digest: "theirs"}, ours: true},
		"taken over":                             {made: "theirs", proof: cloud.Proof{TookOver: []types.UID{"there"}}, ours: true},
		"one of an earlier release, taken over":  {proof: cloud.Proof{TookOver: []types.UID{"there"}}, ours: true},
		"another one was taken over, not theirs": {made: "theirs", proof: cloud.Proof{TookOver: []types.UID{"else"}, Vouched: true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProof(t, false)
			p.m = p.chosen("victim")
			theirs := p.m
			theirs.Cluster.Manager = "there"
			tags := p.tagsOf(theirs)
			if c.made != "" {
				tags["Capwin-UserData"] = cloud.DigestOf(p.m.ProviderID, cloud.UserData(c.made))
			}
			p.foreign("victim", tags)
			p.m.Proof = c.proof
			if c.proof.Digest != "" {
				p.m.Digest = cloud.DigestOf(p.m.ProviderID, cloud.UserData(c.proof.Digest))
			}
			if c.ours {
				p.runs()
				expect.Same(t, "it goes", []bool{true, false}, []bool{p.goes(), p.vmExists()})
				return
			}
			for _, pass := range []func() error{func() error { return expect.ErrorOf(p.ensure()) }, p.remove} {
				told := p.refusals(20*time.Minute, pass)[infrav1.VMNotProvedReason]
				for _, says := range []string{"management cluster with the UID there ", "bootstrap Secret", "--took-over-from=there "} {
					expect.Same(t, says+" is in: "+told, true, strings.Contains(told, says))
				}
			}
			expect.Same(t, "nothing is known of it", infrav1.AzureRecord{}, p.m.Record.Azure)
			expect.Same(t, "it is there", true, p.vmExists())
		})
	}
}

// TestRestoredWhileMade: a machine that comes back from a backup while its VM is made has another UID, and no Machine that knows
// its identity. Its data prove the VM; without them it is told, and not as a name that is taken.
func TestRestoredWhileMade(t *testing.T) {
	for _, data := range []bool{true, false} {
		p := newProof(t, false)
		p.runs()
		p.m.Proof = cloud.Proof{}
		p.m.UID = "restored"
		p.restart()
		if data {
			p.m.Digest = cloud.DigestOf(p.m.ProviderID, expect.Got(p.m.UserData(t.Context()))(t))
			p.runs()
			expect.Same(t, "it goes", []bool{true, false}, []bool{p.goes(), p.vmExists()})
			continue
		}
		for _, pass := range []func() error{func() error { return expect.ErrorOf(p.ensure()) }, p.remove} {
			told := p.refusals(20*time.Minute, pass)
			expect.Same(t, "what is told", []bool{true, false}, []bool{
				strings.Contains(told[infrav1.VMNotProvedReason], "restore the bootstrap Secret"), told[infrav1.NameTakenReason] != "",
			})
		}
		expect.Same(t, "it is there", true, p.vmExists())
	}
}
