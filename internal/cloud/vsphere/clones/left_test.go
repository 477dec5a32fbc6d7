package clones

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
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
	left(false, 1) // it has ended

	suspected(false, "task-1")
	v.Close()
	got, err := c.left(t.Context(), m)
	if err == nil || !got {
		t.Errorf("left without an answer = %t, %v", got, err)
	}
	expect.Same(t, "suspects without an answer", 1, len(c.Tasks()))
}

// TestSuspectsHaveRoom: suspects of all machines take from the share of the namespace; a machine without room waits until others
// have ended, and all is given back in the end.
func TestSuspectsHaveRoom(t *testing.T) {
	v, kept := vcenter.New(t), &tenants.Bytes{}
	s := expect.Got(session.Open(v.Credentials()))(t)
	s.TakeFrom(kept.Share("team"))
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	c := In(s, time.Now, func() Tasks { return nil })
	var candidates []clone
	for i := range 10_000 {
		task := types.ManagedObjectReference{Type: "Task", Value: fmt.Sprint("task-", i)}
		candidates = append(candidates, clone{task: task, active: true})
	}
	machine := func(i int) cloud.Machine {
		return cloud.Machine{Identity: cloud.Identity{ProviderID: fmt.Sprint("vsphere://", i)}}
	}
	suspect := func(i int) error {
		_, err := c.suspect(machine(i), candidates, time.Now())
		return err
	}
	room := kept.Bound("team") / perSuspect / len(candidates)
	for i := range room {
		for range 2 { // again takes no more
			expect.OK(t, suspect(i))
		}
	}
	expect.Says(t, "a machine without room", suspect(room), "leaves no room")
	for _, candidate := range candidates[:len(candidates)/room+1] {
		c.Update(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: candidate.task})
	}
	candidates = candidates[len(candidates)/room+1:]
	expect.OK(t, suspect(room))
	c.Forget(machine(0))
	c.Close()
	expect.Same(t, "kept in the end", 0, kept.Kept("team"))
}
