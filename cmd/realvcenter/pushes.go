package main

import (
	"context"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// pushes is a property collector with one filter on a view, as the product's watch has.
type pushes struct {
	witness   *witness
	client    *vim25.Client
	view      types.ManagedObjectReference
	collector types.ManagedObjectReference
	version   string
}

// collectListed watches properties of the objects in a list, which can be changed later.
func (w *witness) collectListed(
	ctx context.Context, kind string, paths []string, refs ...types.ManagedObjectReference,
) (*pushes, error) {
	return ask(ctx, w, func(ctx context.Context, c *vim25.Client) (*pushes, error) {
		view, err := methods.CreateListView(ctx, c, &types.CreateListView{This: *c.ServiceContent.ViewManager, Obj: refs})
		if err != nil {
			return nil, err
		}
		return w.collect(ctx, c, view.Returnval, kind, paths)
	})
}

// collectVMs watches properties of all VMs.
func (w *witness) collectVMs(ctx context.Context, paths []string) (*pushes, error) {
	return ask(ctx, w, func(ctx context.Context, c *vim25.Client) (*pushes, error) {
		view, err := methods.CreateContainerView(ctx, c, allVMs(c))
		if err != nil {
			return nil, err
		}
		return w.collect(ctx, c, view.Returnval, "VirtualMachine", paths)
	})
}

func (w *witness) collect(
	ctx context.Context, c *vim25.Client, view types.ManagedObjectReference, kind string, paths []string,
) (*pushes, error) {
	made, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{This: c.ServiceContent.PropertyCollector})
	if err != nil {
		return nil, err
	}
	p := &pushes{witness: w, client: c, view: view, collector: made.Returnval}
	_, err = methods.CreateFilter(ctx, c, &types.CreateFilter{This: p.collector, Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj: view, Skip: new(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: view.Type, Path: "view"}},
		}},
		PropSet: []types.PropertySpec{{Type: kind, PathSet: paths}},
	}})
	return p, err
}

// free ends the collector.
func (p *pushes) free(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), taskLimit)
	defer cancel()
	_, _ = ask(ctx, p.witness, func(ctx context.Context, c *vim25.Client) (bool, error) { // they end with the session at the latest
		_, _ = methods.DestroyPropertyCollector(ctx, c, &types.DestroyPropertyCollector{This: p.collector})
		_, err := methods.DestroyView(ctx, c, &types.DestroyView{This: p.view})
		return err == nil, err
	})
}

// next returns what is pushed until something good is, or until the time is over.
func (p *pushes) next(
	ctx context.Context, limit time.Duration, good func(types.ObjectUpdate) bool,
) ([]types.ObjectUpdate, error) {
	var updates []types.ObjectUpdate
	for end := time.Now().Add(limit); ; {
		batch, err := p.wait(ctx)
		if err != nil {
			return updates, err
		}
		updates = append(updates, batch...)
		if slices.ContainsFunc(batch, good) {
			return updates, nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return updates, ctx.Err()
		}
	}
}

// wait waits for a second.
func (p *pushes) wait(ctx context.Context) ([]types.ObjectUpdate, error) {
	answer, err := ask(ctx, p.witness, func(ctx context.Context, c *vim25.Client) (*types.WaitForUpdatesExResponse, error) {
		return methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{
			This: p.collector, Version: p.version, Options: &types.WaitOptions{MaxWaitSeconds: new(int32(1))},
		})
	})
	if err != nil || answer.Returnval == nil {
		return nil, err
	}
	p.version = answer.Returnval.Version
	var updates []types.ObjectUpdate
	for _, filter := range answer.Returnval.FilterSet {
		updates = append(updates, filter.ObjectSet...)
	}
	return updates, nil
}

// relist changes the objects of a list.
func (p *pushes) relist(ctx context.Context, remove ...types.ManagedObjectReference) error {
	_, err := ask(ctx, p.witness, func(ctx context.Context, c *vim25.Client) (*types.ModifyListViewResponse, error) {
		return methods.ModifyListView(ctx, c, &types.ModifyListView{This: p.view, Remove: remove})
	})
	return err
}
