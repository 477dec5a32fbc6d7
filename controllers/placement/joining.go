package placement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
)

// findJoining adds the Nodes that configs will join: of those that differ in their names alone, one.
func (k *Keeper) findJoining(
	ctx context.Context, clusters map[client.ObjectKey]*found, machines map[client.ObjectKey][]*infrav1.WindowsMachine,
) error {
	owners, err := k.unjoined(ctx)
	if err != nil {
		return err
	}
	var configs bootstrapv1.WindowsBootstrapConfigList
	if err := k.Client.List(ctx, &configs, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list windowsbootstrapconfigs: %w", err)
	}
	byKey := map[client.ObjectKey]*bootstrapv1.WindowsBootstrapConfig{}
	for i := range configs.Items {
		byKey[client.ObjectKeyFromObject(&configs.Items[i])] = &configs.Items[i]
	}
	for key, one := range clusters {
		alike := map[string]verdict.Node{}
		for _, machine := range oneOfEachSet(machines[key], owners) {
			owner := owners[client.ObjectKeyFromObject(machine)]
			config := byKey[client.ObjectKey{Namespace: owner.Namespace, Name: owner.Spec.Bootstrap.ConfigRef.Name}]
			if config == nil {
				continue // others make its user data
			}
			if n, err := verdict.ToBeMade(config, machine); err == nil { // else no Node will come of it, as its config says
				add(alike, n)
			}
		}
		for _, like := range slices.Sorted(maps.Keys(alike)) {
			one.joining = append(one.joining, alike[like])
		}
	}
	return nil
}

// oneOfEachSet are the machines without a Node, of those of a MachineSet the first: the others will be alike.
func oneOfEachSet(
	machines []*infrav1.WindowsMachine, owners map[client.ObjectKey]*clusterv1.Machine,
) map[string]*infrav1.WindowsMachine {
	sets := map[string]*infrav1.WindowsMachine{}
	for _, m := range machines {
		if owners[client.ObjectKeyFromObject(m)] == nil {
			continue
		}
		set := m.Labels[clusterv1.MachineSetNameLabel]
		if set == "" {
			set = "/" + m.Name // no set has such a name
		}
		if first := sets[set]; first == nil || m.Name < first.Name {
			sets[set] = m
		}
	}
	return sets
}

// unjoined are the Machines without a Node, by their WindowsMachine.
func (k *Keeper) unjoined(ctx context.Context) (map[client.ObjectKey]*clusterv1.Machine, error) {
	var all clusterv1.MachineList
	if err := k.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	owners := map[client.ObjectKey]*clusterv1.Machine{}
	for i := range all.Items {
		m := &all.Items[i]
		if m.Spec.InfrastructureRef.Kind == "WindowsMachine" && !m.Status.NodeRef.IsDefined() && m.DeletionTimestamp.IsZero() {
			owners[client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.InfrastructureRef.Name}] = m
		}
	}
	return owners, nil
}

// add keeps the first of Nodes that are alike, by name.
func add(alike map[string]verdict.Node, n verdict.Node) {
	like := likeOf(n)
	if last, known := alike[like]; !known || n.Name < last.Name {
		alike[like] = n
	}
}

// likeOf is the same for Nodes that differ in their names alone.
func likeOf(n verdict.Node) string {
	labels := maps.Clone(n.Labels)
	delete(labels, corev1.LabelHostname)
	return fmt.Sprint(labels, n.Taints, n.Unknown) // maps are printed in the order of their keys
}

// mostAsking are as many Nodes that differ in more than their names as machines of a cluster ask for, and are remembered.
const mostAsking = 100

// asking is the Node of a machine that asks for the policies: they must know its labels before there is its VM. What they were
// told once stays in their params.
type asking struct {
	node  verdict.Node
	since time.Time
	known bool
}

// ask notes which Nodes are to join, and returns since when the policies do not know one of them. It must be called with the
// lock.
func (c *cluster) ask(joining []verdict.Node, now time.Time) (since time.Time) {
	for _, n := range joining {
		like := likeOf(n)
		one := c.asking[like]
		if one == nil {
			if len(c.asking) >= mostAsking {
				clear(c.asking)
			}
			one = &asking{node: n, since: now}
			c.asking[like] = one
			c.hurry()
		}
		if !one.known && (since.IsZero() || one.since.Before(since)) {
			since = one.since
		}
	}
	return since
}

// asked are the Nodes that are to join, by how they are like.
func (c *cluster) asked() map[string]verdict.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]verdict.Node{}
	for like, one := range c.asking {
		all[like] = one.node
	}
	return all
}

// known notes that the policies were told of Nodes that are to join, or need not be.
func (c *cluster) known(asked map[string]verdict.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for like := range asked {
		if one := c.asking[like]; one != nil {
			one.known = true
		}
	}
}
