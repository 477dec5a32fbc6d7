package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

var errVanished = cloud.ErrNotFound

var userDataGone = check{
	name:   "user-data-gone",
	effect: "has the product take the user data out of the VM, and restarts Windows after that",
	relies: "erase in internal/cloud/vsphere/tasks.go; docs/decisions/009-user-data-leaves-the-vm.md",
	decides: "the keys are gone and the metadata stay; after the restart Windows has its name, cloudbase-init runs " +
		"nothing again, and the agent reports",
	means: "A node may not come up after a restart, or be set up again. Do not use this release with this image, and " +
		"send us cloudbase-init's log.",
	run: onVM(func(ctx context.Context, r *runner, m *machine) outcome {
		if fault := r.takeAway(ctx, m); fault != "" {
			return decide(nil, "", fault)
		}
		end := r.guestEnd(ctx)
		if end.report == nil {
			return unchecked("the keys are gone from the VM; what Windows does after a restart was not seen, because %v", end.err)
		}
		return r.startAgain(ctx, m, *end.report)
	}),
}

// takeAway has the product take the user data away, and returns what is wrong with the rest.
func (r *runner) takeAway(ctx context.Context, m *machine) string {
	settled := m.Machine
	settled.Settled = true
	err := poll(ctx, r.times.poll, r.times.settle, func(ctx context.Context) (bool, error) {
		vm, err := r.account.Ensure(ctx, settled)
		if err != nil && mayPass(err) {
			err = nil
		}
		return err == nil && vm.State == cloud.Running && !vm.UserData, err
	})
	if err != nil {
		return fmt.Sprintf("the product did not take the user data away: %v", err)
	}
	options, err := property[types.ArrayOfOptionValue](ctx, r.witness, m.ref, "config.extraConfig")
	if err != nil {
		return err.Error()
	}
	contains := func(key string) bool {
		return slices.ContainsFunc(options.OptionValue, func(o types.BaseOptionValue) bool {
			return o.GetOptionValue().Key == key && o.GetOptionValue().Value != ""
		})
	}
	switch {
	case contains(userDataKey) || contains(userDataKey+".encoding"):
		return "the user data is still in the VM"
	case !contains(metadataKey):
		return "the metadata is gone, too"
	}
	return ""
}

// startAgain restarts the VM hard, as a host that fails does, and waits for the agent's report about that start.
func (r *runner) startAgain(ctx context.Context, m *machine, earlier plan.Report) outcome {
	task, err := ask(ctx, r.witness, func(ctx context.Context, c *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(c, m.ref).Reset(ctx)
	})
	if err == nil {
		err = r.witness.ended(ctx, task.Reference())
	}
	if err != nil {
		return unchecked("the VM could not be restarted: %v", err)
	}
	r.say("    Windows restarts")
	restarted, err := r.await(ctx, m, func(report plan.Report) bool {
		return report.Boot != nil && (report.Boot.State == plan.StateSucceeded || report.Boot.State == plan.StateFailed)
	})
	if err != nil {
		return outcome{doesNot, fmt.Sprintf("after the restart the agent did not report: %v", err), nil}
	}
	name, err := property[string](ctx, r.witness, m.ref, "guest.hostName")
	if err != nil {
		return unchecked("%v", err)
	}
	seen := map[string]string{"start": string(restarted.Boot.State), "bootstrap": string(restarted.State)}
	return decide(seen, "Windows starts without its user data",
		require(restarted.UID == earlier.UID && restarted.State == earlier.State, "the bootstrap ran again"),
		require(restarted.Boot.State == plan.StateSucceeded, "the start failed: %s %s", restarted.Boot.Reason, restarted.Boot.Message),
		require(sameHost(name, m.Name), "Windows has another name"))
}
