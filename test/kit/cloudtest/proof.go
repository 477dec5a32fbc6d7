package cloudtest

import (
	"errors"

	gocmp "github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
)

// proofs are the promises about whose a VM is, each tried with a second machine, process, server, management cluster or VM.
var proofs = []row{
	{"a machine with another's identity does not get its VM", copiedIdentity},
	{"nor does it in another process", copiedIdentityRestarted},
	{"what another server gave proves nothing", anotherServersRecord},
	{"the IDs of another server prove nothing", anotherServersIDs},
	{"all marks and another ID are held", replaced},
	{"a VM of another management cluster is proved by its user data", anotherManager},
	{"a VM that is where nobody looks is not let go", displaced},
	{"IDs of another machine show nothing of its VM", copiedRecord},
	{"a VM that is known by its ID alone wakes its machine", watchedByID},
	{"a VM that is gone without a deletion of ours is told", gone},
}

// copyOf is a machine that a user made with the identity of another one. Its owning Machine has the identity, too.
func copyOf(m cloud.Machine) cloud.Machine {
	m.Key, m.UID = cloud.Key{Namespace: "tenant", Name: m.Key.Name}, "of the copy"
	m.Proof = cloud.Proof{Vouched: true}
	return m
}

// wantNothing calls all methods for a machine to which no VM is proved to belong, and wants no VM to be shown, made or removed.
// Those that hold the machine MUST be errors: nothing says that its VM is gone.
func (w world) wantNothing(c cloud.Cloud, m cloud.Machine, held bool) {
	w.t.Helper()
	w.counts.Rows.Add(1)
	vms, before := w.VMs(), map[string]string{}
	for _, name := range vms {
		before[name] = w.Inspect(name)
	}
	for what, call := range map[string]func() (cloud.VM, error){
		"Observe": func() (cloud.VM, error) { return c.Observe(w.t.Context(), m) },
		"Ensure":  func() (cloud.VM, error) { return c.Ensure(w.t.Context(), m) },
		"Delete":  func() (cloud.VM, error) { return c.Delete(w.t.Context(), m) },
	} {
		for range 4 {
			vm, err := call()
			if shows(vm) {
				proved.Fail(w.t, &w.counts.ForeignShown, "%s = %+v, %v shows a VM that is not proved to be the machine's", what, vm,
					describe(err))
			}
			if held && errors.Is(err, cloud.ErrNotFound) {
				proved.Fail(w.t, &w.counts.LetGo, "%s = %v, but the VM is there and may be the machine's", what, describe(err))
			}
		}
	}
	switch now := w.VMs(); {
	case len(now) < len(vms):
		proved.Fail(w.t, &w.counts.ForeignDeleted, "a VM that is not proved to be the machine's was deleted: %q of %q are left",
			now, vms)
	case len(now) > len(vms):
		proved.Fail(w.t, &w.counts.SecondVMs, "a second VM was made: %q beside %q", now, vms)
	}
	for name, was := range before {
		if diff := gocmp.Diff(was, w.Inspect(name)); diff != "" {
			w.t.Errorf("the VM %s was changed (-before +after):\n%s", name, diff)
		}
	}
}

// shows says that something of a VM is told that only the VM itself has.
func shows(vm cloud.VM) bool {
	told := vm.State != cloud.Creating || len(vm.Addresses) > 0 || vm.Report != "" || vm.ImageVersion != "" || vm.UserData
	return told || vm.Record != nil && !gocmp.Equal(*vm.Record, cloud.Record{})
}

// copiedIdentity has the copy meet a process that has made the VM and looked after it.
func copiedIdentity(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	w.Address(m.Name, "10.1.2.3")
	w.observe(c, m)
	w.wantNothing(c, copyOf(m), true)
	unknown := copyOf(m)
	unknown.Vouched = false
	w.wantNothing(c, unknown, true)
	w.observe(c, m)
	w.remove(c, m)
	w.wantVMs()
}

