package crash

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// Here the right to see VMs is taken away from our account before an effect, and comes back later: the permission on the folder
// in the vCenter, the role assignment in Azure. What an account may not see is not gone.

// row is one life of that matrix.
type row struct {
	effect  string
	how     string // the process sees its right go, or is killed before or after the effect and the next one has none
	deleted bool   // the Machine is deleted while the right is away
	slow    bool   // the clone is under way all that time
}

// The ways of a row.
const (
	alive  = "alive"
	before = "killed before"
	after  = "killed after"
)

func (r row) String() string {
	text := r.how + " " + r.effect
	if r.deleted {
		text += ", deleted"
	}
	if r.slow {
		text += ", clone under way"
	}
	return text
}

// rowsOf are all lives, those first that are closest to a leak: the VM was asked for, and nothing has been written of it.
func rowsOf(effects []string, asks string, slow bool) (rows []row) {
	asked := slices.Index(effects, asks)
	for i, effect := range slices.Concat(effects[asked:], effects[:asked]) {
		ending := i < len(effects)-asked && slices.Contains(untilGone, effect)
		for _, how := range []string{after, alive, before} {
			if !ending {
				rows = append(rows, row{effect: effect, how: how, deleted: true})
			}
			if slow && effect == asks {
				rows = append(rows, row{effect: effect, how: how, deleted: true, slow: true})
			}
			rows = append(rows, row{effect: effect, how: how})
		}
	}
	return rows
}

// hiding is a life of this matrix, on either cloud.
type hiding struct {
	*run
	row
	// hide takes the right away, show gives it back.
	hide, show func()
	// guest does what the guest does before its node joins, once.
	guest func(*testing.T)
	// vms are those that there are, and lasts is for how long the right is away.
	vms   func() []string
	lasts time.Duration

	hidden    atomic.Bool
	processes int
}

// prepare sees to it that the right goes before the effect. Call it with the gate of each process before that starts.
func (h *hiding) prepare(gate *world.Gate) {
	h.processes++
	once := sync.OnceFunc(func() {
		h.hide()
		h.hidden.Store(true)
	})
	switch {
	case h.how == alive && h.processes == 1:
		gate.Before = func(effect string) {
			if effect == h.effect {
				once()
			}
		}
	case h.how != alive && h.processes == 2:
		once()
	}
}

// plans say where the process is killed.
func (h *hiding) plans() []world.Plan {
	if h.how == alive {
		return nil
	}
	return []world.Plan{{Effect: h.effect, After: h.how == after}}
}

// live is the whole life.
func (h *hiding) live(t *testing.T) {
	t.Helper()
	h.advance(t, "the effect", h.hidden.Load)
	if !h.hidden.Load() {
		t.Errorf("the effect did not come about: %s", strings.Join(h.Effects(), ", "))
		return
	}
	if h.deleted {
		h.machine.Delete(t)
	}
	h.lookAround(t)
	h.show()
	if h.release != nil {
		h.release()
	}
	h.advance(t, "the end", func() bool { return false })
}

// lookAround has the process look again and again while its right is away.
func (h *hiding) lookAround(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), h.lasts)
	defer cancel()
	_ = wait.Poll(ctx, func(context.Context) error { // it ends with the time, or with what is found
		h.Process().TryReconcile(world.Machines, h.machine.Key)
		if h.checkHeld(t); h.letGo {
			return nil
		}
		return errHidden
	})
}

var errHidden = errors.New("the right is away")

// checkHeld notes that the machine was let go while it has a VM.
func (h *hiding) checkHeld(t *testing.T) {
	t.Helper()
	asked := h.slow && slices.Contains(h.Effects(), h.effect)
	has := len(h.vms()) > len(h.others)
	s := h.machine.Load(t) // after the VMs: a machine whose VM is removed goes later
	if held := s.Windows != nil && controllerutil.ContainsFinalizer(s.Windows, infrav1.MachineFinalizer); held || !has && !asked {
		return
	}
	if begun := s.Windows != nil && s.Windows.DeletionTimestamp.IsZero(); begun {
		return // the finalizer comes before the request, so this VM is another life's
	}
	h.letGo = true
	t.Errorf("the machine was let go while its VM cannot be seen: %q", h.vms())
}

// advance has everybody but our controllers do what they do next, until something has come about or the machine has gone.
func (h *hiding) advance(t *testing.T, what string, until func() bool) {
	t.Helper()
	if len(h.machine.Core.UID) > 0 && h.machine.Config.UID == "" && !until() {
		h.claimed(t)
	}
	var guest, node, deleted sync.Once
	wait.Until(t, what, func() (any, bool) {
		s := h.machine.Load(t)
		if until() || world.Gone(s) == "" {
			return s, true
		}
		h.Process().TryReconcile(world.Machines, h.machine.Key)
		if s.Windows == nil || s.Config == nil {
			return s, false
		}
		ready, bootstrapped := world.ConditionOf(s.Windows, "Ready"), world.ConditionOf(s.Windows, "BootstrapSucceeded")
		switch {
		case !s.Core.DeletionTimestamp.IsZero():
		case bootstrapped == "BootstrapSucceeded True Joined" && world.ConditionOf(s.Config, "Ready") == "Ready True Joined":
			deleted.Do(func() { h.machine.Delete(t) })
		case s.Node == nil && (h.guest == nil || bootstrapped == "BootstrapSucceeded Unknown WaitingForNode") && named(s):
			node.Do(func() { h.machine.Join(t) })
		case ready == "Ready True Running" && h.guest != nil && named(s):
			guest.Do(func() { h.guest(t) })
		}
		return s, false
	})
}

