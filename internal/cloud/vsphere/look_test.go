package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// hasListed reports whether a watch has listed all VMs, so that no machine waits for the list any more.
func hasListed(a *account) bool {
	a.waiting.mu.Lock()
	defer a.waiting.mu.Unlock()
	return a.waiting.begun.IsZero() && a.inventory.IsSynced()
}

// lookWatched watches until the returned function is called, which waits for the end of the watch.
func lookWatched(t *testing.T, a *account) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Watch(ctx, func(...cloud.Key) {}) }()
	wait.Until(t, "the inventory", func() (any, bool) { listed := hasListed(a); return listed, listed })
	return func() {
		t.Helper()
		cancel()
		expect.OK(t, <-ended)
	}
}

// TestLookAfterGap: a VM that never ran is switched on and off by a person while no change is told. It is not switched on again.
func TestLookAfterGap(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	v.cloneBy(m, m.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	end := lookWatched(t, a)
	expect.Same(t, "State", cloud.Creating, expect.Got(a.Observe(t.Context(), m))(t).State)
	end()
	task := expect.Got(v.VM(m.Name).PowerOn(t.Context()))(t)
	v.Must(task.Wait(t.Context()))
	v.PowerOff(m.Name)
	later := stoppedClock(a)
	later(next.PushTime)
	defer lookWatched(t, a)()
	for range 3 {
		expect.Same(t, "State", cloud.Stopped, expect.Got(a.Ensure(t.Context(), m))(t).State)
	}
	expect.Same(t, "tasks that switch it on", 0, v.Calls()["PowerOnVM_Task"])
}

// TestLookRefused: a vCenter that does not let us look has not said that there is no VM.
func TestLookRefused(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"FindChild", "FindByUuid", "FindByInventoryPath"} {
		v := newStage(t)
		v.Deny(method, "System.View")
		_, err := v.account().Observe(t.Context(), v.machine("m"))
		cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
	}
}

