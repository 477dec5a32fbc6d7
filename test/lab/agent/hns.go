package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// hnsNetwork makes the network or leaves that to another, waits for its management address, and keeps that as a fact.
func (r *run) hnsNetwork(ctx context.Context, step *plan.HNSNetwork) error {
	name := fmt.Sprint(step.Request["Name"])
	if !step.Wait {
		if err := r.addNetwork(step.Request); err != nil {
			return err
		}
	}
	var network map[string]any
	probe := func(context.Context) (bool, error) {
		var err error
		if network, err = r.hnsItem("/networks", name); err != nil || text(network, "ManagementIP") == "" {
			return false, err
		}
		return r.hasAddress(text(network, "ManagementIP"))
	}
	what := func() string { return fmt.Sprintf("HNS network %s has no management address", name) }
	if err := r.waitUntil(ctx, probe, orElse(step.TimeoutSeconds, 180), what); err != nil {
		return err
	}
	r.setFact(plan.FactManagementIP, text(network, "ManagementIP"))
	if step.SetSubnet == "" {
		return nil
	}
	subnets, _ := network["Subnets"].([]any)
	if len(subnets) == 0 {
		return failf("HNS network %s has no subnet", name)
	}
	subnet, _ := subnets[0].(map[string]any)
	r.setFact(step.SetSubnet, text(subnet, "AddressPrefix"))
	return nil
}

// addNetwork makes a network, and replaces one of another type.
func (r *run) addNetwork(request map[string]any) error {
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
	body, err := windows.PlainJSON(request)
	if err != nil {
		return err
	}
	_, err = r.machine.HNSCall("POST", "/networks", body)
	return err
}

// hnsEndpoint makes an endpoint, and attaches the host to it unless it has its address already.
func (r *run) hnsEndpoint(step *plan.HNSEndpoint) error {
	name := step.Endpoint.String()
	if !step.Wait {
		if err := r.addEndpoint(name, step.Network.String()); err != nil {
			return err
		}
	}
	endpoint, err := r.hnsItem("/endpoints", name)
	if err != nil {
		return err
	}
	address := text(endpoint, "IPAddress") // none of an endpoint that is missing
	if address == "" {
		return failf("HNS endpoint %s has no address", name)
	}
	there, err := r.hasAddress(address)
	if err == nil && !there {
		path := "/endpoints/" + text(endpoint, "ID") + "/attach"
		_, err = r.machine.HNSCall("POST", path, `{"CompartmentId":1,"SystemType":"Host"}`)
	}
	if err == nil && step.Set != "" {
		r.setFact(step.Set, address)
	}
	return err
}

func (r *run) addEndpoint(name, on string) error {
	there, err := r.hnsItem("/endpoints", name)
	if err != nil || there != nil {
		return err
	}
	network, err := r.hnsItem("/networks", on)
	if err != nil {
		return err
	}
	if network == nil {
		return failf("HNS has no network %s", on)
	}
	body, err := json.Marshal(map[string]any{"Name": name, "VirtualNetwork": network["ID"]})
	if err != nil {
		return err
	}
	_, err = r.machine.HNSCall("POST", "/endpoints", string(body))
	return err
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
