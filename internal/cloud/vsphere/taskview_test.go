package vsphere

import (
	"context"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestTaskList: a request is made only for a new task, and what it did not add is not taken for followed.
func TestTaskList(t *testing.T) {
	v := newStage(t)
	view := expect.Got(session.Do(t.Context(), v.account().session, func(ctx context.Context, c *vim25.Client) (*taskView, error) {
		made, err := methods.CreateListView(ctx, c, &types.CreateListView{This: *c.ServiceContent.ViewManager})
		if err != nil {
			return nil, err
		}
		return &taskView{client: c, ref: made.Returnval}, nil
	}))(t)
	task := expect.Got(v.Template().Rename(t.Context(), "renamed"))(t)
	v.Must(task.Wait(t.Context()))
	known, unknown := task.Reference(), types.ManagedObjectReference{Type: "Task", Value: "task-of-old"}
	list := func(want bool, calls int, tasks ...types.ManagedObjectReference) {
		t.Helper()
		wanted := clones.Tasks{}
		for _, one := range tasks {
			wanted[one] = true
		}
		v.Count()
		expect.Same(t, "listed", want, view.list(t.Context(), wanted))
		expect.Same(t, "requests", calls, v.Count()["ModifyListView"])
	}
	v.Deny("ModifyListView", "System.View")
	list(false, 1, known)
	expect.Same(t, "tasks after a refusal", 0, len(view.tasks))
	v.Deny("ModifyListView", "")
	list(true, 1, known, unknown)
	expect.Same(t, "tasks", clones.Tasks{known: true}, view.tasks)
	list(false, 0, known)
	list(false, 0)
	expect.Same(t, "tasks that are left", clones.Tasks{known: true}, view.tasks)
}
