package vcenter

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// WatchVMs hears of these properties of all VMs until ctx ends, or until heard fails.
func WatchVMs(ctx context.Context, client *vim25.Client, paths []string, heard func(types.ObjectUpdate) error) error {
	all := []string{"VirtualMachine"}
	views, err := view.NewManager(client).CreateContainerView(ctx, client.ServiceContent.RootFolder, all, true)
	if err != nil {
		return fmt.Errorf("view of VMs: %w", err)
	}
	filter := new(property.WaitFilter)
	filter.Spec.ObjectSet = []types.ObjectSpec{{
		Obj: views.Reference(), Skip: new(true),
		SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}},
	}}
	filter.Spec.PropSet = []types.PropertySpec{{Type: "VirtualMachine", PathSet: paths}}
	var failed error
	err = property.WaitForUpdates(ctx, property.DefaultCollector(client), filter, func(updates []types.ObjectUpdate) bool {
		for _, update := range updates {
			if failed = heard(update); failed != nil {
				return true
			}
		}
		return false
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // because the end of ctx is the end of the watch
	}
	return fmt.Errorf("watch VMs: %w", errors.Join(err, failed))
}
