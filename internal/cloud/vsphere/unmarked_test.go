package vsphere

import (
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// wakesAlone waits for the machine's key after an act, and no other key may come.
func wakesAlone(t *testing.T, keys <-chan cloud.Key, m cloud.Machine, what string, act func()) {
	t.Helper()
	for len(keys) > 0 {
		expect.Same(t, "a key before it is "+what, m.Key, <-keys)
	}
	act()
	select {
	case key := <-keys:
		expect.Same(t, "key when it is "+what, m.Key, key)
	case <-time.After(wait.Patience):
		t.Fatalf("no machine is woken when the VM is %s", what)
	}
}

// knownWithoutCall waits until a look at a machine costs no call, and then looks some times more.
func knownWithoutCall(t *testing.T, v *stage, a *account, m cloud.Machine) {
	t.Helper()
	wait.Until(t, "a look without a call", func() (any, bool) {
		v.Count()
		expect.Got(a.Observe(t.Context(), m))(t)
		calls := v.Count()
		return calls, sum(calls) == 0
	})
	for range 5 {
		expect.Got(a.Observe(t.Context(), m))(t)
	}
	compare(t, "for five looks", v, map[string]int{})
}

// TestUnmarkedIsWatched: a VM that is the machine's by its reference and its id alone, because a person took its marks off, is
// watched like any other: by the process that saw them go, and by the next one.
func TestUnmarkedIsWatched(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*stage, *account) *account{
		"by the same process": func(_ *stage, a *account) *account { return a },
		"by the next process": func(v *stage, _ *account) *account { return v.account() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			first, m := v.account(), v.machine("m")
			m.Record, m.Asked = *running(t, first, m).Record, cloud.Existed
			for i := range 3 { // whose VMs have marks
				running(t, first, v.machine(fmt.Sprint("other", i)))
			}
			a := next(v, first)
			above := expect.Got(find.NewFinder(v.Client).Folder(t.Context(), "/"+vcenter.Datacenter+"/vm"))(t).Reference()
			unmark := func() {
				v.SetExtra(m.Name, markOwner, "")
				v.SetExtra(m.Name, markProviderID, "")
			}
			if a != first {
				unmark()
			}
			keys := watched(t, a)
			if a == first {
				unmark()
			}
			marked := 4
			if a != first {
				marked = 3
			}
			for woken := map[cloud.Key]bool{}; len(woken) < marked; {
				woken[<-keys] = true
			}
			knownWithoutCall(t, v, a, m)
			wakesAlone(t, keys, m, "heard of", func() { v.SetExtra(m.Name, reportKey, "r") })
			expect.Same(t, "report", "r", expect.Got(a.Observe(t.Context(), m))(t).Report)
			wakesAlone(t, keys, m, "stopped", func() { v.PowerOff(m.Name) })
			expect.Same(t, "state", cloud.Stopped, expect.Got(a.Observe(t.Context(), m))(t).State)
			wakesAlone(t, keys, m, "moved", func() { v.Move(v.VM(m.Name).Reference(), above) })
			v.Count()
			expect.Same(t, "Record", v.recorded(m.Name), expect.Got(a.Observe(t.Context(), m))(t).Record)
			compare(t, "after all of that", v, map[string]int{})
			wakesAlone(t, keys, m, "removed", func() { v.Remove(m.Name) })
			wantAbsent(t, a, m)
		})
	}
}
