package vcenter

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// A vCenter's clone begins with the advanced configuration of its source, to which the clone's own spec is a set of changes. "If
// the key is already present, it will be reset with the new value provided. Otherwise, a new option is added. Keys with empty
// values will be removed." (vSphere Web Services API, VirtualMachineConfigSpec.extraConfig.) The simulator leaves the source's
// configuration out, and adds a key with an empty value that is not there.

// clonedOptions is the advanced configuration of a clone.
func clonedOptions(source []types.BaseOptionValue, spec *types.VirtualMachineConfigSpec) *types.VirtualMachineConfigSpec {
	config := types.VirtualMachineConfigSpec{}
	if spec != nil {
		config = *spec
	}
	all := object.OptionValueList(config.ExtraConfig)
	for _, option := range source {
		if _, changed := all.Get(option.GetOptionValue().Key); !changed {
			all = append(all, &types.OptionValue{Key: option.GetOptionValue().Key, Value: option.GetOptionValue().Value})
		}
	}
	config.ExtraConfig = slices.DeleteFunc(slices.Clone(all), isEmpty)
	return &config
}

// dropEmptyOptions leaves out of a reconfiguration the empty values of keys that the VM lacks.
func dropEmptyOptions(ctx *simulator.Context, method *simulator.Method) {
	request, ok := method.Body.(*types.ReconfigVM_Task)
	vm, found := ctx.Map.Get(method.This).(*simulator.VirtualMachine)
	if !ok || !found {
		return
	}
	ctx.WithLock(vm, func() {
		has := object.OptionValueList(vm.Config.ExtraConfig)
		request.Spec.ExtraConfig = slices.DeleteFunc(request.Spec.ExtraConfig, func(option types.BaseOptionValue) bool {
			_, there := has.Get(option.GetOptionValue().Key)
			return isEmpty(option) && !there
		})
	})
}

func isEmpty(option types.BaseOptionValue) bool { return option.GetOptionValue().Value == "" }

// FormerLife gives the template the advanced configuration of a VM that it was made of. A template itself cannot get any.
func (o *Owner) FormerLife(options map[string]string) {
	o.t.Helper()
	former, ok := o.model.Map().Get(o.Template().Reference()).(*template)
	if !ok {
		o.t.Fatal("the template is not ours")
	}
	o.model.Service.Context.WithLock(former, func() {
		for key, value := range options {
			former.Config.ExtraConfig = append(former.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
		}
	})
}