// copiedIdentityRestarted has the copy come first, and the machine keep or lose its record.
func copiedIdentityRestarted(w world) {
	m := w.machine("m")
	w.ensure(w.process(), m)
	c := w.process()
	w.wantNothing(c, copyOf(m), true)
	m.Asked = cloud.Existed
	m.Record = *w.observe(c, m).Record
	w.wantNothing(c, copyOf(m), true)
	w.Unmark(m.Name)
	w.observe(c, m)
	w.wantNothing(c, copyOf(m), true)
	w.remove(c, m)
	w.wantVMs()
}

// anotherServersRecord has a server that a user chose show a VM that is all the machine's, and then looks for it at the real one,
// where a VM of its name is somebody else's.
func anotherServersRecord(w world) {
	chosen, c, m := w.connect(w.AnotherServer()), w.process(), w.machine("m")
	w.ensure(chosen, m)
	m.Asked, m.Record = cloud.Existed, *w.observe(chosen, m).Record
	if !gocmp.Equal(m.Record.GivenBy(""), cloud.Record{}) {
		w.t.Errorf("the record %+v has no server", m.Record)
	}
	w.Occupy(m.Name)
	w.wantNothing(c, m, false)
}

// anotherServersIDs has a record with the IDs of a VM, which another server gave.
func anotherServersIDs(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	m.Asked, m.Record = cloud.Existed, *w.observe(c, m).Record
	w.Unmark(m.Name)
	if m.Record.VSphere.Server != "" {
		m.Record.VSphere.Server = "chosen"
	}
	if m.Record.Azure.Server != "" {
		m.Record.Azure.Server = "chosen"
	}
	w.wantNothing(w.process(), m, true)
}

// replaced has somebody restore the machine's VM from a backup, which the cloud gives another ID.
func replaced(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	m.Asked, m.Record = cloud.Existed, *w.observe(c, m).Record
	w.Replace(m.Name)
	w.wantNothing(w.process(), m, true)
}

// anotherManager has two management clusters with a machine of the same names, and a copied Machine. The user data that the VM
// was made with prove that it moved, and so does the operator's word.
func anotherManager(w world) {
	made := w.machine("m")
	made.Cluster.Manager = "there"
	w.ensure(w.process(), made)
	m := made
	m.UID, m.Cluster.Manager, m.Cluster.UID = "after the move", "here", "new"
	for _, asked := range []cloud.Asked{cloud.Existed, cloud.MaybeAsked} {
		m.Proof = cloud.Proof{Vouched: true, Asked: asked}
		w.wantNothing(w.process(), m, true)
		m.Digest = cloud.DigestOf(m.ProviderID, cloud.UserData("those of another machine"))
		w.wantNothing(w.process(), m, true)
		m.TookOver = append(m.TookOver, "another")
		w.wantNothing(w.process(), m, true)
	}
	m.Proof = cloud.Proof{TookOver: append(m.TookOver, "there")}
	w.observe(w.process(), m)
	m.Proof = cloud.Proof{Digest: cloud.DigestOf(m.ProviderID, userDataOf(m.Key.Name))}
	c := w.process()
	w.ensure(c, m)
	w.remove(c, m)
	w.wantVMs()
}

// displaced has a VM run on where the cloud does not show it as usual.
func displaced(w world) {
	w.counts.Rows.Add(1)
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	m.Asked, m.Record = cloud.Existed, *w.observe(c, m).Record
	w.Displace(m.Name)
	for _, c := range []cloud.Cloud{c, w.process()} {
		for range 10 {
			if vm, err := c.Observe(w.t.Context(), m); errors.Is(err, cloud.ErrNotFound) {
				proved.Fail(w.t, &w.counts.LetGo, "Observe = %+v, %v, but the VM runs", vm, describe(err))
			}
		}
	}
	w.Return(m.Name)
	w.remove(c, m)
	w.wantVMs()
}

