package vsphere

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// proof is a machine with a VM, to which something is done before it is deleted.
type proof struct {
	*stage
	given   []permission
	a       *account
	m       cloud.Machine
	later   func(time.Duration)
	windows types.ManagedObjectReference // the VM's folder
	folders *object.Folder               // of all VMs of the datacenter
	hidden  types.ManagedObjectReference // a folder that the account may not see
	foreign string
}

// deed is what is done to a VM, and what ends it. The end lets a VM be removed that was out of sight, or that nothing proved to
// be the machine's.
type deed struct {
	name  string
	do    func(*proof) (end func(*proof))
	short bool // also without the flag, after a restart
}

var deeds = []deed{
	{noAccess, func(p *proof) func(*proof) { return p.hide(p.VM(p.m.Name).Reference()) }, false},
	{"No access on the folder", func(p *proof) func(*proof) { return p.hide(p.windows) }, true},
	{"no role on the folder", func(p *proof) func(*proof) { return p.without("capwin-machines") }, false},
	{"no permission on the datacenter", func(p *proof) func(*proof) {
		return p.permit(slices.DeleteFunc(slices.Clone(p.given), func(one permission) bool { return one.On.Type == "Datacenter" }))
	}, false},
	{"the folder is moved", func(p *proof) func(*proof) {
		p.Move(p.windows, p.hidden)
		return nil
	}, false},
	{"the folder is renamed", func(p *proof) func(*proof) {
		p.rename("/" + vcenter.Datacenter + "/vm/" + vcenter.Folder)
		return nil
	}, true},
	{"the folder is removed, and the VM with it", func(p *proof) func(*proof) {
		p.Remove(p.m.Name)
		p.Remove(p.foreign)
		p.foreign = ""
		p.done(object.NewCommon(p.Client, p.windows).Destroy(p.t.Context()))
		return nil
	}, false},
	{"registered anew in its folder", func(p *proof) func(*proof) {
		p.Unregister(p.m.Name)(p.windows)
		return nil
	}, true},
	{"registered anew in its folder, which is hidden", func(p *proof) func(*proof) {
		end := p.hide(p.windows)
		p.Unregister(p.m.Name)(p.windows)
		return end
	}, true},
	{"host added again", func(p *proof) func(*proof) { return p.discover() }, true},
	{"no marks", func(p *proof) func(*proof) { return p.mark("", "") }, true},
	{"other marks", func(p *proof) func(*proof) { return p.mark("default/other", "vsphere://another") }, false},
	{"a foreign VM has the marks", func(p *proof) func(*proof) {
		p.SetExtra(p.foreign, seen.MarkOwner, p.m.Key.String())
		p.SetExtra(p.foreign, seen.MarkProviderID, p.m.ProviderID)
		return nil
	}, true},
	{"the record names a foreign VM", func(p *proof) func(*proof) {
		p.m.Record = *p.recorded(p.foreign)
		return nil
	}, true},
	{"another instance UUID", func(p *proof) func(*proof) {
		p.identify(p.m.Name, "50112233-4455-6677-8899-aabbccddeeff")
		return func(p *proof) {
			if p.there() {
				p.identify(p.m.Name, seen.IDOf(p.m))
			}
		}
	}, true},
	{"marks of another management cluster, and its data", func(p *proof) func(*proof) {
		p.madeThere()
		p.m.Digest = cloud.DigestOf(p.m.ProviderID, machines.Hello)
		return nil
	}, true},
	{"marks of another management cluster", func(p *proof) func(*proof) {
		p.madeThere()
		return func(p *proof) { p.m.TookOver = append(p.m.TookOver, elsewhere) }
	}, true},
}

// elsewhere is the UID of another management cluster.
const elsewhere = "uid-of-another"

// madeThere has the VM made by another management cluster, whose machine has the same marks, and the owning Machine copied.
func (p *proof) madeThere() {
	p.SetExtra(p.m.Name, seen.MarkCluster, cloud.ClusterMark{Name: "blue", UID: "1", Manager: elsewhere}.String())
	p.m.Own, p.m.Vouched = false, true
}

const noAccess = "No access on the VM itself"

// beyond is of what no account can know: the VM alone is out of its sight, and it knows no reference of it that would say so. See
// docs/vcenter.md.
func beyond(what deed, life string, record bool) bool {
	return what.name == noAccess && life == "after a restart" && !record
}

// hide an object, and what is in it, from our account.
func (p *proof) hide(on types.ManagedObjectReference) (end func(*proof)) {
	kept := slices.DeleteFunc(slices.Clone(p.given), func(one permission) bool { return one.On == on })
	return p.permit(append(kept, permission{Permission: vcenter.Permission{On: on, NoAccess: true, Propagate: true}}))
}

// discover has the vCenter find the VM on a host that was added to it again, with a new reference, and put it into the folder for
// such VMs. A person who gives the role there ends it.
func (p *proof) discover() (end func(*proof)) {
	p.t.Helper()
	folder := expect.Got(p.folders.CreateFolder(p.t.Context(), discovered))(p.t).Reference()
	p.Unregister(p.m.Name)(folder)
	return func(p *proof) {
		there := p.given[slices.IndexFunc(p.given, func(one permission) bool { return one.role == "capwin-machines" })]
		there.On = folder
		p.permit(append(slices.Clone(p.given), there))
	}
}

