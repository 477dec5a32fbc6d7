package places

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

const (
	standard    = "Network"
	distributed = "DistributedVirtualPortgroup"
	opaque      = "OpaqueNetwork"
)

var networkKinds = []string{standard, distributed, opaque}

// network is one that an adapter can be connected to.
type network struct {
	ref    types.ManagedObjectReference
	parent types.ManagedObjectReference
	name   string

	key     string                        // of a port group
	ofDVS   *types.ManagedObjectReference // the port group's switch; nil if the account may not read it
	summary *types.OpaqueNetworkSummary
}

// chart is the networks that are known in one lookup. Of two with one name, the one that the hosts of the pool have is meant,
// so the datacenter's are read only if those do not have it.
type chart struct {
	atlas
	hosts []network
	all   []network // nil until they are needed
	dvs   map[types.ManagedObjectReference]dvs
}

// dvs is a distributed switch.
type dvs struct{ name, uuid string }

// networks finds what the VM's adapters connect to.
func (a atlas) networks(
	ctx context.Context, pool types.ManagedObjectReference, interfaces []infrav1.VSphereNetworkInterface,
) (backings []types.BaseVirtualDeviceBackingInfo, err error) {
	c, err := a.chart(ctx, pool)
	if err != nil {
		return nil, err
	}
	for i, one := range interfaces {
		_, backing, err := c.connection(ctx, networkField(i), one.Network)
		if err != nil {
			return nil, err
		}
		backings = append(backings, backing)
	}
	return backings, nil
}

func networkField(i int) string { return fmt.Sprintf("networkInterfaces[%d].network", i) }

// chart reads the networks that the hosts of the pool have.
func (a atlas) chart(ctx context.Context, pool types.ManagedObjectReference) (*chart, error) {
	c := &chart{atlas: a, dvs: map[types.ManagedObjectReference]dvs{}}
	hosts := session.Source{Object: pool, Via: "owner", Then: &session.Step{Type: "ComputeResource", Via: "network"}, Visible: true}
	var err error
	c.hosts, err = a.readNetworks(ctx, hosts)
	return c, err
}

// connection finds a network, and how an adapter names it.
func (c *chart) connection(
	ctx context.Context, field, name string,
) (network, types.BaseVirtualDeviceBackingInfo, error) {
	found, err := c.find(ctx, field, name)
	if err != nil {
		return found, nil, err
	}
	backing, err := c.backing(ctx, field, found)
	return found, backing, err
}

func (a atlas) readNetworks(ctx context.Context, from session.Source) (all []network, err error) {
	found, err := session.ReadKinds(ctx, a.client, from, map[string][]string{
		standard:    {"name", "parent"},
		distributed: {"name", "parent", "key", "config.distributedVirtualSwitch"},
		opaque:      {"name", "parent", "summary"},
	})
	for ref, p := range found {
		n := network{ref: ref}
		n.name, _ = p["name"].(string)
		n.parent, _ = p["parent"].(types.ManagedObjectReference)
		n.key, _ = p["key"].(string)
		if of, ok := p["config.distributedVirtualSwitch"].(types.ManagedObjectReference); ok {
			n.ofDVS = &of
		}
		if s, ok := p["summary"].(types.OpaqueNetworkSummary); ok {
			n.summary = &s
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b network) int { return cmp.Compare(a.ref.Value, b.ref.Value) })
	return all, err
}

// find looks for a network first among those of the hosts, then among all. Each way to write a network is tried in turn: a name,
// a reference, a switch and a name, a path.
func (c *chart) find(ctx context.Context, field, name string) (network, error) {
	for _, scope := range []struct {
		read func(context.Context) ([]network, error)
		kind string
	}{
		{func(context.Context) ([]network, error) { return c.hosts, nil }, "networks that the hosts of the resource pool have"},
		{c.readAll, "networks, of which the hosts of the resource pool have none"},
	} {
		known, err := scope.read(ctx)
		if err != nil {
			return network{}, err
		}
		found, err := c.among(ctx, known, name)
		if err != nil {
			return network{}, err
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return network{}, c.ambiguous(ctx, field, name, scope.kind, found)
		}
	}
	return network{}, c.missing(field, name)
}

// readAll reads all networks of the datacenter.
func (c *chart) readAll(ctx context.Context) ([]network, error) {
	if c.all != nil {
		return c.all, nil
	}
	err := c.viewing(ctx, networkKinds, func(from session.Source) (err error) {
		from.Visible = true
		c.all, err = c.readNetworks(ctx, from)
		return err
	})
	return c.all, err
}

