package vsphere

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// privilegedLife is the life of a machine that needs every privilege: its VM is made with other hardware than the template's, is
// switched on once more, loses its user data, and goes. It returns the first error.
func privilegedLife(t *testing.T, v *stage, pool string) (failed error) {
	t.Helper()
	a, m := v.account(), v.machine("m")
	m.Spec.VSphere.ResourcePool, m.Spec.VSphere.Datastore, m.Spec.VSphere.CoresPerSocket = pool, "LocalDS_0", 2
	m.Spec.VSphere.NetworkInterfaces = []infrav1.VSphereNetworkInterface{
		{Name: "node", Network: "DC0_DVPG0"}, {Name: "storage", Network: "DC0_DVPG0"},
	}
	stop := func(err error) bool {
		failed = err
		return err != nil && !errors.Is(err, cloud.ErrNotFound)
	}
	wait.Until(t, "the VM to run", func() (any, bool) {
		vm, err := a.Ensure(t.Context(), m)
		return vm, stop(err) || vm.State == cloud.Running
	})
	for _, step := range []func() error{
		func() error { return settledAndErased(t, a, m) },
		func() error { return goneFor(t, a, m) },
	} {
		if failed == nil && stop(step()) {
			return failed
		}
	}
	return failed
}

func settledAndErased(t *testing.T, a *account, m cloud.Machine) (failed error) {
	t.Helper()
	m.Settled = true
	wait.Until(t, "the user data to be taken away", func() (any, bool) {
		var vm cloud.VM
		vm, failed = a.Ensure(t.Context(), m)
		return vm, failed != nil || !vm.UserData
	})
	return failed
}

func goneFor(t *testing.T, a *account, m cloud.Machine) (failed error) {
	t.Helper()
	wait.Until(t, "the VM to go", func() (any, bool) {
		_, err := a.Delete(t.Context(), m)
		if !errors.Is(err, cloud.ErrNotFound) {
			failed = err
		}
		return err, err != nil
	})
	return failed
}

// newPrivileged is a vCenter whose template has what a clone has to change.
func newPrivileged(t *testing.T) *stage {
	t.Helper()
	return newStage(t).privileged()
}

func (s *stage) privileged() *stage {
	s.t.Helper()
	ref := s.Template().Reference()
	s.Update(ref, types.PropertyChange{Name: "config.vAppConfig", Val: &types.VmConfigInfo{Eula: []string{"?"}}})
	return s
}

// TestPrivileges: an account needs the privileges that are listed, no other, and is told of each that it lacks.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	v := newPrivileged(t)
	v.Grant(vcenter.Privileges())
	watched(t, v.account())
	if err := privilegedLife(t, v, vcenter.ResourcePool); err != nil {
		t.Fatalf("with all privileges: %v", err)
	}
	needed := vcenter.Privileges()
	for _, privilege := range needed {
		if strings.HasPrefix(privilege, "System.") || privilege == "VirtualMachine.Interact.PowerOn" { // see TestPowerOnDenied
			continue
		}
		t.Run(privilege, func(t *testing.T) {
			t.Parallel()
			v := newPrivileged(t)
			v.Grant(slices.DeleteFunc(slices.Clone(needed), func(p string) bool { return p == privilege }))
			err := privilegedLife(t, v, vcenter.ResourcePool)
			cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
			says := fmt.Sprintf(`vCenter %s answers: "Permission to perform this operation was denied."`, v.Listener.Addr())
			if !strings.Contains(err.Error(), "the privilege "+privilege+" on ") || !strings.HasSuffix(err.Error(), says) {
				t.Errorf("people read: %v", err)
			}
		})
	}
}

// TestPowerOnDenied: a clone is switched on by its own task; a VM that was not needs a privilege of its own.
func TestPowerOnDenied(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	v.cloneBy(m, m.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	const privilege = "VirtualMachine.Interact.PowerOn"
	v.Grant(slices.DeleteFunc(vcenter.Privileges(), func(p string) bool { return p == privilege }))
	later := stoppedClock(a)
	expect.Same(t, "State", cloud.Creating, expect.Got(a.Ensure(t.Context(), m))(t).State)
	later(next.PushTime)
	var failed error
	wait.Until(t, "the refusal", func() (any, bool) {
		_, failed = a.Ensure(t.Context(), m)
		return failed, failed != nil
	})
	cloudtest.WantError(t, failed, cloud.Denied, infrav1.CredentialsRejectedReason)
	if !strings.Contains(failed.Error(), privilege+" on VirtualMachine ") {
		t.Errorf("people read: %v", failed)
	}
}

// TestFullFault: what a real vCenter says of a clone that failed, from the task to the sentence. It is no fault of the spec.
func TestFullFault(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		fault types.BaseMethodFault
		says  string
	}{
		"locked": {
			&types.GenericVmConfigFault{Reason: "Failed to lock the file: [ds1] x/x.vmdk"}, `"Failed to lock the file: [ds1] x/x.vmdk"`,
		},
		"network": {
			&types.CannotAccessNetwork{CannotAccessVmDevice: types.CannotAccessVmDevice{Device: "Network adapter 1", Backing: "nodes"}},
			`"Currently connected network interface 'Network adapter 1' uses network 'nodes', which is not accessible."`,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			a, m := v.account(), v.machine("m")
			v.FailClones(c.fault)
			var failed error
			wait.Until(t, "the clone to fail", func() (any, bool) {
				_, failed = a.Ensure(t.Context(), m)
				return failed, failed != nil
			})
			cloudtest.WantError(t, failed, cloud.Transient, infrav1.CloudTaskFailedReason)
			if !strings.Contains(failed.Error(), " answers: "+c.says) {
				t.Errorf("people read: %v", failed)
			}
		})
	}
}
