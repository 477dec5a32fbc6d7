package cloudtest

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// Run tests everything that package cloud promises, each promise on a new cloud.
func Run(t *testing.T, newHarness func(*testing.T) Harness) {
	counts := &proved.Tally{}
	for _, c := range append([]row{
		{"identity never changes", identity},
		{"observing nothing makes nothing", observeNothing},
		{"one VM, however often it is asked for", oneVM},
		{"one VM, however many ask for it at once", oneVMConcurrently},
		{"a lost answer does not double the VM", lostAnswer},
		{"a lost answer does not leave the VM behind", lostAnswerThenDelete},
		{"a VM under way is one that is being made", underWay},
		{"a running VM is reported", running},
		{"a VM that was stopped stays stopped", stopped},
		{"a VM that vanished is not found", vanished},
		{"the guest gets the user data as it is", userData},
		{"user data is read once, when a VM is asked for", userDataRead},
		{"a VM holds user data until its machine is settled", notYetSettled},
		{"a settled machine's user data are taken away, once", settled},
		{"a VM that was stopped loses its user data, too, and stays stopped", settledStopped},
		{"what a guest writes into its user data stays there", writtenByGuest},
		{"a settled machine gets no VM", settledWithoutVM},
		{"a settled machine's VM that is being made is awaited", settledWhileCreating},
		{"a stranger's VM keeps its user data", settledStranger},
		{"somebody else's VM is left alone", stranger},
		{"a VM that lost its marks is known by the cloud's own ID", unmarked},
		{"deleting nothing is done at once", deleteNothing},
		{"deleting leaves nothing", deleteAll},
		{"deleting while it is being made leaves nothing", deleteWhileCreating},
		{"a machine that never had a place can be deleted", deleteMisspelt},
		{"a server is the same for all its users, and no other", servers},
		{"a machine of another server is not looked for", elsewhere},
		{"wrong credentials", wrongCredentials},
		{"nobody answers", nobodyAnswers},
		{"the template is not there", noTemplate},
		{"user data is never printed", secrets},
		{"changes are sent", watchSends},
		{"all keys are sent after a lost connection", watchResends},
		{"VMs are known by their marks while there is a watch", marked},
		{"a VM that is made after all is known by its marks", markedLate},
		{"nothing stays of an account that is closed", closed},
	}, proofs...) {
		t.Run(c.name, func(t *testing.T) { c.test(world{newHarness(t), t, counts}) })
	}
	counts.Log(t, "whose VM it is, in the contract")
}

// row is a promise and its test.
type row struct {
	name string
	test func(world)
}

func identity(w world) {
	a, b := object("pool-a-worker-1", w.Spec), object("pool-a-worker-1", w.Spec)
	first, second := w.machineOf(a), w.machineOf(b)
	if first.Name == second.Name || first.ProviderID == second.ProviderID {
		w.t.Errorf("two machines are both %+v", first.Identity)
	}
	if !regexp.MustCompile(`^[a-z][a-z0-9-]{0,13}[a-z0-9]$`).MatchString(first.Name) {
		w.t.Errorf("%q is no name for a Windows computer", first.Name)
	}
	a.UID = types.UID("another one, after clusterctl move")
	if again := w.machineOf(a); again.Identity != first.Identity {
		w.t.Errorf("identity changes from %+v to %+v when the UID does", first.Identity, again.Identity)
	}
	for _, wrong := range []string{"other://1", first.ProviderID + "x", strings.ToUpper(first.ProviderID)} {
		a.Spec.ProviderID = wrong
		_, err := w.Provider.Identify(a)
		WantError(w.t, err, cloud.Invalid, infrav1.SpecInvalidReason)
	}
}

func observeNothing(w world) {
	c, m := w.process(), w.machine("m")
	w.wantAbsent(c, m)
	w.wantAbsent(c, m)
	w.wantVMs()
}

func oneVM(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	for range 3 {
		w.ensure(c, m)
		w.ensure(w.process(), m)
	}
	w.wantVMs(m.Name)
}

