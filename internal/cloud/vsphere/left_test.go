package vsphere

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// letGo deletes a machine as the controllers do, which keep its record, and returns what is left to look for.
func letGo(t *testing.T, a *account, m *cloud.Machine) (left string) {
	t.Helper()
	wait.Until(t, "the machine to be let go", func() (any, bool) {
		vm, err := a.Delete(t.Context(), *m)
		if vm.Record != nil {
			m.Record = *vm.Record
		}
		left = vm.Left
		return err, errors.Is(err, cloud.ErrNotFound)
	})
	return left
}

// TestLeft: a machine is let go without a word if our own request has removed its VM, or if it can have none. Otherwise it is
// said where to look, again at each deletion that follows.
func TestLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(*stage, *account, *cloud.Machine) *account
		left []string
	}{
		"deleted": {func(_ *stage, a *account, _ *cloud.Machine) *account { return a }, nil},
		"deleted by the process before": {func(v *stage, a *account, m *cloud.Machine) *account {
			letGo(v.t, a, m)
			return v.account()
		}, nil},
		"removed by somebody": {func(v *stage, _ *account, m *cloud.Machine) *account {
			v.Remove(m.Name)
			return v.account()
		}, []string{"last seen as vm-", "in the folder ", "Discovered virtual machine"}},
		"removed, and the record is lost": {func(v *stage, _ *account, m *cloud.Machine) *account {
			v.Remove(m.Name)
			m.Record = cloud.Record{}
			return v.account()
		}, []string{"no reference to it is known", "Discovered virtual machine"}},
		"removed when an earlier process may have asked": {func(v *stage, _ *account, m *cloud.Machine) *account {
			v.Remove(m.Name)
			m.Proof = cloud.Proof{Own: true}
			return v.account()
		}, []string{"no reference to it is known"}},
		"removed after our deletion failed unseen": {func(v *stage, _ *account, m *cloud.Machine) *account {
			m.Record.VSphere.Deletion = infrav1.DeletionAccepted
			m.Record = *expect.Got(v.account().Observe(v.t.Context(), *m))(v.t).Record
			v.Remove(m.Name)
			return v.account()
		}, []string{"last seen as vm-", "in the folder ", "Discovered virtual machine"}},
		"another vCenter accepted its deletion": {func(v *stage, _ *account, m *cloud.Machine) *account {
			v.Remove(m.Name)
			m.Record.VSphere = infrav1.VSphereRecord{Server: "another", Deletion: infrav1.DeletionAccepted}
			return v.account()
		}, []string{"no reference to it is known"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			a, m := v.account(), v.machine("m")
			m.Record, m.Asked = *running(t, a, m).Record, cloud.Existed
			a = c.do(v, a, &m)
			left := letGo(t, a, &m)
			expect.Same(t, "it is said what is left", c.left != nil, left != "")
			if c.left != nil {
				c.left = append(c.left, seen.IDOf(m), m.Name)
			}
			for _, part := range c.left {
				if !strings.Contains(left, part) {
					t.Errorf("%q does not say %q", left, part)
				}
			}
			v.Count()
			expect.Same(t, "what is left, once more", left, letGo(t, a, &m))
			expect.Same(t, "VMs", 0, len(v.VMs()))
		})
	}
}

// TestNothingLeft: a machine whose clone failed for certain, or that nobody asked for a VM for, leaves nothing.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m, never := v.account(), v.machine("m"), v.machine("never")
	m.Asked, never.Asked = cloud.NeverAsked, cloud.NeverAsked
	v.FailClones(&types.NoPermission{})
	expect.Got(a.Ensure(t.Context(), m))(t)
	wait.Until(t, "the clone to fail", func() (any, bool) { _, err := a.Ensure(t.Context(), m); return err, err != nil })
	for _, one := range []cloud.Machine{m, never} {
		expect.Same(t, one.Name+": what is left", "", letGo(t, a, &one))
	}
}

// TestLeftByFirstAsker: nobody but this process has asked for the VM. What it knows of its own request is enough for a word about
// what may be left: that the request was accepted, that its answer was lost, or that the VM was seen after that.
func TestLeftByFirstAsker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		loses, sees bool
		left        string
	}{
		"accepted, and never seen":        {false, false, "no reference to it is known"},
		"answer lost, and never seen":     {true, false, "no reference to it is known"},
		"answer lost, and seen after all": {true, true, "last seen as vm-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			a, m := v.account(), v.machine("m")
			m.Asked = cloud.NeverAsked
			later := stoppedClock(a)
			if c.loses {
				v.LoseAnswer()
			}
			_, err := a.Ensure(t.Context(), m)
			expect.Same(t, "the answer is lost", c.loses, err != nil)
			wait.Until(t, "the clone to run", func() (any, bool) {
				return nil, slices.Contains(v.VMs(), m.Name) &&
					v.Read(m.Name, "runtime.powerState").Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
			})
			if c.sees {
				running(t, a, m)
			}
			v.Remove(m.Name)
			later(next.LateRequest)
			expect.Same(t, "requests for clones", 1, v.Calls()["CloneVM_Task"])
			if left := letGo(t, a, &m); !strings.Contains(left, c.left) {
				t.Errorf("%q does not say %q", left, c.left)
			}
		})
	}
}

// TestDeletionAccepted: the answer that takes the request says so, until it is known that it came to nothing, or another VM is
// made.
func TestDeletionAccepted(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	m.Record, m.Asked = *running(t, a, m).Record, cloud.Existed
	for m.Record.VSphere.Deletion == "" {
		expect.Same(t, "requests to destroy it", 0, v.Calls()["Destroy_Task"])
		m.Record = *expect.Got(a.Delete(t.Context(), m))(t).Record
	}
	expect.Same(t, "requests to destroy it", 1, v.Calls()["Destroy_Task"])
	deleted(t, a, m)
	vm := running(t, a, m)
	expect.Same(t, "Record of the next VM", v.recorded(m.Name), vm.Record)
}

// TestDeletionOfWork: what is remembered of an accepted deletion.
func TestDeletionOfWork(t *testing.T) {
	t.Parallel()
	kept := infrav1.VSphereRecord{Server: "here", Deletion: infrav1.DeletionAccepted}
	m := machines.VSphere("m")
	m.Record.VSphere = kept
	for name, c := range map[string]struct {
		do   func(*ledger)
		want *cloud.Record
	}{
		"as it was kept": {func(*ledger) {}, nil},
		"it failed": {
			func(l *ledger) { _ = l.settle(m, failedWith(next.Destroy, &types.NoPermission{}), noon) }, &cloud.Record{},
		},
		"another is cloned":  {func(l *ledger) { l.begin(m, next.Job{Act: next.Clone}) }, &cloud.Record{}},
		"it is switched off": {func(l *ledger) { l.begin(m, next.Job{Act: next.SwitchOff}) }, nil},
		"it was accepted anew": {
			func(l *ledger) { l.begin(m, next.Job{Act: next.Clone}); l.begin(m, next.Job{Act: next.Destroy}) }, nil,
		},
	} {
		var l ledger
		l.use(m, noon)
		c.do(&l)
		l.use(m, noon)
		if c.want != nil {
			c.want.VSphere.Server = "here"
		}
		expect.Same(t, name, c.want, l.recall(m).record("here", kept))
	}
	expect.Same(t, "nothing is known", (*cloud.Record)(nil), work{}.record("here", infrav1.VSphereRecord{}))
}
