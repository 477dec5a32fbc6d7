package azure

import (
	"fmt"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// misfortune is what befalls a VM.
type misfortune struct {
	name  string
	do    func(p *proof)
	ours  bool // it is proved to be the machine's nevertheless
	short bool // CI does it, too
}

// misfortunes are those in which tags and IDs do not go together.
var misfortunes = []misfortune{
	{"another ID with all marks", func(p *proof) {
		p.Change(func(in *armsim.Inside) {
			r := in.World.Find(armsim.VMID(p.m.Name))
			doc.Set(r.Body, blue.ID, "properties", "vmId")
			in.World.Touch(r)
		})
	}, false, true},
	{"moved and untagged", func(p *proof) {
		p.ReplaceTags(p.MoveVM(armsim.VMID(p.m.Name), otherName), map[string]string{"costcenter": "4711"})
	}, false, true},
	{"untagged, then moved", func(p *proof) {
		p.ReplaceTags(armsim.VMID(p.m.Name), nil)
		p.live(p.a, 5*time.Minute)
		p.MoveVM(armsim.VMID(p.m.Name), otherName)
	}, false, false},
	{"marks of another manager, status lost, with the data", func(p *proof) {
		p.otherManager()
		p.m.Digest = cloud.DigestOf(p.m.ProviderID, expect.Got(p.m.UserData(p.t.Context()))(p.t))
	}, true, true},
	{"marks of another manager, status lost, without the data", func(p *proof) { p.otherManager() }, false, true},
	{"marks of another manager, status lost, with other data", func(p *proof) {
		p.otherManager()
		p.m.Digest = cloud.DigestOf(p.m.ProviderID, cloud.UserData("other"))
	}, false, false},
}

// otherManager has the machine be that of another management cluster, with its names, to which a Machine was copied.
func (p *proof) otherManager() {
	p.m.UID, p.m.Cluster.Manager, p.m.Proof = "copied", "there", cloud.Proof{Vouched: true, Asked: cloud.Existed}
	p.a = p.watched()
	p.a.manager = "there"
}

// befall has a machine live, the misfortune come, and the machine be deleted for an hour.
func (n *proofs) befall(t *testing.T, what misfortune, restart, shared bool) {
	p := newProof(t, shared)
	p.runs()
	what.do(p)
	foreign := p.foreignThings()
	if restart {
		manager := p.a.manager
		p.restart()
		p.a.manager = manager
	}
	n.runs.Add(1)
	puts := p.ByClass()["PUT vm"]
	p.lives(30 * time.Minute)
	expect.Same(t, "VMs that are made", puts, p.ByClass()["PUT vm"])
	gone := p.goes()
	if gone && p.vmExists() {
		n.gone.Add(1)
		t.Error("a VM that is there is let go of")
	}
	if !p.vmExists() && !what.ours {
		n.foreign.Add(1)
		t.Error("a VM that is not proved to be the machine's is deleted")
	}
	if what.ours && (!gone || p.vmExists()) {
		n.leaked.Add(1)
		t.Error("the VM, or its machine, is left")
	}
	n.unharmed(t, p, foreign)
}

// TestProvedOwner: what is proved is deleted, and what is not is neither deleted nor let go, when tags and IDs do not go
// together.
func TestProvedOwner(t *testing.T) {
	n := &proofs{}
	t.Run("all", func(t *testing.T) {
		for _, what := range misfortunes {
			for _, restart := range []bool{false, true} {
				for _, shared := range []bool{false, true} {
					if !proved.All() && (!what.short || shared) {
						continue
					}
					t.Run(fmt.Sprintf("%s, restart %t, shared %t", what.name, restart, shared), func(t *testing.T) {
						t.Parallel()
						n.befall(t, what, restart, shared)
					})
				}
			}
		}
	})
	t.Logf("proved: tags and IDs that do not go together: %s", n)
}
