package agent

import (
	"fmt"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// nameAdapter renames an adapter, or keeps its name as a fact. Who has the name already makes way.
func (r *run) nameAdapter(step *plan.Adapter) error {
	adapter, err := r.realAdapter(notHex.ReplaceAllString(step.MAC.String(), ""))
	if err != nil {
		return err
	}
	if step.Set != "" {
		r.setFact(step.Set, adapter.Name)
		return nil
	}
	name := step.Rename.String()
	if adapter.Name == name {
		return nil
	}
	others, err := r.machine.NetAdapterNamed(name)
	if err != nil {
		return err
	}
	for _, other := range others {
		if err := r.machine.RenameAdapter(other.Index, fmt.Sprintf("%s %d", name, other.Index)); err != nil {
			return err
		}
	}
	return r.machine.RenameAdapter(adapter.Index, name)
}

// realAdapter is the one with the MAC, or else the only one, or else the one of the default route.
func (r *run) realAdapter(mac string) (windows.Adapter, error) {
	all, err := r.machine.NetAdapters()
	if err != nil {
		return windows.Adapter{}, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(a windows.Adapter) bool { return a.Virtual })
	why := failf("no adapter has the default route")
	switch {
	case mac != "":
		found, why = withMAC(found, mac), failf("no adapter has the MAC %s", mac)
	case len(found) > 1:
		best, err := r.defaultRoute()
		if err != nil {
			return windows.Adapter{}, err
		}
		found = ofRoute(all, found, best.Index)
	}
	if len(found) == 0 {
		return windows.Adapter{}, why
	}
	return found[0], nil
}

func withMAC(adapters []windows.Adapter, mac string) []windows.Adapter {
	return slices.DeleteFunc(adapters, func(a windows.Adapter) bool {
		return !windows.Same(notHex.ReplaceAllString(a.MAC, ""), mac)
	})
}

// ofRoute are the real adapters with the MAC of the interface; first the interface itself, if it is one of them.
func ofRoute(all, found []windows.Adapter, index int) []windows.Adapter {
	at := slices.IndexFunc(all, func(a windows.Adapter) bool { return a.Index == index })
	if at < 0 {
		return nil
	}
	found = withMAC(found, notHex.ReplaceAllString(all[at].MAC, ""))
	slices.SortStableFunc(found, func(a, b windows.Adapter) int {
		switch {
		case a.Index == index:
			return -1
		case b.Index == index:
			return 1
		}
		return 0
	})
	return found
}

// adapter finds an adapter by its MAC. A vSwitch gives a second one the same MAC; the addresses belong to the virtual one.
func (r *run) adapter(mac string) (windows.Adapter, error) {
	wanted := notHex.ReplaceAllString(mac, "")
	all, err := r.machine.NetAdapters()
	if err != nil {
		return windows.Adapter{}, err
	}
	var found *windows.Adapter
	for i, one := range all {
		same := windows.Same(notHex.ReplaceAllString(one.MAC, ""), wanted)
		if same && (found == nil || one.Virtual && !found.Virtual) {
			found = &all[i]
		}
	}
	if found == nil {
		return windows.Adapter{}, failf("no adapter has the MAC %s", wanted)
	}
	return *found, nil
}
