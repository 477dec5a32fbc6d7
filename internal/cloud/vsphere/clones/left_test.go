package clones

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestLeft: the vCenter is asked for suspects that it does not push the end of, and only then. Without an answer they count as
// running.
func TestLeft(t *testing.T) {
	v := vcenter.New(t)
	s := expect.Got(session.Open(v.Credentials()))(t)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	c := In(s, time.Now, func() Tasks { return nil })
	m := cloud.Machine{Identity: cloud.Identity{ProviderID: "vsphere://x"}}
	suspected := func(followed bool, tasks ...string) {
		one := &suspicion{tasks: Tasks{}, followed: followed}
		for _, task := range tasks {
			one.tasks[types.ManagedObjectReference{Type: "Task", Value: task}] = true
		}
		c.machines[m.ID()] = one
	}
	left := func(want bool, calls int) {
		t.Helper()
		v.Count()
		got, err := c.left(t.Context(), m)
		expect.OK(t, err)
		expect.Same(t, "left", want, got)
		expect.Same(t, "lists", calls, v.Count()["RetrievePropertiesEx"])
	}
	left(false, 0) // no suspicion
	suspected(false)
	left(false, 0) // none is left
	suspected(true, "task-1")
	left(true, 0) // its end is pushed
	suspected(false, "task-1")
	left(false, 2) // it has ended: who we are, and what runs
	suspected(false, "task-1")
	left(false, 1)

	suspected(false, "task-1")
	v.Close()
	got, err := c.left(t.Context(), m)
	if err == nil || !got {
		t.Errorf("left without an answer = %t, %v", got, err)
	}
	expect.Same(t, "suspects without an answer", 1, len(c.Tasks()))
}
