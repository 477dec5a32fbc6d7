package azure

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

// proof is a machine in the hands of one process after another, and what people do to its VM and beside it.
type proof struct {
	*stage
	a *account
	m cloud.Machine
}

func newProof(t *testing.T, shared bool) *proof {
	t.Helper()
	p := &proof{stage: newStage(t)}
	p.a, p.m = p.watched(), p.machine("m")
	p.m.Spec.Azure.NetworkInterfaces[0].PublicIP = infrav1.AzureEnabled
	if shared {
		neighbour := p.machine("neighbour")
		neighbour.Key.Namespace = "other"
		p.run(p.a, neighbour)
	}
	return p
}

// ensure and remove are passes of the controllers, which keep what they are told of the VM.
func (p *proof) ensure() (cloud.VM, error) { return p.keep(p.a.Ensure(p.t.Context(), p.m)) }

func (p *proof) remove() error { return expect.ErrorOf(p.keep(p.a.Delete(p.t.Context(), p.m))) }

func (p *proof) keep(vm cloud.VM, err error) (cloud.VM, error) {
	if vm.Record != nil {
		p.m.Record = *vm.Record
	}
	return vm, err
}

func (p *proof) runs() {
	p.t.Helper()
	for range 200 {
		vm, err := p.ensure()
		if err == nil && vm.State == cloud.Running && len(vm.Addresses) == 3 && len(p.m.Record.Azure.Disks) > 0 {
			p.m.Asked = cloud.Existed
			return
		}
		p.live(p.a, 10*time.Second)
	}
	p.t.Fatal("the VM does not run")
}

// restart has a process take over that knows what the status says, and no more.
func (p *proof) restart() {
	p.a = p.watched()
	if p.m.Asked == cloud.NeverAsked {
		p.m.Asked = cloud.MaybeAsked
	}
}

// vmExists says that the machine's VM exists, in any group.
func (p *proof) vmExists() (there bool) {
	p.Change(func(in *armsim.Inside) {
		for _, group := range []string{armsim.Group, otherName} {
			there = there || in.World.Find(doc.Resource(armsim.Subscription, group, compute.Provider, "virtualMachines", p.m.Name)) != nil
		}
	})
	return there
}

const otherName = "elsewhere"

// goes deletes the machine until it is let go, or for an hour.
func (p *proof) goes() bool {
	for range 120 {
		if errors.Is(p.remove(), cloud.ErrNotFound) {
			return true
		}
		p.live(p.a, 30*time.Second)
	}
	return false
}

// resources are the machine's own resources of a kind.
func (p *proof) resources(kind string) (all []doc.ID) {
	types := map[string]string{
		aVM: compute.VM, belongings.Disk: compute.Disk, belongings.Adapter: network.NIC, belongings.PublicIP: network.PublicIP,
	}
	for _, name := range p.Names(armsim.Group, types[kind]) {
		if strings.HasPrefix(name, p.m.Name) {
			all = append(all, p.id(kind, name))
		}
	}
	return all
}

const aVM = "VM"

func (p *proof) id(kind, name string) doc.ID {
	of := map[string][2]string{
		aVM: {compute.Provider, "virtualMachines"}, belongings.Disk: {compute.Provider, "disks"},
		belongings.Adapter: {network.Provider, "networkInterfaces"}, belongings.PublicIP: {network.Provider, "publicIPAddresses"},
	}[kind]
	return doc.Resource(armsim.Subscription, armsim.Group, of[0], of[1], name)
}

// deed is what somebody does to the tags of a resource.
type deed struct {
	name  string
	do    func(p *proof, kind string, id doc.ID)
	short bool // CI does it, too
}

var deeds = []deed{
	{"replaced", func(p *proof, _ string, id doc.ID) { p.ReplaceTags(id, map[string]string{"costcenter": "4711"}) }, true},
	{"one removed", func(p *proof, _ string, id doc.ID) { p.RemoveTags(id, "capwin-cluster") }, false},
	{"one changed", func(p *proof, _ string, id doc.ID) { p.MergeTags(id, map[string]string{"capwin-machine": "other"}) }, false},
	{"copied", func(p *proof, kind string, id doc.ID) {
		tags := p.Tags(id)
		switch kind {
		case aVM:
			p.foreign("copy", tags)
		case belongings.Disk:
			p.AddForeign(p.id(kind, p.m.Name+"-data"), tags)
		default:
			p.AddForeign(p.id(kind, id.Name()+"-copy"), tags)
		}
	}, false},
}

