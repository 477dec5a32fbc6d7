package vsphere

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// copiedBy is a machine of a tenant who has the same login, and wrote the identity of another machine into a new object and into
// its owning Machine.
func copiedBy(m cloud.Machine, namespace string) cloud.Machine {
	return cloud.Machine{
		Identity: m.Identity, Key: cloud.Key{Namespace: namespace, Name: m.Key.Name}, UID: "of the copy", Spec: m.Spec,
		UserData: m.UserData, Proof: cloud.Proof{Vouched: true},
	}
}

// TestCopiedIdentity: a copy of a machine gets nothing of its VM: not from the process that made it, not after a restart, and not
// from one that was given the machine's record.
func TestCopiedIdentity(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*stage, *account, cloud.Machine) *account{
		"the same process": func(_ *stage, a *account, _ cloud.Machine) *account { return a },
		"a restart":        func(v *stage, _ *account, _ cloud.Machine) *account { return v.account() },
		"a restart, and the machine is looked at first": func(v *stage, _ *account, m cloud.Machine) *account {
			a := v.account()
			expect.Got(a.Observe(v.t.Context(), m))(v.t)
			return a
		},
		"watched": func(v *stage, _ *account, m cloud.Machine) *account {
			a := v.account()
			watched(v.t, a)
			expect.Got(a.Observe(v.t.Context(), m))(v.t)
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			a, m := v.account(), v.machine("m")
			m.Record, m.Asked = *running(t, a, m).Record, cloud.Existed
			v.SetExtra(m.Name, seen.ReportKey, `{"state":"Running"}`)
			a = next(v, a, m)
			v.Count()
			v.done(v.VM(m.Name).Rename(t.Context(), "secret/name"))
			v.wantHeld(a, copiedBy(m, "tenant"), "has the marks of another machine")
			tasks := []string{"CloneVM_Task", "PowerOffVM_Task", "Destroy_Task", "ReconfigVM_Task"}
			expect.Same(t, "tasks for the copy", 0, sum(v.Count(), tasks...))
			deleted(t, a, m)
			expect.Same(t, "VMs", 0, len(v.VMs()))
		})
	}
}

// TestCopiedMemory: what is remembered of a machine is not changed, woken or read for another one with the same identity.
func TestCopiedMemory(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	copied, again := copiedBy(m, "tenant"), m
	again.UID = "of the next object of that name"
	a.ledger.begin(m, next.Job{Act: next.Destroy, Task: taskOf(1), VM: vmOf(1)})
	for _, other := range []cloud.Machine{copied, again} {
		other.Record.VSphere.Reference = "vm-2"
		a.ledger.use(other, noon)
		expect.Same(t, "the job of another", next.Act(""), a.ledger.recall(other).job.Act)
		a.ledger.strike(other, "", noon)
		_, gone := a.ledger.struck(m, noon)
		expect.Same(t, "gone with another", false, gone)
	}
	expect.Same(t, "its VM", types.ManagedObjectReference{}, a.ledger.recall(m).Object)
	keys := a.ledger.update(types.ObjectUpdate{Obj: taskOf(1), ChangeSet: []types.PropertyChange{
		{Name: "info.state", Val: types.TaskInfoStateSuccess},
	}})
	expect.Same(t, "who is woken", []cloud.Key{m.Key}, keys)

	release := v.BeginClone("", "")
	defer release()
	expect.Got(a.clones.Rivals(t.Context(), m, time.Time{}))(t)
	a.clones.Forget(copied)
	v.Count()
	expect.Got(a.clones.Rivals(t.Context(), copied, time.Time{}))(t)
	expect.Same(t, "the clones of a copy are asked for", true, sum(v.Count()) > 0)
}