// copiedRecord has a restore give a machine the record of another one.
func copiedRecord(w world) {
	w.counts.Rows.Add(1)
	c, a, b := w.process(), w.machine("a"), w.machine("b")
	w.ensure(c, a)
	w.ensure(c, b)
	w.Address(a.Name, "10.1.2.3")
	before := w.Inspect(a.Name)
	b.Asked, b.Record = cloud.Existed, *w.observe(c, a).Record
	for _, c := range []cloud.Cloud{c, w.process()} {
		for range 4 {
			vm, _ := c.Observe(w.t.Context(), b)
			deleted, _ := c.Delete(w.t.Context(), b)
			for _, one := range append(vm.Addresses, deleted.Addresses...) {
				if one.Type == clusterv1.MachineInternalIP && one.Address == "10.1.2.3" {
					proved.Fail(w.t, &w.counts.ForeignShown, "the other machine's VM is shown: %+v, %+v", vm, deleted)
				}
			}
		}
	}
	if diff := gocmp.Diff(before, w.Inspect(a.Name)); diff != "" {
		w.t.Errorf("the VM was changed (-before +after):\n%s", diff)
	}
}

// watchedByID: a machine is woken by what happens to its VM, whatever its marks are; a copy of the machine is not.
func watchedByID(w world) {
	c, m := w.process(), w.machine("m")
	l := w.watch(c)
	w.ensure(c, m)
	m.Asked, m.Record = cloud.Existed, *w.observe(c, m).Record
	evil := copyOf(m)
	_, _ = c.Observe(w.t.Context(), evil)
	woken := l.count(evil)
	w.wantKey(l, m, "its marks are taken off", func() { w.Unmark(m.Name) })
	w.observe(c, m)
	w.wantKey(l, m, "it is switched off", func() { w.PowerOff(m.Name) })
	w.observe(c, m)
	w.wantKey(l, m, "it is gone", func() { w.Remove(m.Name) })
	if n := l.count(evil); n != woken {
		w.t.Errorf("the machine with its identity was woken %d times", n-woken)
	}
}

// gone wants a machine that is let go to have had its VM deleted by the cloud at our request, or to be told what to look for.
func gone(w world) {
	c, m, never := w.process(), w.machine("m"), w.machine("never")
	never.Asked = cloud.NeverAsked
	w.wantLeft(c, never, false)
	w.ensure(c, m)
	m.Asked, m.Record = cloud.Existed, *w.observe(c, m).Record
	vanished := m
	w.Remove(m.Name)
	w.wantLeft(w.process(), vanished, true)
	m = w.machine("another")
	w.ensure(c, m)
	m.Asked, m.Record = cloud.Existed, *w.observe(c, m).Record
	for m.Record.Azure.Deletion == "" && m.Record.VSphere.Deletion == "" {
		vm, err := c.Delete(w.t.Context(), m)
		if err != nil && !passes(err) {
			w.t.Fatalf("Delete = %+v, %v, before the record says that the cloud accepted it", vm, describe(err))
		}
		if vm.Record != nil {
			m.Record = *vm.Record
		}
	}
	if got := m.Record.Azure.Deletion + m.Record.VSphere.Deletion; got != infrav1.DeletionAccepted {
		w.t.Errorf("the record says %q", got)
	}
	w.wantLeft(w.process(), m, false)
	w.wantVMs()
}

// wantLeft deletes a machine until it is let go, as the controllers do, and wants to be told what to look for, or nothing.
func (w world) wantLeft(c cloud.Cloud, m cloud.Machine, want bool) {
	w.t.Helper()
	for {
		vm, err := c.Delete(w.t.Context(), m)
		if vm.Record != nil {
			m.Record = *vm.Record
		}
		if errors.Is(err, cloud.ErrNotFound) {
			if (vm.Left != "") != want {
				w.t.Errorf("%s is let go, and what is left is %q", m.Key.Name, vm.Left)
			}
			return
		}
		if err != nil && !passes(err) {
			w.t.Fatalf("Delete = %v", describe(err))
		}
	}
}
