package places

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/find"
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
	hosts  []network
	cached []network                               // nil until they are needed
	uuid   map[types.ManagedObjectReference]string // of a distributed switch
}

// networks finds what the VM's adapters connect to.
func (a atlas) networks(
	ctx context.Context, pool types.ManagedObjectReference, interfaces []infrav1.VSphereNetworkInterface,
) (backings []types.BaseVirtualDeviceBackingInfo, err error) {
	c, err := a.chart(ctx, pool)
	if err != nil {
		return nil, err
	}
	for i, nic := range interfaces {
		_, backing, err := c.connection(ctx, networkField(i), nic.Network)
		if err != nil {
			return nil, err
		}
		backings = append(backings, backing)
	}
	return backings, nil
}

func networkField(i int) string { return fmt.Sprintf(networkInterfaces+"[%d].network", i) }

// chart reads the networks that the hosts of the pool have.
func (a atlas) chart(ctx context.Context, pool types.ManagedObjectReference) (*chart, error) {
	c := &chart{atlas: a, uuid: map[types.ManagedObjectReference]string{}}
	ofHosts := &types.TraversalSpec{Type: "ComputeResource", Path: "network"}
	hosts := session.Source{Object: pool, Via: "owner", Next: ofHosts, Visible: true}
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

func (a atlas) readNetworks(ctx context.Context, source session.Source) (networks []network, err error) {
	found, err := session.ReadKinds(ctx, a.client, source, map[string][]string{
		standard:    {"name", "parent"},
		distributed: {"name", "parent", "key", "config.distributedVirtualSwitch"},
		opaque:      {"name", "parent", "summary"},
	})
	for ref, p := range found {
		n := network{ref: ref}
		n.name, _ = p["name"].(string)
		n.parent, _ = p["parent"].(types.ManagedObjectReference)
		n.key, _ = p["key"].(string)
		if dvs, ok := p["config.distributedVirtualSwitch"].(types.ManagedObjectReference); ok {
			n.ofDVS = &dvs
		}
		if s, ok := p["summary"].(types.OpaqueNetworkSummary); ok {
			n.summary = &s
		}
		networks = append(networks, n)
	}
	slices.SortFunc(networks, func(a, b network) int { return cmp.Compare(a.ref.Value, b.ref.Value) })
	return networks, err
}

// find looks for a network. Each way to write one is tried in turn: a name, a reference, a switch and a name, a path, and then
// what else the Finder takes.
func (c *chart) find(ctx context.Context, field, name string) (network, error) {
	meanings := []func(context.Context, string) (func(network) bool, error){named, referred, c.listed}
	switch {
	case isPattern(name):
		meanings = meanings[2:]
	case strings.Contains(name, "/"):
		meanings[0], meanings[1] = c.ofSwitch, c.onPath
	}
	for _, meant := range meanings {
		matches, err := meant(ctx, name)
		if err != nil {
			return network{}, err
		}
		if matches == nil {
			continue
		}
		if found, err := c.choose(ctx, field, name, matches); found.name != "" || err != nil {
			return found, err
		}
	}
	return network{}, c.missing(field, name)
}

// choose returns the network that is meant: one that the hosts have, or else one of the datacenter.
func (c *chart) choose(ctx context.Context, field, name string, matches func(network) bool) (network, error) {
	found, kind := filter(c.hosts, matches), "networks that the hosts of the resource pool have"
	if len(found) == 0 {
		networks, err := c.readAll(ctx)
		if err != nil {
			return network{}, err
		}
		found, kind = filter(networks, matches), "networks, of which the hosts of the resource pool have none"
	}
	switch len(found) {
	case 0:
		return network{}, nil
	case 1:
		return found[0], nil
	}
	return network{}, c.ambiguous(ctx, field, name, kind, found)
}

// readAll reads all networks of the datacenter.
func (c *chart) readAll(ctx context.Context) ([]network, error) {
	if c.cached != nil {
		return c.cached, nil
	}
	err := c.viewing(ctx, networkKinds, func(source session.Source) (err error) {
		source.Visible = true
		c.cached, err = c.readNetworks(ctx, source)
		return err
	})
	return c.cached, err
}

// named are the networks of a name.
func named(_ context.Context, name string) (func(network) bool, error) {
	return func(n network) bool { return n.name == name }, nil
}

// referred is the network of a reference.
func referred(_ context.Context, name string) (func(network) bool, error) {
	return func(n network) bool { return n.ref.Value == name || n.ref.String() == name }, nil
}

// ofSwitch are the port groups that a switch and a name mean.
func (c *chart) ofSwitch(ctx context.Context, name string) (func(network) bool, error) {
	switchName, group := path.Split(path.Clean(name))
	dvs, err := c.byPath(ctx, networkSwitch, switchName)
	if dvs == noRef || err != nil {
		return nil, err
	}
	return func(n network) bool { return n.ofDVS != nil && *n.ofDVS == dvs && n.name == group }, nil
}

// onPath are the networks that a path leads to. The vCenter itself answers with any one of those that have the same name in the
// same folder.
func (c *chart) onPath(ctx context.Context, name string) (func(network) bool, error) {
	ref, err := c.byPath(ctx, networkInterfaces, name)
	if ref == noRef || err != nil {
		return nil, err
	}
	networks, err := c.readAll(ctx)
	index := slices.IndexFunc(networks, func(n network) bool { return n.ref == ref })
	if index < 0 || err != nil {
		return nil, err
	}
	return func(n network) bool { return n.name == networks[index].name && n.parent == networks[index].parent }, nil
}

// listed are the networks that the Finder finds. Of several that wildcards match, none is meant, whichever the hosts have.
func (c *chart) listed(ctx context.Context, name string) (func(network) bool, error) {
	found, err := c.list(ctx, networkInterfaces, name)
	if err != nil || isPattern(name) && len(found) > 1 {
		return nil, err
	}
	return func(n network) bool { return slices.Contains(found, n.ref) }, nil
}

// uuidOf reads the UUID of a distributed switch, once. It is empty if the account may not read it.
func (c *chart) uuidOf(ctx context.Context, dvs types.ManagedObjectReference) (string, error) {
	if uuid, ok := c.uuid[dvs]; ok {
		return uuid, nil
	}
	found, err := session.Read(ctx, c.client, session.Source{Object: dvs, Visible: true}, "DistributedVirtualSwitch", "uuid")
	uuid, _ := found[dvs]["uuid"].(string)
	if err == nil {
		c.uuid[dvs] = uuid
	}
	return uuid, err
}

// ambiguous lists what can be written instead of a name: the path by way of the switch where that distinguishes a network from
// the others, and the reference otherwise.
func (c *chart) ambiguous(ctx context.Context, field, name, kind string, found []network) error {
	choices, times := make([]string, len(found)), map[string]int{}
	for i, n := range found[:min(len(found), mostSwitches)] {
		if n.ofDVS != nil {
			dvsPath, err := find.InventoryPath(ctx, c.client, *n.ofDVS)
			if err != nil && !unseen(err) {
				return err
			}
			choices[i] = dvsPath + "/" + n.name
		}
		times[choices[i]]++
	}
	for i, n := range found {
		if !strings.HasPrefix(choices[i], c.path+"/") || times[choices[i]] > 1 {
			choices[i] = n.ref.Value
		}
	}
	return ambiguous(field, name, kind, choices)
}

// mostSwitches are looked up for a sentence.
const mostSwitches = 8

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
		uuid, err := c.uuidOf(ctx, *n.ofDVS)
		if err != nil {
			return nil, err
		}
		if uuid != "" {
			return &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
				Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: n.key, SwitchUuid: uuid},
			}, nil
		}
	}
	return nil, cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason,
		"the vCenter account may not read the distributed switch of spec.vsphere.%s %q: give it the role Read-only on the switch",
		field, cloud.Clean(n.name, maxPath))
}

func filter(networks []network, good func(network) bool) (matches []network) {
	for _, n := range networks {
		if good(n) {
			matches = append(matches, n)
		}
	}
	return matches
}