// TestCopiedCluster: another management cluster has a machine of the same names, with a copied Machine. Its VM is taken only with
// the user data that it was made with, or if the operator says that its machines were taken over.
func TestCopiedCluster(t *testing.T) {
	t.Parallel()
	const there, here = "uid-of-there", "uid-of-here"
	v := newStage(t)
	made := v.machine("m")
	made.Cluster = cloud.ClusterMark{Name: "blue", UID: "1", Manager: there}
	running(t, v.account(), made)
	m := made
	m.UID, m.Cluster.Manager = "another", here
	digest := cloud.DigestOf(m.ProviderID, machines.Hello)
	for name, c := range map[string]struct {
		proof cloud.Proof
		says  string
	}{
		"a copied Machine":     {cloud.Proof{Vouched: true}, "--took-over-from=" + there},
		"other data":           {cloud.Proof{Vouched: true, Digest: cloud.DigestOf(m.ProviderID, []byte("x"))}, "bootstrap Secret"},
		"another was taken":    {cloud.Proof{Vouched: true, TookOver: append(m.TookOver, here, "")}, "by another management cluster"},
		"the data":             {cloud.Proof{Digest: digest}, ""},
		"the operator says so": {cloud.Proof{TookOver: append(m.TookOver, there)}, ""},
		"its own identity":     {cloud.Proof{Own: true}, ""},
	} {
		m.Proof = c.proof
		a := v.account()
		if c.says != "" {
			v.wantHeld(a, m, c.says)
			continue
		}
		vm := expect.Got(a.Observe(t.Context(), m))(t)
		expect.Same(t, name, []any{cloud.Running, v.recorded(m.Name)}, []any{vm.State, vm.Record})
	}
	expect.Same(t, "clones", 1, v.Calls()["CloneVM_Task"])
}

// TestOtherDataAtHome: a machine of the management cluster that made the VM has lost the user data: nobody took over anything.
func TestOtherDataAtHome(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	m.Cluster = cloud.ClusterMark{Name: "blue", UID: "1", Manager: "uid-of-here"}
	running(t, v.account(), m)
	m.UID, m.Proof = "another", cloud.Proof{Vouched: true}
	v.wantHeld(v.account(), m, "restore the bootstrap Secret that the VM was made with, or delete the VM")
}

// TestMadeBefore: a VM of an earlier release has no digest, and is its Machine's.
func TestMadeBefore(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	running(t, v.account(), m)
	m.Proof = cloud.Proof{Digest: "of its data"}
	v.wantHeld(v.account(), m, "restore the bootstrap Secret")
	v.SetExtra(m.Name, seen.MarkDigest, "")
	v.wantHeld(v.account(), m, "may be this machine's")
	m.Vouched = true
	expect.Same(t, "State", cloud.Running, expect.Got(v.account().Observe(t.Context(), m))(t).State)
}

// TestRecordOfAnotherServer: a reference that another vCenter gave proves nothing here, where it may name any VM, and is kept
// until something is known here.
func TestRecordOfAnotherServer(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	record := *running(t, v.account(), m).Record
	v.SetExtra(m.Name, seen.MarkOwner, "")
	v.SetExtra(m.Name, seen.MarkProviderID, "")
	m.Asked = cloud.Existed
	for _, server := range []string{"another", ""} {
		m.Record = record
		m.Record.VSphere.Server = server
		m.Record.VSphere.Deletion = infrav1.DeletionAccepted
		a := v.account()
		v.wantHeld(a, m, "does not have all of its marks")
		expect.Same(t, "what is known of its VM", types.ManagedObjectReference{}, a.ledger.recall(m).Object)
		expect.Same(t, "what is known of its deletion", infrav1.CloudDeletion(""), a.ledger.recall(m).deletion)
	}
	a, other := v.account(), v.machine("other")
	other.Record = m.Record
	release := v.HoldClones()
	vm := expect.Got(a.Ensure(t.Context(), other))(t)
	expect.Same(t, "Record of a VM that is being made", (*cloud.Record)(nil), vm.Record)
	release()
	vm = running(t, a, other)
	expect.Same(t, "Record of one that runs", v.recorded(other.Name), vm.Record)
	m.Record = record
	deleted(t, v.account(), m)
	expect.Same(t, "VMs", []string{other.Name}, v.VMs())
}

