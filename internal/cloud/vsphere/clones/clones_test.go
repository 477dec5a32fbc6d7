package clones

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

func TestConcerning(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	machine := func(template string, created time.Time) cloud.Machine {
		spec := infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{Image: infrav1.VSphereImage{Template: template}}}
		return cloud.Machine{Spec: spec, Created: created}
	}
	ours := clone{user: "capwin", template: "windows", queued: noon}
	with := func(change func(*clone)) clone {
		one := ours
		change(&one)
		return one
	}
	by := &caller{user: "capwin"}
	for _, c := range []struct {
		name  string
		m     cloud.Machine
		clone clone
		by    *caller
		want  bool
	}{
		{"ours", machine("windows", noon), ours, by, true},
		{"by a path", machine("/dc/vm/Templates/Windows", noon), ours, by, true},
		{"another user", machine("windows", noon), with(func(c *clone) { c.user = "backup" }), by, false},
		{"another template", machine("windows", noon), with(func(c *clone) { c.template = "linux" }), by, false},
		{"older than the machine", machine("windows", noon.Add(clockSkew+1)), ours, by, false},
		{"older, but for the clocks", machine("windows", noon.Add(clockSkew)), ours, by, true},
		{"the vCenter is slow", machine("windows", noon.Add(time.Hour)), ours, &caller{user: "capwin", ahead: -time.Hour}, true},
		{"the vCenter is fast", machine("windows", noon.Add(-time.Hour)), ours, &caller{user: "capwin", ahead: 2 * time.Hour}, false},
		{"no user is told", machine("windows", noon), with(func(c *clone) { c.user = "" }), by, true},
		{"we do not know who we are", machine("windows", noon), with(func(c *clone) { c.user = "backup" }), &caller{}, true},
		{"no template is told", machine("windows", noon), with(func(c *clone) { c.template = "" }), by, true},
		{"no time is told", machine("windows", noon.Add(time.Hour)), with(func(c *clone) { c.queued = time.Time{} }), by, true},
		{"the age of the machine is not known", machine("windows", time.Time{}), ours, by, true},
	} {
		if got := len(concerning(c.m, []clone{c.clone}, c.by)) == 1; got != c.want {
			t.Errorf("%s: concerns the machine: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestUser(t *testing.T) {
	for _, name := range []string{`VSPHERE.LOCAL\capwin`, "capwin@vsphere.local", "CapWin", `corp\capwin`} {
		if got := account(name); got != "capwin" {
			t.Errorf("account(%q) = %q", name, got)
		}
	}
	task := types.ManagedObjectReference{Type: "Task", Value: "task-1"}
	if got := cloneOf(task, map[string]any{"info.reason": types.TaskReasonSchedule{}}).user; got == "" {
		t.Error("a clone by schedule could be ours")
	}
}
