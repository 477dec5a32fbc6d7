package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

func isError(err, target error) bool { return errors.Is(err, target) }

var powerOn = check{
	name:    "power-on",
	effect:  "reads which tasks switched the VM on, and whether DRS had a part in it",
	relies:  "withVM in internal/cloud/vsphere/next/next.go: a VM that was just cloned is given time to be switched on",
	decides: "the VM was switched on once: no task that switches it on has failed, and no two have succeeded",
	means: "The product and DRS switch a VM on at the same time: a task TaskInProgress fails in the vCenter, and " +
		"CloudReachable flaps.",
	run: onVM(func(ctx context.Context, r *runner, m *machine) outcome {
		tasks, err := r.tasksOf(ctx, m.ref)
		if err != nil {
			return unchecked("%v", err)
		}
		drs := r.hasDRS(ctx, m.ref)
		seen, good, bad := map[string]string{"DRS": drs}, 0, 0
		for i, info := range tasks {
			seen[fmt.Sprintf("task %d", i+1)] = fmt.Sprintf("%s %s, by %s", info.DescriptionId, info.State, cause(info.Reason))
			switch {
			case !strings.Contains(strings.ToLower(info.DescriptionId), "poweron"):
			case info.State == types.TaskInfoStateError:
				bad++
			default:
				good++
			}
		}
		found := decide(seen, "it was switched on once",
			require(bad == 0, "%d tasks that switch it on failed", bad), require(good <= 1, "%d tasks switched it on", good))
		if found.verdict == holds && drs != "on" {
			return outcome{notChecked, "it was switched on once, but the cluster has no DRS", seen}
		}
		return found
	}),
}

// tasksOf are the tasks of a VM that the vCenter still knows.
func (r *runner) tasksOf(ctx context.Context, vm types.ManagedObjectReference) ([]types.TaskInfo, error) {
	refs, err := property[types.ArrayOfManagedObjectReference](ctx, r.witness, vm, "recentTask")
	if err != nil {
		return nil, err
	}
	var infos []types.TaskInfo
	for _, ref := range refs.ManagedObjectReference {
		info, err := property[types.TaskInfo](ctx, r.witness, ref, "info")
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// hasDRS returns whether the VM's cluster has DRS: on, off, or why this is not known.
func (r *runner) hasDRS(ctx context.Context, vm types.ManagedObjectReference) string {
	host, err := property[types.ManagedObjectReference](ctx, r.witness, vm, "runtime.host")
	if err != nil || host.Value == "" {
		return fmt.Sprintf("not known: %v", err)
	}
	cluster, err := property[types.ManagedObjectReference](ctx, r.witness, host, "parent")
	if err != nil || cluster.Type != "ClusterComputeResource" {
		return fmt.Sprintf("the host is in no cluster: %v", err)
	}
	enabled, err := property[bool](ctx, r.witness, cluster, "configuration.drsConfig.enabled")
	switch {
	case err != nil:
		return fmt.Sprintf("not known: %v", err)
	case enabled:
		return "on"
	}
	return "off"
}

// cause of a task, without names.
func cause(reason types.BaseTaskReason) string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", reason), "*types.TaskReason"))
}

var taskLeaves = check{
	name:    "task-leaves",
	effect:  "follows an ended task in a list, and takes it off the list",
	relies:  "taskView in internal/cloud/vsphere/views.go; ledger.update in ledger.go ignores it",
	decides: "the vCenter pushes leave for the task, as the simulator of our tests does",
	means:   "The simulator of our tests pushes more than your vCenter does. That is harmless: the product does not need this push.",
	run: onVM(func(ctx context.Context, r *runner, m *machine) outcome {
		task, err := r.witness.setExtra(ctx, m.ref, checkKey, "leave")
		if err != nil {
			return unchecked("%v", err)
		}
		p, err := r.witness.collectListed(ctx, "Task", []string{"info.state"}, task)
		if err != nil {
			return unchecked("%v", err)
		}
		defer p.free(ctx)
		first, err := p.next(ctx, r.times.settle, func(types.ObjectUpdate) bool { return true })
		if err != nil {
			return unchecked("%v", err)
		}
		if err := p.relist(ctx, task); err != nil {
			return unchecked("%v", err)
		}
		isLeave := func(u types.ObjectUpdate) bool { return u.Obj == task && u.Kind == types.ObjectUpdateKindLeave }
		leave, err := p.next(ctx, r.times.settle, isLeave)
		if err != nil {
			return unchecked("%v", err)
		}
		seen := map[string]string{"listed": kinds(first), "taken off": kinds(leave)}
		return decide(seen, "leave was pushed",
			require(len(first) > 0, "a task that had ended was not told when it was listed"),
			require(slices.ContainsFunc(leave, isLeave), "nothing was pushed when it was taken off the list"))
	}),
}

func kinds(updates []types.ObjectUpdate) string {
	var names []string
	for _, u := range updates {
		names = append(names, string(u.Kind))
	}
	return strings.Join(names, ", ")
}