// TestRestoredWithAnotherID: a VM is restored under its name with its marks and another instance UUID. Each method says which one
// it needs, and with that it is the machine's.
func TestRestoredWithAnotherID(t *testing.T) {
	t.Parallel()
	const another = "50112233-4455-6677-8899-aabbccddeeff"
	v := newStage(t)
	m := v.machine("m")
	m.Record, m.Asked = *running(t, v.account(), m).Record, cloud.Existed
	folder := v.FolderOf(m.Name).Reference()
	v.Unregister(m.Name)(folder)
	v.identify(m.Name, another)
	for _, watch := range []bool{false, true} {
		a := v.account()
		if watch {
			watched(t, a)
		}
		v.wantHeld(a, m, "has the instance UUID "+another+" and not "+seen.IDOf(m))
		v.wantHeld(a, m, "set its instance UUID to "+seen.IDOf(m))
	}
	expect.Same(t, "clones", 1, v.Calls()["CloneVM_Task"])
	v.identify(m.Name, seen.IDOf(m))
	a := v.account()
	expect.Same(t, "Record", v.recorded(m.Name), expect.Got(a.Observe(t.Context(), m))(t).Record)
	deleted(t, a, m)
}

// TestBackWithoutMarks: a VM that is back under a new reference and without its marks is found by its id alone, and held.
func TestBackWithoutMarks(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	m.Record, m.Asked = *running(t, v.account(), m).Record, cloud.Existed
	folder := v.FolderOf(m.Name).Reference()
	v.Unregister(m.Name)(folder)
	v.SetExtra(m.Name, seen.MarkOwner, "")
	v.SetExtra(m.Name, seen.MarkProviderID, "")
	v.wantHeld(v.account(), m, "does not have all of its marks")
	v.SetExtra(m.Name, seen.MarkOwner, m.Key.String())
	v.wantHeld(v.account(), m, "does not have all of its marks")
	v.SetExtra(m.Name, seen.MarkProviderID, m.ProviderID)
	deleted(t, v.account(), m)
	expect.Same(t, "VMs", 0, len(v.VMs()))
}

// TestReferenceUsedAgain: a vCenter that was restored has given the machine's reference to another machine's VM. Nobody is told
// to change that VM.
func TestReferenceUsedAgain(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m, other := v.account(), v.machine("m"), v.machine("other")
	other.Key.Namespace = "secret"
	running(t, a, other)
	m.Record, m.Asked = *v.recorded(other.Name), cloud.Existed
	before := v.Inspect(other.Name)
	a = v.account()
	watched(t, a)
	v.wantHeld(a, m, "is another machine's VM now")
	_, err := a.Delete(t.Context(), m)
	expect.Says(t, "Delete", err, "look for a VM with the instance UUID "+seen.IDOf(m))
	if strings.Contains(err.Error(), "set its instance UUID") {
		t.Errorf("who follows this breaks the other machine: %v", err)
	}
	expect.Same(t, "the other VM", before, v.Inspect(other.Name))
}

// TestSightBackInThePass: the account may see the folder again between the search by id and the read of the folder, and the watch
// has yet to tell. The VM is found by its name.
func TestSightBackInThePass(t *testing.T) {
	t.Parallel()
	v := newPrivileged(t)
	given := permissionsOfPage(t, v, narrowLayout)
	p := &proof{stage: v, given: given, m: v.machine("m")}
	p.m.Spec.VSphere.Datastore = "LocalDS_0"
	p.permit(given)
	running(t, v.account(), p.m)
	p.m.Asked = cloud.Existed
	end := p.without("capwin-machines")
	a := v.account()
	watched(t, a)
	f, err := session.Do(t.Context(), a.session, func(ctx context.Context, c *vim25.Client) (seen.Found, error) {
		return byID(ctx, c, p.m)
	})
	expect.OK(t, err)
	expect.Same(t, "found by its id", false, f.VM != nil)
	held := v.HoldMethod("WaitForUpdatesEx")
	t.Cleanup(held.Release)
	s := expect.Got(a.gather(t.Context(), p.m))(t)
	end(p)
	expect.Same(t, "found by its name", cloud.Ours, expect.Got(a.byName(t.Context(), p.m, s))(t).Whose)
}

// TestVouchedIsNoProof: all marks do not prove a VM whose machine has another's identity, also if the owning Machine has it.
func TestVouchedIsNoProof(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	running(t, v.account(), m)
	m.UID, m.Proof = "another object of the same names", cloud.Proof{Vouched: true, Asked: cloud.Existed}
	err := expect.ErrorOf(v.account().Delete(t.Context(), m))
	cloudtest.WantError(t, err, cloud.Denied, infrav1.VMNotProvedReason)
	expect.Says(t, "Delete", err, "with other user data than those in the machine's bootstrap Secret")
}
