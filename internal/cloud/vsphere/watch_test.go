package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/sets"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// watching is a watch that is started again when it ends, as accounts does.
type watching struct {
	mu   sync.Mutex
	sent map[cloud.Key]int
}

// watchOn does not wait until the account is in sync.
func watchOn(t *testing.T, a *account) *watching {
	t.Helper()
	w := &watching{sent: map[cloud.Key]int{}}
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			_ = a.Watch(ctx, w.note)
		}
	})
	t.Cleanup(func() {
		end()
		running.Wait()
	})
	return w
}

func (w *watching) note(keys ...cloud.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range sets.New(keys...) {
		w.sent[key]++
	}
}

// times is how often a key was sent.
func (w *watching) times(key cloud.Key) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[key]
}

// awaitTimes waits until each machine was woken so often.
func (w *watching) awaitTimes(t *testing.T, machines []cloud.Machine, want int) {
	t.Helper()
	for _, m := range machines {
		wait.Until(t, fmt.Sprintf("key %s, %d times", m.Key.Name, want), func() (any, bool) {
			n := w.times(m.Key)
			return n, n >= want
		})
	}
}

func machinesOf(t *testing.T, v *stage, n int) (all []cloud.Machine) {
	t.Helper()
	a := v.account()
	for i := range n {
		m := v.machine(fmt.Sprint("m", i))
		running(t, a, m)
		m.Asked = cloud.Existed
		all = append(all, m)
	}
	return all
}

func wantLater(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*cloud.Error](err); !ok || e.Kind != cloud.Later || e.After <= 0 || e.After > firstSnapshot {
		t.Fatalf("error = %v, want Later, in at most %s", err, firstSnapshot)
	}
}

// TestRestartAsksNothing: a process that starts, or has lost its connection, waits for the list of VMs. It asks for none of them,
// and wakes each once.
func TestRestartAsksNothing(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	machines := machinesOf(t, v, 5)
	a := v.account()
	holdLists(a)
	held := v.HoldMethod("WaitForUpdatesEx")
	t.Cleanup(held.Release)
	w := watchOn(t, a)
	wait.Until(t, "the wait for all VMs", func() (any, bool) { now, _ := held.Now(); return now, now == 1 })
	v.Count()
	for _, m := range machines {
		_, err := a.Observe(t.Context(), m)
		wantLater(t, err)
		_, err = a.Ensure(t.Context(), m)
		wantLater(t, err)
		wantLater(t, expect.ErrorOf(a.Delete(t.Context(), m)))
	}
	created := v.machine("new") // has no VM whose key could be sent
	_, err := a.Ensure(t.Context(), created)
	wantLater(t, err)
	expect.Got(a.Server(t.Context(), cloud.Key{}))(t)
	compare(t, "before the first list", v, map[string]int{})
	expect.Same(t, "keys before the first list", 0, len(w.sent))
	held.Release()
	w.awaitTimes(t, append(machines, created), 1)
	for _, m := range machines {
		vm := expect.Got(a.Observe(t.Context(), m))(t)
		expect.Same(t, "state", cloud.Running, vm.State)
		expect.Same(t, "keys", 1, w.times(m.Key))
	}
	compare(t, "after it", v, map[string]int{"ModifyListView": 1})
}

// TestRestartOf5000: what a restart asks of a vCenter is its pages of VMs, those of what the guests of ours report, and a few
// calls beside. Each machine is woken once.
func TestRestartOf5000(t *testing.T) {
	t.Parallel()
	const count, most = 5000, 2*5000/100 + 20
	v := newStage(t)
	machines := make([]cloud.Machine, count)
	for i := range machines {
		machines[i] = v.machine(fmt.Sprint("m", i))
	}
	crowd := vcenter.Crowd(count, func(n int) string {
		m := machines[n]
		return vcenter.Property("config.instanceUuid", "xsd:string", seen.IDOf(m)) +
			vcenter.Property("runtime.powerState", "VirtualMachinePowerState", "poweredOn") +
			vcenter.Property("runtime.connectionState", "VirtualMachineConnectionState", "connected") +
			vcenter.Extra(seen.MarkOwner, m.Key.String()) + vcenter.Extra(seen.MarkProviderID, m.ProviderID)
	})
	var calls atomic.Int32
	door := v.Open(func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		next.ServeHTTP(w, r)
	}, crowd)
	t.Cleanup(door.Close)
	a := prompt(expect.Got(Provider{}.Connect("", door.Credentials()))(t))
	start := time.Now()
	w := watchOn(t, a)
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	w.awaitTimes(t, machines, 1)
	for _, m := range machines {
		vm := expect.Got(a.Observe(t.Context(), m))(t)
		expect.Same(t, "state", cloud.Running, vm.State)
		expect.Same(t, "keys", 1, w.times(m.Key))
	}
	t.Logf("%d calls, %s", calls.Load(), time.Since(start).Round(time.Millisecond))
	if n := calls.Load(); n > most {
		t.Errorf("%d calls, want at most %d", n, most)
	}
}