func (p *proof) permit(these []permission) (end func(*proof)) {
	p.stage.permit(these)
	return func(p *proof) { p.stage.permit(p.given) }
}

func (p *proof) without(role string) (end func(*proof)) {
	return p.permit(slices.DeleteFunc(slices.Clone(p.given), func(one permission) bool { return one.role == role }))
}

func (p *proof) mark(owner, providerID string) (end func(*proof)) {
	p.SetExtra(p.m.Name, seen.MarkOwner, owner)
	p.SetExtra(p.m.Name, seen.MarkProviderID, providerID)
	return func(p *proof) {
		if slices.Contains(p.VMs(), p.m.Name) {
			p.mark(p.m.Key.String(), p.m.ProviderID)
		}
	}
}

// lives are the stages at which something is done to the VM.
var lives = []string{"before it runs", "running", "in deletion", "after a restart"}

func newProof(t *testing.T, life string) *proof {
	t.Helper()
	v := newPrivileged(t)
	p := &proof{stage: v, given: permissionsOfPage(t, v, firstLayout), m: v.machine("m"), foreign: "foreign"}
	p.m.Spec.VSphere.Datastore = "LocalDS_0"
	existed := life != "before it runs"
	if existed {
		p.m.Asked = cloud.Existed
	}
	p.Occupy(p.foreign)
	p.cloneBy(p.m, p.m.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = existed })
	p.windows = p.FolderOf(p.m.Name).Reference()
	p.folders = expect.Got(find.NewFinder(v.Client).Folder(t.Context(), "/"+vcenter.Datacenter+"/vm"))(t)
	p.hidden = expect.Got(p.folders.CreateFolder(t.Context(), "hidden"))(t).Reference()
	p.given = append(p.given, permission{Permission: vcenter.Permission{On: p.hidden, NoAccess: true, Propagate: true}})
	p.permit(p.given)
	p.start()
	return p
}

// start a process.
func (p *proof) start() {
	p.a = p.account()
	p.later = stoppedClock(p.a)
	watched(p.t, p.a)
}

// there says that the machine's VM is in the inventory, under any reference and in any folder.
func (p *proof) there() bool { return slices.Contains(p.VMs(), p.m.Name) }

// goes deletes the machine until it is let go, or for some tries. Tasks that are not followed are asked for.
func (p *proof) goes(tries int) bool {
	for range tries {
		_, err := p.a.Delete(p.t.Context(), p.m)
		if errors.Is(err, cloud.ErrNotFound) {
			return true
		}
		p.later(pollAfter)
		<-time.After(20 * time.Millisecond)
	}
	return false
}

// counted are the results of all proofs.
type counted struct{ runs, foreign, gone, leaked, beyond atomic.Int32 }

// prove lives through a deed, and deletes the machine while it lasts and after it.
func (n *counted) prove(t *testing.T, what deed, life string, record bool) {
	p := newProof(t, life)
	vm := expect.Got(p.a.Observe(t.Context(), p.m))(t)
	if record {
		p.m.Record = *vm.Record
	}
	if life == "in deletion" {
		expect.Got(p.a.Delete(t.Context(), p.m))(t)
		wait.Until(t, "the VM to be off", func() (any, bool) {
			power := p.Read(p.m.Name, "runtime.powerState").Runtime.PowerState
			return power, power == types.VirtualMachinePowerStatePoweredOff
		})
	}
	end := what.do(p)
	if life == "after a restart" {
		p.start()
	}
	n.runs.Add(1)
	gone := p.goes(8)
	switch {
	case gone && p.there() && beyond(what, life, record):
		n.beyond.Add(1)
	case gone && p.there():
		n.gone.Add(1)
		t.Error("a VM that is there is let go of")
	}
	if end != nil {
		end(p)
	}
	if !gone {
		gone = p.goes(20)
	}
	if p.there() && !beyond(what, life, record) {
		n.leaked.Add(1)
		t.Errorf("the VM is left; its machine is gone: %t", gone)
	}
	if p.foreign != "" && !slices.Contains(p.VMs(), p.foreign) {
		n.foreign.Add(1)
		t.Error("a foreign VM was deleted")
	}
}

// TestGoneIsProved: whatever people do to a VM, no foreign one is deleted, and no machine is let go while its VM is there.
func TestGoneIsProved(t *testing.T) {
	n := &counted{}
	t.Run("all", func(t *testing.T) {
		for _, what := range deeds {
			for _, life := range lives {
				for _, record := range []bool{true, false} {
					if !proved.All() && (!what.short || life != "after a restart" || !record) {
						continue
					}
					name := strings.Join([]string{what.name, life, map[bool]string{true: "record kept", false: "record lost"}[record]}, ", ")
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						n.prove(t, what, life, record)
					})
				}
			}
		}
	})
	t.Logf("proved: what people do to VMs: rows %d, foreign deleted %d, let go %d, leaked %d, excused %d",
		n.runs.Load(), n.foreign.Load(), n.gone.Load(), n.leaked.Load(), n.beyond.Load())
}
