package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// hnsNetwork makes the network or leaves that to another, waits for its management address, and keeps that as a fact.
func (r *run) hnsNetwork(ctx context.Context, step *plan.HNSNetwork) error {
	name := fmt.Sprint(step.Request["Name"])
	if !step.Wait {
		if err := r.addNetwork(ctx, step.Request); err != nil {
			return err
		}
	}
	var network map[string]any
	probe := func(context.Context) (bool, error) {
		var err error
		if network, err = r.hnsItem("/networks", name); err != nil || text(network, "ManagementIP") == "" {
			return false, err
		}
		return r.hasAddress(managementAddress(network))
	}
	what := func() string { return fmt.Sprintf("HNS network %s has no management address", name) }
	if err := r.waitUntil(ctx, probe, orElse(step.TimeoutSeconds, 180), what); err != nil {
		return err
	}
	address := managementAddress(network)
	policies := func() (string, error) {
		good, err := probe(ctx)
		if err != nil || !good {
			return "", err
		}
		return windows.PlainJSON(network["Policies"])
	}
	if err := r.awaitStill(ctx, policies, step.StillSeconds, orElse(step.TimeoutSeconds, 180)); err != nil {
		return err
	}
	r.setFact(plan.FactManagementIP, address)
	return nil
}

// managementAddress leaves out the prefix length that a program may have given to HNS.
func managementAddress(network map[string]any) string {
	address, _, _ := strings.Cut(text(network, "ManagementIP"), "/")
	return address
}

// awaitStill waits until a text has stayed the same for some seconds, but not for ever. The empty text is none.
func (r *run) awaitStill(ctx context.Context, read func() (string, error), still, seconds int) error {
	end, since, seen := r.elapsed()+seconds, r.elapsed(), ""
	for still > 0 && r.elapsed() < end {
		now, err := read()
		if err != nil {
			return err
		}
		if now == "" || now != seen {
			seen, since = now, r.elapsed()
		}
		if r.elapsed()-since >= still {
			return nil
		}
		if err := r.checkDeadline(); err != nil {
			return err
		}
		if err := r.machine.Clock.Sleep(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// addNetwork makes a network, and replaces one of another type.
func (r *run) addNetwork(ctx context.Context, request map[string]any) error {
	networks, err := r.machine.HNSCall("GET", "/networks", "")
	if err != nil {
		return err
	}
	there := false
	for _, network := range networks {
		if !windows.Same(text(network, "Name"), text(request, "Name")) {
			continue
		}
		if windows.Same(text(network, "Type"), text(request, "Type")) {
			there = true
			continue
		}
		if _, err := r.machine.HNSCall("DELETE", fmt.Sprintf("/networks/%v", network["ID"]), ""); err != nil {
			return err
		}
	}
	if there {
		return nil
	}
	if err := r.awaitAdapter(ctx, text(request, "NetworkAdapterName")); err != nil {
		return err
	}
	body, err := windows.PlainJSON(request)
	if err != nil {
		return err
	}
	_, err = r.machine.HNSCall("POST", "/networks", body)
	return err
}

// adapterSeconds is how long an attempt waits for the address of an adapter.
const adapterSeconds = 45

// awaitAdapter waits until the adapter has an address by which others reach it: HNS keeps the one that it has when the network is
// made.
func (r *run) awaitAdapter(ctx context.Context, name string) error {
	what := func() string { return fmt.Sprintf("adapter %s has no IPv4 address outside of 169.254.0.0/16", name) }
	probe := func(context.Context) (bool, error) { return r.adapterReady(name) }
	err := r.waitUntil(ctx, probe, adapterSeconds, what)
	if problem, ok := errors.AsType[*failure](err); ok && problem.reason == "" {
		problem.reason = "AddressMissing"
	}
	return err
}

// adapterReady leaves it to HNS to refuse an adapter that is missing. One that has a vSwitch has given its addresses to the
// virtual one.
func (r *run) adapterReady(name string) (bool, error) {
	if name == "" {
		return true, nil
	}
	adapters, err := r.machine.NetAdapters()
	present := slices.ContainsFunc(adapters, func(a windows.Adapter) bool { return windows.Same(a.Name, name) })
	if err != nil || !present {
		return true, err
	}
	addresses, err := r.machine.NetAddresses()
	return slices.ContainsFunc(addresses, func(one windows.Address) bool {
		return !windows.IPv6(one.Address) && usable(one) && slices.ContainsFunc(adapters, func(a windows.Adapter) bool {
			return a.Index == one.Index && (windows.Same(a.Name, name) || windows.Same(a.Name, "vEthernet ("+name+")"))
		})
	}), err
}

// usable is not an address that Windows makes up where DHCP gives none.
func usable(one windows.Address) bool { return !strings.HasPrefix(one.Address, "169.254.") }

// hnsEndpoint keeps the address of an endpoint that a CNI makes.
func (r *run) hnsEndpoint(step *plan.HNSEndpoint) error {
	name := step.Endpoint.String()
	endpoint, err := r.hnsItem("/endpoints", name)
	if err != nil {
		return err
	}
	address := text(endpoint, "IPAddress") // none of an endpoint that is missing
	if address == "" {
		return failf("HNS has no endpoint %s with an address", name)
	}
	r.setFact(step.Set, address)
	return nil
}

func (r *run) hnsItem(path, name string) (map[string]any, error) {
	items, err := r.machine.HNSCall("GET", path, "")
	at := slices.IndexFunc(items, func(item map[string]any) bool { return windows.Same(text(item, "Name"), name) })
	if at < 0 {
		return nil, err
	}
	return items[at], err
}

func text(item map[string]any, name string) string {
	value, _ := item[name].(string)
	return value
}

// hnsCleanup deletes what is named and not kept: endpoints first, because they hold their networks, and before them the policy
// lists, because they hold endpoints.
func (r *run) hnsCleanup(step *plan.HNSCleanup) error {
	keep := texts(step.Keep)
	var gone []string
	for _, what := range []struct {
		path  string
		names []string
	}{{"/endpoints", texts(step.Endpoints)}, {"/networks", texts(step.Networks)}} {
		items, err := r.machine.HNSCall("GET", what.path, "")
		if err != nil {
			return err
		}
		for _, item := range items {
			if name := text(item, "Name"); likeAny(name, what.names) && !likeAny(name, keep) {
				gone = append(gone, what.path+"/"+text(item, "ID"))
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	lists, err := r.machine.HNSCall("GET", "/policylists", "")
	if err != nil {
		return err
	}
	for _, list := range slices.Backward(lists) {
		gone = slices.Insert(gone, 0, "/policylists/"+text(list, "ID"))
	}
	for _, path := range gone {
		if _, err := r.machine.HNSCall("DELETE", path, ""); err != nil {
			return err
		}
	}
	return nil
}

func likeAny(name string, masks []string) bool {
	return slices.ContainsFunc(masks, func(mask string) bool { return windows.Like(name, mask) })
}