// stages of a life at which it is done.
var stages = []string{"before it runs", "running", "in deletion", "after a restart"}

// proofs are the results of all.
type proofs struct{ runs, foreign, gone, leaked atomic.Int32 }

func (n *proofs) String() string {
	return fmt.Sprintf("rows %d, foreign deleted %d, let go %d, leaked %d",
		n.runs.Load(), n.foreign.Load(), n.gone.Load(), n.leaked.Load())
}

// prove has a machine live, somebody do something to its resources of a kind, and the machine go.
func (n *proofs) prove(t *testing.T, what deed, kind, at string, shared bool) {
	p := newProof(t, shared)
	if at == stages[0] {
		expect.Got(p.ensure())(t)
	} else {
		p.runs()
	}
	if at == "in deletion" {
		_ = p.remove()
	}
	for _, id := range p.resources(kind) {
		what.do(p, kind, id)
	}
	foreign := p.foreignThings()
	if at == "after a restart" {
		p.restart()
	}
	n.runs.Add(1)
	n.lives(t, p, at)
	gone := p.goes()
	if gone && p.vmExists() {
		n.gone.Add(1)
		t.Error("a VM that is there is let go of")
	}
	if !gone || p.vmExists() {
		n.leaked.Add(1)
		t.Error("the VM, or its machine, is left, although the status has Azure's own ID of the VM")
	}
	n.unharmed(t, p, foreign)
}

// lives has the machine live on for a quarter of an hour, which must not lose it.
func (n *proofs) lives(t *testing.T, p *proof, at string) {
	t.Helper()
	for i := range 30 {
		if at == "in deletion" {
			return
		}
		vm, err := p.ensure()
		if i == 29 && at != stages[0] && (err != nil || vm.State != cloud.Running) {
			t.Errorf("the VM is not looked after: %+v, %v", vm, err)
		}
		if errors.Is(err, cloud.ErrNotFound) && p.vmExists() {
			n.gone.Add(1)
			t.Fatal("a VM that is there is called vanished")
		}
		p.live(p.a, 30*time.Second)
	}
}

// foreignThings are all things that are not the machine's.
func (p *proof) foreignThings() (all []string) {
	for id := range p.things() {
		name := id[strings.LastIndex(id, "/")+1:]
		copied := strings.HasSuffix(name, "-copy") || strings.HasSuffix(name, "-data")
		if copied || !strings.HasPrefix(name, p.m.Name) {
			all = append(all, id)
		}
	}
	return all
}

// unharmed says that sweeps leave what is not the machine's.
func (n *proofs) unharmed(t *testing.T, p *proof, foreign []string) {
	t.Helper()
	p.live(p.a, 40*time.Minute)
	now := p.things()
	for _, id := range foreign {
		if _, there := now[id]; !there {
			n.foreign.Add(1)
			t.Errorf("%s was deleted", id)
		}
	}
}

// TestProvedTags: whatever people do to tags, no foreign thing is deleted, and no machine is let go while its VM is there.
func TestProvedTags(t *testing.T) {
	n := &proofs{}
	t.Run("all", func(t *testing.T) {
		for _, what := range deeds {
			for _, kind := range []string{aVM, belongings.Disk, belongings.Adapter, belongings.PublicIP} {
				for _, at := range stages {
					for _, shared := range []bool{false, true} {
						if !proved.All() && (!what.short || kind != aVM || shared) {
							continue
						}
						t.Run(fmt.Sprintf("%s, %s, %s, shared %t", what.name, kind, at, shared), func(t *testing.T) {
							t.Parallel()
							n.prove(t, what, kind, at, shared)
						})
					}
				}
			}
		}
	})
	t.Logf("proved: what people do to tags: %s", n)
}