// TestLookAtFolder: the name is that of a folder, which is no VM and leaves no room for one.
func TestLookAtFolder(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	folder := expect.Got(find.NewFinder(v.Client).Folder(t.Context(), "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder))(t)
	expect.Got(folder.CreateFolder(t.Context(), m.Name))(t)
	_, err := v.account().Ensure(t.Context(), m)
	cloudtest.WantError(t, err, cloud.Invalid, infrav1.NameTakenReason)
	if _, err = v.account().Observe(t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Observe = %v", err)
	}
	expect.Same(t, "clones", 0, v.Calls()["CloneVM_Task"])
}

// TestLookIntoGoneFolder: the folder that was found is gone by now. A machine for which nobody asked for a VM has none.
func TestLookIntoGoneFolder(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	m.Asked = cloud.NeverAsked
	for range 2 {
		if _, err := a.Observe(t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("Observe = %v", err)
		}
		folder, err := find.NewFinder(v.Client).Folder(t.Context(), "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder)
		if err == nil {
			task := expect.Got(folder.Destroy(t.Context()))(t)
			v.Must(task.Wait(t.Context()))
		}
	}
}

// TestLookIntoFolderThatGoes: the folder was read, and is gone when the name is looked for in it. There is no VM in it then.
func TestLookIntoFolderThatGoes(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	folder := expect.Got(find.NewFinder(v.Client).Folder(t.Context(), "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder))(t)
	var looks atomic.Int32
	a, _ := through(t, v, func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method == "FindChild" && looks.Add(1) == 1 {
			v.done(folder.Destroy(context.Background()))
		}
		next.ServeHTTP(w, r)
	})
	f := expect.Got(a.look(t.Context(), v.machine("m"), next.Survey{}))(t)
	expect.Same(t, "a VM is found", false, f.VM != nil)
	expect.Same(t, "looks", int32(1), looks.Load())
}

// TestLookAtOthersVM: an object with another id is not the machine's VM, whatever its reference or its name is.
func TestLookAtOthersVM(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m, other := v.machine("m"), v.machine("other")
	running(t, v.account(), other)
	ref := v.VM(other.Name).Reference()
	for _, how := range []seen.Way{seen.ByReference, seen.ByID, seen.ByName} {
		got := expect.Got(readOwner(t.Context(), v.Client, m, ref, how))(t)
		expect.Same(t, "whose it is", cloud.Foreign, got.Whose)
	}
}

// TestLookAtUnreadable: what cannot be read is there, and nobody's yet. The object that was a machine's VM is not gone.
func TestLookAtUnreadable(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	running(t, v.account(), m)
	ref := v.VM(m.Name).Reference()
	v.Update(ref, types.PropertyChange{Name: "config.instanceUuid", Val: ""})
	for _, how := range []seen.Way{seen.ByReference, seen.ByID, seen.ByName} {
		got := expect.Got(readOwner(t.Context(), v.Client, m, ref, how))(t)
		expect.Same(t, "whose it is", cloud.Unseen, got.Whose)
		expect.Same(t, "what is there", ref, got.VM.Ref)
	}
}

// TestLookWhileIDMoves: the VM that the vCenter finds by the machine's id has another id when it is read. It is not the
// machine's, and its name is not in the way, so that it counts as not found.
func TestLookWhileIDMoves(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m, moved := v.machine("m"), false
	v.Occupy("stranger")
	v.identify("stranger", seen.IDOf(m))
	door := v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "FindByUuid" {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		moved = true
		v.identify("stranger", "50112233-4455-6677-8899-aabbccddeeff")
		_, _ = w.Write(answer.Body.Bytes())
	})
	t.Cleanup(door.Close)
	a := lateConnect(t, door.Credentials())
	f := expect.Got(a.look(t.Context(), m, next.Survey{}))(t)
	expect.Same(t, "the id has moved", true, moved)
	expect.Same(t, "a VM is found", false, f.VM != nil)
}

// TestLookLeftOut: an object that is left out of an answer is one that the account may not see. Its folder would be taken for
// readable otherwise, and a VM in it for gone. The answer without any object has no returnval (vSphere Web Services API,
// RetrievePropertiesEx).
func TestLookLeftOut(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	running(t, v.account(), m)
	folder := expect.Got(find.NewFinder(v.Client).Folder(t.Context(), "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder))(t).Reference()
	var leavesOut atomic.Bool
	a, _ := through(t, v, func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method == "RetrievePropertiesEx" && leavesOut.Load() {
			_, _ = fmt.Fprint(w, `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>`+
				`<RetrievePropertiesExResponse xmlns="urn:vim25"/></s:Body></s:Envelope>`)
			return
		}
		next.ServeHTTP(w, r)
	})
	expect.OK(t, a.canRead(t.Context(), folder))
	leavesOut.Store(true)
	expect.Same(t, "the folder is hidden", true, session.Hidden(a.canRead(t.Context(), folder)))
	_, err := a.Observe(t.Context(), m)
	wantRefused(t, err)
}

// TestLookAnewToDelete: what was found out about clones when the VM was to be made does not do when the machine is deleted: one
// that was begun since then may make its VM.
func TestLookAnewToDelete(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	running, err := a.clones.Rivals(t.Context(), m, time.Time{})
	expect.OK(t, err)
	expect.Same(t, "rivals", false, running)
	release := v.BeginClone(vcenter.Username, vcenter.Template)
	expect.Got(a.Delete(t.Context(), m))(t) // nil while one may appear
	release()
	wait.Until(t, "the machine to be let go", func() (any, bool) {
		_, err := a.Delete(t.Context(), m)
		return err, errors.Is(err, cloud.ErrNotFound)
	})
}

// TestLookByName: a VM that was made a moment ago, or that the account may see again since a moment, may not be in the inventory
// yet. So its name is looked for: one call.
func TestLookByName(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	defer lookWatched(t, a)()
	for _, m.Asked = range []cloud.Asked{cloud.MaybeAsked, cloud.Existed} {
		v.Count()
		expect.Same(t, "there is a VM", false, expect.Got(a.byName(t.Context(), m, next.Survey{}))(t).VM != nil)
		expect.Same(t, "looks", 1, v.Count()["FindChild"])
	}
}

// TestLookWherePlaceIsGone: a place that is not found is a fault of the spec as long as no VM of the machine was there. Where one
// was, the place may be hidden, so that nothing is proved, and it is looked for again.
func TestLookWherePlaceIsGone(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	for what, c := range map[string]struct {
		asked cloud.Asked
		kept  string
		want  cloud.Kind
	}{
		"it never had a VM":     {cloud.NeverAsked, "", cloud.Invalid},
		"it may have had a VM":  {cloud.MaybeAsked, "", cloud.Invalid},
		"it had a VM":           {cloud.Existed, "", cloud.Denied},
		"its VM was seen there": {cloud.MaybeAsked, "vm-404", cloud.Denied},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m, s := v.machine("m"), next.Survey{}
			m.Asked, m.Spec.VSphere.Folder = c.asked, "no-such-folder"
			if c.kept != "" {
				s.Memory.Object = seen.RefOf(c.kept)
			}
			f, err := v.account().look(t.Context(), m, s)
			expect.Same(t, "a VM is found", false, f.VM != nil)
			cloudtest.WantError(t, err, c.want, infrav1.PlacementNotFoundReason)
		})
	}
}