func oneVMConcurrently(w world) {
	m := w.machine("m")
	var all sync.WaitGroup
	for range 2 {
		c := w.process()
		for range 3 {
			all.Go(func() {
				for range 5 {
					if vm, err := c.Ensure(w.t.Context(), m); err != nil && !passes(err) {
						w.t.Errorf("Ensure = %+v, %v", vm, describe(err))
					}
				}
			})
		}
	}
	all.Wait()
	w.ensure(w.process(), m)
	w.wantVMs(m.Name)
}

func lostAnswer(w world) {
	c, m := w.process(), w.machine("m")
	w.LoseAnswer()
	_, err := c.Ensure(w.t.Context(), m)
	WantError(w.t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	w.ensure(c, m)
	w.ensure(w.process(), m)
	w.wantVMs(m.Name)
	w.remove(c, m)
	w.wantVMs()
}

func lostAnswerThenDelete(w world) {
	c, m := w.process(), w.machine("m")
	release := w.Hold()
	w.LoseAnswer()
	_, err := c.Ensure(w.t.Context(), m)
	WantError(w.t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	w.wantNotYetGone(c, m)
	w.wantNotYetGone(w.process(), m)
	release()
	w.remove(w.process(), m)
	w.wantVMs()
}

func underWay(w world) {
	c, m := w.process(), w.machine("m")
	release := w.Hold()
	for range 3 {
		vm, err := c.Ensure(w.t.Context(), m)
		if err != nil || vm.State != cloud.Creating || vm.Detail == "" {
			w.t.Errorf("Ensure = %+v, %v, want that it is being made, and how", vm, describe(err))
		}
		if vm := w.observe(c, m); vm.State != cloud.Creating || vm.Detail == "" {
			w.t.Errorf("Observe = %+v, want that it is being made, and how", vm)
		}
	}
	if vm, err := w.process().Ensure(w.t.Context(), m); err != nil || vm.State != cloud.Creating {
		w.t.Errorf("Ensure of another process = %+v, %v, want that it is being made", vm, describe(err))
	}
	release()
	w.ensure(c, m)
	w.wantVMs(m.Name)
}

// unrecorded leaves out what the cloud itself calls a VM.
var unrecorded = cmpopts.IgnoreFields(cloud.VM{}, "Record")

func running(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	w.Address(m.Name, "10.1.2.3")
	w.Report(m.Name, `{"state":"Running"}`)
	want := cloud.VM{
		State: cloud.Running, Size: w.Size, ImageVersion: w.ImageVersion,
		Addresses: []clusterv1.MachineAddress{
			{Type: clusterv1.MachineHostName, Address: m.Name},
			{Type: clusterv1.MachineInternalDNS, Address: m.Name},
			{Type: clusterv1.MachineInternalIP, Address: "10.1.2.3"},
		},
		UserData: !w.Keeps,
		Report:   w.heard(`{"state":"Running"}`),
	}
	if diff := cmp.Diff(want, w.observe(c, m), unrecorded); diff != "" {
		w.t.Errorf("Observe (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, w.ensure(c, m), unrecorded); diff != "" {
		w.t.Errorf("Ensure (-want +got):\n%s", diff)
	}
}

func stopped(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	w.PowerOff(m.Name)
	for _, c := range []cloud.Cloud{c, w.process()} {
		if vm := w.observe(c, m); vm.State != cloud.Stopped {
			w.t.Errorf("Observe = %+v, want %s", vm, cloud.Stopped)
		}
		if vm, err := c.Ensure(w.t.Context(), m); err != nil || vm.State != cloud.Stopped {
			w.t.Errorf("Ensure = %+v, %v, want %s", vm, describe(err), cloud.Stopped)
		}
	}
	w.remove(c, m)
	w.wantVMs()
}

func vanished(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	w.Remove(m.Name)
	w.wantAbsent(c, m)
	w.wantAbsent(w.process(), m)
	w.remove(c, m)
}

func deleteNothing(w world) {
	c, m := w.process(), w.machine("m")
	m.Asked = cloud.NeverAsked // no other process can have asked for it
	for range 2 {
		if _, err := c.Delete(w.t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
			w.t.Errorf("Delete = %v, want ErrNotFound", describe(err))
		}
	}
}

func deleteAll(w world) {
	c, gone, stays := w.process(), w.machine("gone"), w.machine("stays")
	w.ensure(c, gone)
	w.ensure(c, stays)
	w.remove(c, gone)
	w.wantVMs(stays.Name)
	w.remove(c, gone)
	w.wantAbsent(c, gone)
	w.remove(w.process(), stays)
	w.wantVMs()
}

func deleteWhileCreating(w world) {
	c, m := w.process(), w.machine("m")
	release := w.Hold()
	if _, err := c.Ensure(w.t.Context(), m); err != nil {
		w.t.Fatalf("ensure: %v", describe(err))
	}
	w.wantNotYetGone(c, m)
	w.wantNotYetGone(w.process(), m)
	release()
	w.remove(w.process(), m)
	w.remove(c, m)
	w.wantVMs()
}

// wantNotYetGone calls Delete several times and wants nil each time.
func (w world) wantNotYetGone(c cloud.Cloud, m cloud.Machine) {
	w.t.Helper()
	for range 3 {
		if _, err := c.Delete(w.t.Context(), m); err != nil {
			w.t.Errorf("Delete = %v while a request is under way, want nil", describe(err))
		}
	}
}

func deleteMisspelt(w world) {
	spec := w.Spec.DeepCopy()
	w.Misspell(spec)
	m := w.machineOf(object("m", *spec))
	c := w.process()
	_, _ = c.Ensure(w.t.Context(), m)
	w.remove(c, m)
}

func servers(w world) {
	server := func(c cloud.Cloud) string {
		id, err := c.Server(w.t.Context(), cloud.Key{})
		if err != nil || id == "" {
			w.t.Errorf("Server = %q, %v", id, describe(err))
		}
		return id
	}
	first, second := server(w.process()), server(w.process())
	if other := server(w.connect(w.AnotherServer())); first != second || first == other {
		w.t.Errorf("two processes are at %q and %q, one at another server at %q", first, second, other)
	}
}

func elsewhere(w world) {
	c, m := w.process(), w.machine("m")
	m.Server = "another"
	for _, ask := range []func(context.Context, cloud.Machine) (cloud.VM, error){c.Observe, c.Ensure, c.Delete} {
		var err error
		wait.Until(w.t, "an answer", func() (any, bool) { _, err = ask(w.t.Context(), m); return err, kind(err) != cloud.Later })
		WantError(w.t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	}
	w.wantVMs()
}

func wrongCredentials(w world) {
	w.wantSame(w.connect(w.WrongCredentials), w.machine("m"), cloud.Denied, infrav1.CredentialsRejectedReason)
}

func nobodyAnswers(w world) {
	w.wantSame(w.connect(w.DeadCredentials), w.machine("m"), cloud.Transient, infrav1.CloudUnreachableReason)
}

func noTemplate(w world) {
	spec := w.Spec.DeepCopy()
	w.Misspell(spec)
	c, m := w.process(), w.machineOf(object("m", *spec))
	for range 2 {
		_, err := c.Ensure(w.t.Context(), m)
		WantError(w.t, err, cloud.Invalid, infrav1.TemplateNotFoundReason)
	}
	w.wantVMs()
}

// wantSame wants the same error, with the same message, from all methods.
func (w world) wantSame(c cloud.Cloud, m cloud.Machine, kind cloud.Kind, reason string) {
	w.t.Helper()
	var messages []string
	for range 2 {
		_, observed := c.Observe(w.t.Context(), m)
		_, ensured := c.Ensure(w.t.Context(), m)
		_, deleted := c.Delete(w.t.Context(), m)
		_, asked := c.Server(w.t.Context(), cloud.Key{})
		for _, err := range []error{asked, observed, ensured, deleted} {
			WantError(w.t, err, kind, reason)
			messages = append(messages, err.Error())
		}
	}
	if slices.Sort(messages); len(slices.Compact(messages)) != 1 {
		w.t.Errorf("the message changes: %q", messages)
	}
}