// TestReconnectWakesOnce: a lost connection wakes no machine before its VM is known again.
func TestReconnectWakesOnce(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	machines := machinesOf(t, v, 3)
	a := v.account()
	w := watchOn(t, a)
	w.awaitTimes(t, machines, 1)
	held := v.HoldMethod("WaitForUpdatesEx")
	t.Cleanup(held.Release)
	v.CloseClientConnections()
	wait.Until(t, "the new wait", func() (any, bool) { now, _ := held.Now(); return now, now >= 1 && !a.inventory.IsSynced() })
	for _, m := range machines {
		expect.Same(t, "keys", 1, w.times(m.Key))
	}
	held.Release()
	w.awaitTimes(t, machines, 2)
}

// TestEachFilterCounts: a watch that is not told of VMs, or not of tasks, is not made. It would miss what happens.
func TestEachFilterCounts(t *testing.T) {
	t.Parallel()
	for n, what := range []string{"tasks", "guests", "VMs"} {
		v := newStage(t)
		var filters atomic.Int32
		door := v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
			if method == "CreateFilter" {
				v.Deny(method, "")
				if int(filters.Add(1)) == n+1 {
					v.Deny(method, "System.View")
				}
			}
			next.ServeHTTP(w, r)
		})
		t.Cleanup(door.Close)
		_, err := lateConnect(t, door.Credentials()).newWatcher(t.Context())
		wantRefused(t, err)
		expect.Same(t, "filters before it is given up for want of "+what, n+1, int(filters.Load()))
		calls := v.Calls()
		expect.Same(t, "collectors that are left", calls["CreatePropertyCollector"], calls["DestroyPropertyCollector"])
		expect.Same(t, "views that are left", calls["CreateContainerView"]+calls["CreateListView"], calls["DestroyView"])
	}
}

// TestLimitedUser: one who may not see the root folder is told of the VMs in the folders that specs name, also of those that are
// named later.
func TestLimitedUser(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	machines := machinesOf(t, v, 2)
	a := prompt(expect.Got(Provider{}.Connect("", with(v.Credentials(), "username", vcenter.Limited)))(t))
	holdLists(a)
	w := watchOn(t, a)
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	misspelt := v.machine("misspelt")
	misspelt.Spec.VSphere.Folder, misspelt.Asked = "no-such-folder", cloud.NeverAsked
	for _, m := range append([]cloud.Machine{misspelt}, machines...) {
		wait.Until(t, "the machine to be seen", func() (any, bool) {
			_, err := a.Observe(t.Context(), m)
			return err, err == nil || errors.Is(err, cloud.ErrNotFound)
		})
	}
	w.awaitTimes(t, machines, 1)
	wait.Until(t, "the inventory", func() (any, bool) {
		n := len(a.inventory.Machines())
		return n, n == len(machines) && hasListed(a)
	})
	if a.inventory.Lacks(v.machine("elsewhere")) {
		t.Error("what is not in these folders counts as gone")
	}
	v.Count()
	before := w.times(machines[0].Key)
	v.SetExtra(machines[0].Name, seen.ReportKey, "x")
	wait.Until(t, "the change", func() (any, bool) { n := w.times(machines[0].Key); return n, n > before })
	vm := expect.Got(a.Observe(t.Context(), machines[0]))(t)
	expect.Same(t, "report", "x", vm.Report)
	compare(t, "for a change", v, map[string]int{})
}

// TestFoldersAreBounded: a tenant who writes specs without end does not fill the list of folders.
func TestFoldersAreBounded(t *testing.T) {
	t.Parallel()
	var f folders
	for i := range 10 * maxFolders {
		f.note(&infrav1.VSphereVM{Datacenter: vcenter.Datacenter, Folder: fmt.Sprint(i)})
	}
	all, _ := f.list()
	expect.Same(t, "folders", maxFolders, len(all))
}

// TestUnaskedCloneIsNotLost: a clone that was never asked for makes no one wait for it.
func TestUnaskedCloneIsNotLost(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	wantAbsent(t, a, m)
	ctx, leave := a.session.Visit(t.Context())
	for range session.InFlight {
		ctx, end := a.session.Visit(t.Context())
		expect.OK(t, a.session.Enter(ctx))
		t.Cleanup(end)
	}
	wantLater(t, a.start(ctx, m, next.SwitchOn, types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}))
	wantLater(t, a.start(ctx, m, next.Clone, types.ManagedObjectReference{}))
	leave()
	expect.Same(t, "an answer was lost", true, a.ledger.recall(m).AnswerLost.IsZero())
}
