package security

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/hypervisor"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// joinSecret is what the attackers look for in the user data.
const joinSecret = "join-token-and-domain-password"

// estate is a vCenter, and our account there, with one machine.
type estate struct {
	*vcenter.Owner
	t       *testing.T
	cloud   cloud.Cloud
	machine cloud.Machine
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	e := &estate{Owner: vcenter.New(t).Owner(t), t: t}
	e.cloud = e.connect()
	object := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: apitypes.UID("uid")}}
	object.Spec = machineSpec()
	identity := expect.Got(vsphere.Provider{}.Identify(object))(t)
	object.Spec.ProviderID = identity.ProviderID
	e.machine = cloud.Machine{
		Identity: identity, Key: cloud.Key{Namespace: "ns", Name: "m"}, Spec: object.Spec,
		UserData: cloud.UserData("#ps1_sysnative\n# " + joinSecret).Read, Proof: cloud.Proof{Own: true},
	}
	return e
}

func machineSpec() infrav1.WindowsMachineSpec {
	return infrav1.WindowsMachineSpec{IdentityRef: world.SecretIdentity(world.Credentials), VSphere: &infrav1.VSphereVM{
		Datacenter: vcenter.Datacenter, Folder: vcenter.Folder, ResourcePool: vcenter.ResourcePool,
		Image: infrav1.VSphereImage{Template: vcenter.Template}, CPUs: 4, MemoryMiB: 8192,
	}}
}