// among returns the networks that a name can mean.
func (c *chart) among(ctx context.Context, known []network, name string) ([]network, error) {
	found := such(known, func(n network) bool { return n.name == name })
	if len(found) == 0 {
		found = such(known, func(n network) bool { return n.ref.Value == name || n.ref.String() == name })
	}
	if len(found) > 0 || !strings.Contains(name, "/") {
		return found, nil
	}
	found, err := c.ofSwitch(ctx, known, name)
	if len(found) > 0 || err != nil {
		return found, err
	}
	return c.onPath(ctx, known, name)
}

// ofSwitch returns the port groups that switch/name means.
func (c *chart) ofSwitch(ctx context.Context, known []network, name string) ([]network, error) {
	of, group, _ := strings.Cut(name, "/")
	found := such(known, func(n network) bool { return n.ofDVS != nil && n.name == group })
	if err := c.readSwitches(ctx, found); err != nil {
		return nil, err
	}
	return such(found, func(n network) bool { return c.dvs[*n.ofDVS].name == of }), nil
}

// onPath returns the networks that a path leads to. The vCenter itself answers with any one of those that have the same name in
// the same folder.
func (c *chart) onPath(ctx context.Context, known []network, path string) ([]network, error) {
	ref, err := c.byPath(ctx, "networkInterfaces", path)
	if ref == nil || err != nil {
		return nil, err
	}
	all, err := c.readAll(ctx)
	if err != nil {
		return nil, err
	}
	var found []network
	for _, one := range such(all, func(n network) bool { return n.ref == *ref }) {
		found = such(known, func(n network) bool { return n.name == one.name && n.parent == one.parent })
	}
	return found, nil
}

// readSwitches reads the switches of some port groups, each once. One that the account may not read is left out.
func (c *chart) readSwitches(ctx context.Context, groups []network) error {
	for _, one := range groups {
		if _, known := c.dvs[*one.ofDVS]; known {
			continue
		}
		from := session.Source{Object: *one.ofDVS, Visible: true}
		found, err := session.Read(ctx, c.client, from, "DistributedVirtualSwitch", "name", "uuid")
		if err != nil {
			return err
		}
		var s dvs
		s.name, _ = found[*one.ofDVS]["name"].(string)
		s.uuid, _ = found[*one.ofDVS]["uuid"].(string)
		c.dvs[*one.ofDVS] = s
	}
	return nil
}

// ambiguous lists what can be written instead of a name: the switch and the name where they tell a network from the others, and
// the reference otherwise.
func (c *chart) ambiguous(ctx context.Context, field, name, kind string, found []network) error {
	grouped := such(found, func(n network) bool { return n.ofDVS != nil })
	if err := c.readSwitches(ctx, grouped); err != nil {
		return err
	}
	instead, times := make([]string, len(found)), map[string]int{}
	for i, n := range found {
		if n.ofDVS != nil && c.dvs[*n.ofDVS].name != "" {
			instead[i] = c.dvs[*n.ofDVS].name + "/" + n.name
		}
		times[instead[i]]++
	}
	for i, n := range found {
		if instead[i] == "" || times[instead[i]] > 1 || instead[i] == name {
			instead[i] = n.ref.Value
		}
	}
	return ambiguous(field, name, kind, instead)
}

// backing is how an adapter names its network.
func (c *chart) backing(ctx context.Context, field string, n network) (types.BaseVirtualDeviceBackingInfo, error) {
	switch {
	case n.summary != nil:
		return &types.VirtualEthernetCardOpaqueNetworkBackingInfo{
			OpaqueNetworkId: n.summary.OpaqueNetworkId, OpaqueNetworkType: n.summary.OpaqueNetworkType,
		}, nil
	case n.ref.Type != distributed:
		return &types.VirtualEthernetCardNetworkBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: n.name},
		}, nil
	case n.ofDVS != nil:
		if err := c.readSwitches(ctx, []network{n}); err != nil {
			return nil, err
		}
		if uuid := c.dvs[*n.ofDVS].uuid; uuid != "" {
			return &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
				Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: n.key, SwitchUuid: uuid},
			}, nil
		}
	}
	return nil, cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason,
		"the vCenter account may not read the distributed switch of spec.vsphere.%s %q: give it the role Read-only on the switch",
		field, cloud.Clean(n.name, maxPath))
}

func such(all []network, good func(network) bool) (some []network) {
	for _, n := range all {
		if good(n) {
			some = append(some, n)
		}
	}
	return some
}
