package vsphere

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// waking is something that is done to a VM, and whether a look shows it.
type waking struct {
	what  string
	do    func()
	shows func() bool
}

// wakesAlone waits for the machine's key after an act, with which a look shows what was done, and no other key may come. A key of
// what was done before may still be under way.
func wakesAlone(t *testing.T, keys <-chan cloud.Key, m cloud.Machine, a waking) {
	t.Helper()
	a.do()
	for woken := false; !woken || !a.shows(); woken = true {
		select {
		case key := <-keys:
			expect.Same(t, "key when it is "+a.what, m.Key, key)
		case <-time.After(wait.Patience):
			t.Fatalf("no machine is woken when the VM is %s", a.what)
		}
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
				v.SetExtra(m.Name, seen.MarkOwner, "")
				v.SetExtra(m.Name, seen.MarkProviderID, "")
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
			observed := func() cloud.VM { return expect.Got(a.Observe(t.Context(), m))(t) }
			for _, one := range []waking{
				{"heard of", func() { v.SetExtra(m.Name, seen.ReportKey, "r") }, func() bool { return observed().Report == "r" }},
				{"stopped", func() { v.PowerOff(m.Name) }, func() bool { return observed().State == cloud.Stopped }},
				{
					"moved", func() { v.Move(v.VM(m.Name).Reference(), above) },
					func() bool { return cmp.Equal(v.recorded(m.Name), observed().Record) },
				},
			} {
				wakesAlone(t, keys, m, one)
			}
			v.Count()
			expect.Same(t, "Record", v.recorded(m.Name), observed().Record)
			compare(t, "after all of that", v, map[string]int{})
			wakesAlone(t, keys, m, waking{"removed", func() { v.Remove(m.Name) }, func() bool {
				_, err := a.Observe(t.Context(), m)
				return errors.Is(err, cloud.ErrNotFound)
			}})
		})
	}
}
