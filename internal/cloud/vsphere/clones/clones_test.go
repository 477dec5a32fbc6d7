package clones

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

func TestConcerning(t *testing.T) {
	machine := func(template string) cloud.Machine {
		spec := infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{Image: infrav1.VSphereImage{Template: template}}}
		return cloud.Machine{Spec: spec}
	}
	ours := clone{user: "capwin", template: "windows"}
	with := func(change func(*clone)) clone {
		one := ours
		change(&one)
		return one
	}
	const by = "capwin"
	for _, c := range []struct {
		name  string
		m     cloud.Machine
		clone clone
		by    string
		want  bool
	}{
		{"ours", machine("windows"), ours, by, true},
		{"by a path", machine("/dc/vm/Templates/Windows"), ours, by, true},
		{"another user", machine("windows"), with(func(c *clone) { c.user = "backup" }), by, false},
		{"another template", machine("windows"), with(func(c *clone) { c.template = "linux" }), by, false},
		{"no user is told", machine("windows"), with(func(c *clone) { c.user = "" }), by, true},
		{"we do not know who we are", machine("windows"), with(func(c *clone) { c.user = "backup" }), "", true},
		{"no template is told", machine("windows"), with(func(c *clone) { c.template = "" }), by, true},
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