// named says that the VM runs and Cluster API has its data.
func named(s world.State) bool {
	return world.DataSecretNamed(s) == "" && world.ConditionOf(s.Windows, "Ready") == "Ready True Running"
}

// TestCrashHidden takes the permission on the folder away.
//
//nolint:tparallel // the figures come after all rows
func TestCrashHidden(t *testing.T) {
	t.Parallel()
	if shared == nil {
		t.Skip("needs real servers")
	}
	m := newMatrix(t)
	t.Run("rows", func(t *testing.T) {
		for _, one := range proved.Rows(rowsOf(scenarios[0].effects, "vcenter CloneVM_Task #1", true), 3) {
			t.Run(one.String(), func(t *testing.T) {
				t.Parallel()
				m.hidden(t, one)
			})
		}
	})
	m.counts.tell(t, "crash matrix, permission of the folder away")
}

func (m *matrix) hidden(t *testing.T, one row) {
	at := <-m.places
	t.Cleanup(func() { m.places <- at })
	h := &hiding{row: one, lasts: 3 * time.Second}
	if vms := scenarios[0].effects; slices.Index(vms, one.effect) >= slices.Index(vms, "vcenter CloneVM_Task #1") {
		h.lasts = 35 * time.Second // longer than a request of a process before may be on its way
	}
	owner := at.vcenter.Owner(t)
	h.hide = func() { owner.Permit(permissions(t, owner, true)...) }
	h.show = func() { owner.Permit(permissions(t, owner, false)...) }
	h.vms = owner.VMs
	h.show()
	at.ahead, at.prepare = m.ahead, h.prepare
	h.run = begin(t, at, one.slow, h.plans()...)
	h.guest = func(t *testing.T) {
		owner.SetExtra(h.machine.Load(t).Windows.Status.ComputerName, "guestinfo.capwin.report",
			`{"version":1,"state":"Succeeded","phase":{"index":5,"of":5,"name":"join"},"facts":{"os":"20348.2700"}}`)
	}
	defer m.counts.add(t, h.run)
	h.live(t)
}

// permissions are those of an account that may do what it needs, each on what it needs it on. Hidden ones lack the folder of VMs.
func permissions(t *testing.T, o *vcenter.Owner, hidden bool) (all []vcenter.Permission) {
	t.Helper()
	root := "/" + vcenter.Datacenter
	on := func(place string, propagate bool) {
		found, err := object.NewSearchIndex(o.Client).FindByInventoryPath(t.Context(), place)
		expect.OK(t, err)
		if found == nil {
			t.Errorf("the vCenter has no %s", place)
			return
		}
		all = append(all, vcenter.Permission{On: found.Reference(), Privileges: vcenter.Privileges(), Propagate: propagate})
	}
	all = append(all, vcenter.Permission{On: o.Client.ServiceContent.RootFolder, Privileges: vcenter.Privileges()})
	on(root, false)
	for _, place := range []string{"host/" + path.Dir(vcenter.ResourcePool), "datastore", "network", "vm/" + vcenter.Template} {
		on(root+"/"+place, true)
	}
	if !hidden {
		on(root+"/vm/"+vcenter.Folder, true)
	}
	return all
}

// TestCrashHiddenInAzure takes the role assignment away.
//
//nolint:tparallel // the figures come after all rows
func TestCrashHiddenInAzure(t *testing.T) {
	t.Parallel()
	if shared == nil {
		t.Skip("needs real servers")
	}
	counts := &tally{}
	t.Run("rows", func(t *testing.T) {
		for _, one := range proved.Rows(rowsOf(effectsInAzure, "azure PUT vm #1", false), 2) {
			t.Run(one.String(), func(t *testing.T) {
				t.Parallel()
				hiddenInAzure(t, one, counts)
			})
		}
	})
	counts.tell(t, "crash matrix in Azure, role assignment away")
}

func hiddenInAzure(t *testing.T, one row, counts *tally) {
	h := &hiding{row: one, lasts: 5 * time.Second} // five minutes in that Azure
	r := newInAzure(t)
	role := func(grant bool) {
		r.azure.Change(func(in *armsim.Inside) {
			in.Rights.Revoke(armsim.ObjectID)
			if grant {
				in.Rights.Grant(armsim.ObjectID, "/subscriptions/"+armsim.Subscription, "*")
			}
		})
	}
	h.hide, h.show = func() { role(false) }, func() { role(true) }
	h.vms = func() []string { return r.left("Microsoft.Compute/virtualMachines") }
	r.prepare = h.prepare
	r.begin(t, 0, h.plans()...)
	h.run = r.run
	defer counts.addInAzure(t, r)
	h.live(t)
	r.nothingLeft(t)
}
