package next

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// TestJobs: what is known of a task by its state and its fault.
func TestJobs(t *testing.T) {
	t.Parallel()
	fault := &types.LocalizedMethodFault{Fault: &types.NoPermission{}}
	for name, c := range map[string]struct {
		job                    Job
		fails, did, under, end bool
	}{
		"none":                {Job{}, false, false, false, false},
		"runs":                {Job{Act: Destroy, State: types.TaskInfoStateRunning}, false, true, true, false},
		"runs, after a fault": {Job{Act: Destroy, State: types.TaskInfoStateRunning, Fault: fault}, false, true, true, false},
		"failed":              {Job{Act: Destroy, State: types.TaskInfoStateError, Fault: fault}, true, false, false, true},
		"failed without one":  {Job{Act: Destroy, State: types.TaskInfoStateError}, false, true, false, true},
		"done":                {Job{Act: Destroy, State: types.TaskInfoStateSuccess}, false, true, false, true},
		"forgotten":           {Job{Act: Destroy, State: types.TaskInfoStateSuccess, Forgotten: true}, false, false, false, true},
		"another act":         {Job{Act: Clone, State: types.TaskInfoStateSuccess}, false, false, false, true},
	} {
		expect.Same(t, name, []bool{c.fails, c.did, c.under, c.end},
			[]bool{c.job.Err() != nil, c.job.Completed(Destroy), c.job.UnderWay(), c.job.Ended()})
	}
}

// TestSeenByTheWatch: a VM that ran and is off, as the watch says, is destroyed without another question.
func TestSeenByTheWatch(t *testing.T) {
	t.Parallel()
	s := has(findsVM(types.VirtualMachinePowerStatePoweredOff), ran(true))
	s.Asked[Look] = 0
	expect.Same(t, "next", "start: destroying vm-1", outcome(Decide(machines.VSphere("m"), s, Gone)))
}

// TestNotProved: a VM at the machine's reference that has neither its id nor a mark may be another tenant's. So the sentence has
// no name and no id of it, and nobody is asked to give it the machine's id.
func TestNotProved(t *testing.T) {
	t.Parallel()
	m, ref := machines.VSphere("m"), types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-4711"}
	const name, another, set = "payroll", "50112233-4455-6677-8899-aabbccddeeff", "set its instance UUID to "
	owner, providerID := m.Key.String(), m.ProviderID
	for what, c := range map[string]struct {
		vm          seen.VM
		names, sets bool
	}{
		"nothing":  {seen.VM{ID: another}, false, false},
		"one mark": {seen.VM{ID: another, Owner: owner}, true, true},
		"marks":    {seen.VM{ID: another, Owner: owner, ProviderID: providerID}, true, true},
		"its id":   {seen.VM{ID: seen.IDOf(m)}, false, false},
	} {
		c.vm.Ref, c.vm.Name = ref, name
		err := notProved(m, &c.vm)
		cloudtest.WantError(t, err, cloud.Denied, infrav1.VMNotProvedReason)
		text := err.Error()
		expect.Same(t, what+": has the name, the id of another, and the way to change it", []bool{c.names, c.names, c.sets},
			[]bool{strings.Contains(text, name), strings.Contains(text, another), strings.Contains(text, set)})
		expect.Same(t, what+": has the machine's id", true, strings.Contains(text, seen.IDOf(m)))
		expect.Same(t, what+": has the reference", c.vm.ID != seen.IDOf(m), strings.Contains(text, ref.Value))
	}
}

// TestShown: a VM shows what has been done with it, and no other VM does.
func TestShown(t *testing.T) {
	t.Parallel()
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	vm := func(power types.VirtualMachinePowerState) seen.Found {
		return seen.Found{Whose: cloud.Ours, VM: &seen.VM{Ref: ref, Power: power}}
	}
	const on, off = types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStatePoweredOff
	for name, c := range map[string]struct {
		act   Act
		there seen.Found
		want  bool
	}{
		"cloned":                  {Clone, vm(on), true},
		"cloned, and off":         {Clone, vm(off), false},
		"not cloned":              {Clone, seen.Found{}, false},
		"switched on":             {SwitchOn, vm(on), true},
		"not switched on":         {SwitchOn, vm(off), false},
		"switched off":            {SwitchOff, vm(off), true},
		"not switched off":        {SwitchOff, vm(on), false},
		"switched off, not known": {SwitchOff, vm(""), false},
		"erased":                  {Erase, vm(on), true},
		"not erased":              {Erase, seen.Found{Whose: cloud.Ours, VM: &seen.VM{Ref: ref, UserData: true}}, false},
		"not seen any more":       {Destroy, seen.Found{}, false},
		"not destroyed":           {Destroy, vm(off), false},
	} {
		expect.Same(t, name, c.want, Job{Act: c.act, VM: ref}.Shown(c.there))
		other := Job{Act: c.act, VM: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-2"}}
		expect.Same(t, name+": another VM", c.want && c.act == Clone, other.Shown(c.there))
	}
}

// TestInItsPlace: what has the name of a machine that had a VM is to be marked as its VM only if it can be that.
func TestInItsPlace(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	for name, c := range map[string]struct {
		there seen.VM
		marks bool
	}{
		"no marks":        {seen.VM{Ref: theVM, ID: "x"}, true},
		"another machine": {seen.VM{Ref: theVM, ID: "x", Owner: "secret/other", ProviderID: "x"}, false},
		"a folder":        {seen.VM{Ref: types.ManagedObjectReference{Type: "Folder", Value: "group-v1"}}, false},
	} {
		text := inItsPlace(m, &c.there).Error()
		expect.Same(t, name, []bool{c.marks, true, false}, []bool{
			strings.Contains(text, seen.MarkOwner+"="), strings.Contains(text, "UUID "+seen.IDOf(m)), strings.Contains(text, "secret/"),
		})
	}
}