// connect as a new process does.
func (e *estate) connect() cloud.Cloud {
	e.t.Helper()
	c := expect.Got(vsphere.Provider{}.Connect("", e.Credentials()))(e.t)
	e.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// runs makes the VM.
func (e *estate) runs() {
	e.t.Helper()
	e.until(e.machine, func(vm cloud.VM) bool { return vm.State == cloud.Running })
}

// settles takes the user data away.
func (e *estate) settles() {
	e.t.Helper()
	m := e.machine
	m.Settled, m.UserData = true, nil
	e.until(m, func(vm cloud.VM) bool { return vm.State == cloud.Running && !vm.UserData })
}

func (e *estate) until(m cloud.Machine, good func(cloud.VM) bool) {
	e.t.Helper()
	wait.Until(e.t, "the VM", func() (any, bool) {
		vm := expect.Got(e.cloud.Ensure(e.t.Context(), m))(e.t)
		return vm, good(vm)
	})
}

// edits are how often we have reconfigured a VM.
func (e *estate) edits() int { return e.Calls()["ReconfigVM_Task"] }

// asGuest does something in the guest that runs.
func (e *estate) asGuest(act func(ctx context.Context, vm *hypervisor.VM)) {
	e.t.Helper()
	ctx, cancel := wait.Within(e.t.Context(), wait.Patience)
	defer cancel()
	err := hypervisor.Run(ctx, e.VCenter, func(ctx context.Context, vm *hypervisor.VM) {
		defer cancel()
		act(ctx, vm)
	})
	expect.Fine(e.t, err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.t.Error("no guest runs")
	}
}

// leaks says where in a VM's configuration the joinSecret stands, packed or not.
func (e *estate) leaks() string {
	e.t.Helper()
	for key, value := range e.Extra(e.machine.Name) {
		plain, _ := base64.StdEncoding.DecodeString(value)
		if strings.HasPrefix(string(plain), "\x1f\x8b") || strings.Contains(value+string(plain), joinSecret) {
			return key
		}
	}
	if strings.Contains(e.Inspect(e.machine.Name), joinSecret) {
		return "a property"
	}
	return ""
}

// What stays in a VM.
func TestUserData(t *testing.T) {
	t.Parallel()
	attempt(t,
		attack{"guest", "reads the user data through guestinfo from a pod, after its node has joined", podReadsGuestinfo},
		attack{"guest", "writes user data back, so that the manager edits its VM again and again", guestWritesUserData},
		attack{"guest", "removes its user data itself, so that the manager fails at it forever", guestRemovesUserData},
		attack{"vCenter user", "searches the VM's configuration for user data, with the role Read-only", readOnlyUser},
		attack{"vCenter", "takes a privilege away, so that the manager asks without pause and the node suffers", privilegeGone},
		attack{"vCenter user", "copies our marks to a VM of their own, so that we edit it", marksCopied},
		attack{"vCenter user", "gives a VM of their own the name of a settled machine, so that we edit it", nameTaken},
		attack{"vCenter", "loses the VM of a settled machine, so that another is made without user data", vanished},
		attack{"guest", "leaves a report of success in a template, so that a new machine is believed to be done", formerReport},
		attack{"guest", "leaves its user data in a template that is made of its VM", formerUserData},
	)
}

func podReadsGuestinfo(t *testing.T) string {
	e := newEstate(t)
	e.runs()
	read := func(ctx context.Context, vm *hypervisor.VM) (found bool) {
		for _, key := range []string{"guestinfo.userdata", "guestinfo.userdata.encoding"} {
			_, has, err := vm.Guestinfo(ctx, key)
			expect.Fine(t, err)
			found = found || has
		}
		return found
	}
	e.asGuest(func(ctx context.Context, vm *hypervisor.VM) {
		if !read(ctx, vm) {
			t.Error("the guest never had user data: this shows nothing")
		}
	})
	e.settles()
	e.asGuest(func(ctx context.Context, vm *hypervisor.VM) {
		if read(ctx, vm) {
			t.Error("the guest can still read its user data")
		}
		if _, has, err := vm.Guestinfo(ctx, "guestinfo.metadata"); err != nil || !has {
			t.Errorf("the guest has lost its metadata, %v", err)
		}
	})
	return "nothing is there"
}

func guestWritesUserData(t *testing.T) string {
	e := newEstate(t)
	e.runs()
	e.settles()
	for i := range 5 {
		e.asGuest(func(ctx context.Context, vm *hypervisor.VM) {
			expect.Fine(t, vm.SetGuestinfo(ctx, "guestinfo.userdata", fmt.Sprint("written ", i)))
			expect.Fine(t, vm.SetGuestinfo(ctx, "guestinfo.userdata.encoding", "gzip+base64"))
		})
		e.settles()
	}
	e.cloud = e.connect()
	e.settles()
	if e.edits() != 1 {
		t.Errorf("the VM was edited %d times", e.edits())
	}
	return "one Reconfigure in the machine's life"
}

func guestRemovesUserData(t *testing.T) string {
	e := newEstate(t)
	e.runs()
	e.asGuest(func(ctx context.Context, vm *hypervisor.VM) {
		expect.Fine(t, vm.SetGuestinfo(ctx, "guestinfo.userdata", ""))
		expect.Fine(t, vm.SetGuestinfo(ctx, "guestinfo.userdata.encoding", ""))
	})
	e.settles()
	e.settles()
	if e.edits() != 1 {
		t.Errorf("the VM was edited %d times", e.edits())
	}
	return "one Reconfigure in the machine's life"
}

func readOnlyUser(t *testing.T) string {
	e := newEstate(t)
	e.runs()
	if e.leaks() == "" {
		t.Error("the VM never had user data: this shows nothing")
	}
	e.settles()
	if where := e.leaks(); where != "" {
		t.Errorf("the user data stand in %s", where)
	}
	return "no property has any"
}

func privilegeGone(t *testing.T) string {
	e := newEstate(t)
	e.runs()
	e.Deny("ReconfigVM_Task", "VirtualMachine.Config.AdvancedConfig")
	m := e.machine
	m.Settled = true
	for range 200 {
		_, err := e.cloud.Ensure(t.Context(), m)
		if refused, ok := errors.AsType[*cloud.Error](err); !ok || !strings.Contains(refused.Message, "AdvancedConfig") {
			t.Fatalf("Ensure = %v, want the name of the privilege", err)
		}
		if vm, err := e.cloud.Observe(t.Context(), m); err != nil || vm.State != cloud.Running {
			t.Fatalf("Observe = %+v, %v", vm, err)
		}
	}
	// It is tried again after 30 seconds, then after a minute: a computer that is so busy that the looks take minutes sees a few.
	if e.edits() > 10 {
		t.Errorf("200 looks cost %d calls", e.edits())
	}
	return "UserDataRemoved says which privilege; the next try waits"
}

func marksCopied(t *testing.T) string {
	e := newEstate(t)
	e.runs()
	e.settles()
	var marks []types.BaseOptionValue
	for key, value := range e.Extra(e.machine.Name) {
		marks = append(marks, &types.OptionValue{Key: key, Value: value})
	}
	marks = append(marks, &types.OptionValue{Key: "guestinfo.userdata", Value: "their own"},
		&types.OptionValue{Key: "capwin.userData", Value: "given"})
	e.Clone("theirs", types.VirtualMachineCloneSpec{PowerOn: true, Config: &types.VirtualMachineConfigSpec{ExtraConfig: marks}})
	before := e.Inspect("theirs")
	e.settles()
	e.cloud = e.connect()
	e.settles()
	expect.Same(t, "the VM was changed", before, e.Inspect("theirs"))
	if e.edits() != 1 {
		t.Errorf("%d Reconfigures, want only that of the machine's own VM", e.edits())
	}
	return "left alone: it does not have the machine's id"
}

func nameTaken(t *testing.T) string {
	e := newEstate(t)
	e.Occupy(e.machine.Name)
	e.SetExtra(e.machine.Name, "guestinfo.userdata", "their own")
	before := e.Inspect(e.machine.Name)
	e.wantNoVM()
	expect.Same(t, "the VM was changed", before, e.Inspect(e.machine.Name))
	return "left alone: it has no mark of ours"
}

func vanished(t *testing.T) string {
	e := newEstate(t)
	e.runs()
	e.Remove(e.machine.Name)
	e.wantNoVM()
	e.cloud = e.connect()
	e.wantNoVM()
	if e.Calls()["CloneVM_Task"] != 1 || len(e.VMs()) > 0 {
		t.Errorf("there are VMs %q after %v", e.VMs(), e.Calls())
	}
	return "no second VM"
}

// wantNoVM wants a settled machine to have no VM, and to get none.
func (e *estate) wantNoVM() {
	e.t.Helper()
	m := e.machine
	m.Settled, m.Asked = true, cloud.Existed
	for range 3 {
		if vm, err := e.cloud.Ensure(e.t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
			e.t.Errorf("Ensure = %+v, %v, want ErrNotFound", vm, err)
		}
	}
}

func formerReport(t *testing.T) string {
	e := newEstate(t)
	e.FormerLife(map[string]string{"guestinfo.capwin.report": `{"version":1,"uid":"former","state":"Succeeded"}`})
	e.runs()
	if vm := expect.Got(e.cloud.Observe(t.Context(), e.machine))(t); vm.Report != "" {
		t.Errorf("the new machine is said to have reported %s", vm.Report)
	}
	return "the report is not cloned"
}

func formerUserData(t *testing.T) string {
	e := newEstate(t)
	e.FormerLife(map[string]string{
		"guestinfo.userdata": joinSecret, "guestinfo.userdata.encoding": "plaintext", "capwin.userData": "taken",
	})
	e.runs()
	e.settles()
	if where := e.leaks(); where != "" {
		t.Errorf("the former user data stand in %s", where)
	}
	return "replaced at the clone, and taken away with the new ones"
}
