package vsphere

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestLimitedUserProvesNothing: one who is told of some folders alone finds a VM that was moved elsewhere, and gives up on none
// whose folder is gone.
func TestLimitedUserProvesNothing(t *testing.T) {
	t.Parallel()
	t.Run("no second VM", func(t *testing.T) {
		t.Parallel()
		v := newStage(t)
		m := v.machine("m")
		running(t, v.account(), m)
		limitedAway(v, m)
		running(t, limitedOn(v, m), m)
		expect.Same(t, "clones", 1, v.Calls()["CloneVM_Task"])
	})
	t.Run("no VM left behind", func(t *testing.T) {
		t.Parallel()
		v := newStage(t)
		m, other := v.machine("m"), v.machine("other")
		running(t, v.account(), m)
		m.Asked = cloud.Existed
		v.Update(v.VM(m.Name).Reference(), types.PropertyChange{Name: "config.instanceUuid", Val: ""})
		limitedAway(v, m)
		folder := expect.Got(v.account().places.FindFolder(t.Context(), *m.Spec.VSphere))(t)
		task := expect.Got(object.NewCommon(v.Client, folder).Rename(t.Context(), "something-else"))(t)
		v.Must(task.Wait(t.Context()))
		other.Spec.VSphere.Folder = "something-else"
		_, err := limitedOn(v, m, other).Delete(t.Context(), m)
		cloudtest.WantError(t, err, cloud.Denied, infrav1.PlacementNotFoundReason)
	})
}

// limitedAway moves a VM to the folder above.
func limitedAway(v *stage, m cloud.Machine) {
	v.t.Helper()
	vm := v.VM(m.Name).Reference()
	spec := *m.Spec.VSphere
	spec.Folder = ""
	above := expect.Got(v.account().places.FindFolder(v.t.Context(), spec))(v.t)
	task := expect.Got(object.NewFolder(v.Client, above).MoveInto(v.t.Context(), []types.ManagedObjectReference{vm}))(v.t)
	v.Must(task.Wait(v.t.Context()))
}

// limitedOn is the account of a limited user who is told of the folders of machines.
func limitedOn(v *stage, machines ...cloud.Machine) *account {
	v.t.Helper()
	a := lateConnect(v.t, with(v.Credentials(), "username", vcenter.Limited))
	for _, m := range machines {
		a.folders.note(m.Spec.VSphere)
	}
	watchOn(v.t, a)
	wait.Until(v.t, "the inventory", func() (any, bool) { listed := hasListed(a); return listed, listed })
	return a
}
