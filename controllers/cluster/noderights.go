package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// mostConfigs of a Cluster are read at once before a role is revoked.
	mostConfigs = 500
	// tellAgain is how soon a refusal that lasts is told once more. An API server forgets an Event after an hour.
	tellAgain = 30 * time.Minute
)

// NodeRights are those of nodes, as package nodes decides. Configs ask for them by the name of a role. Before a role is revoked,
// configs and Nodes are read from the API servers themselves.
type NodeRights struct {
	// Live reads from the management cluster's API server itself.
	Live client.Reader
	// Events are about Clusters, and are for a person.
	Events events.EventRecorder

	known memories[nodeMemory]
}

// nodeMemory is what is known of a cluster after a look at it.
type nodeMemory struct {
	// unneeded is since when nobody needs a role that is there.
	unneeded map[nodes.Role]time.Time
	// refusals are what an event has had of them; empty if nothing is refused. tellAt is when to make it once more.
	refusals string
	tellAt   time.Time
}

// Needs implements Keep.
func (*NodeRights) Needs(_ *clusterv1.Cluster, configs []client.Object, asked map[string]bool) (needs []string) {
	needed := map[nodes.Role]bool{}
	for _, o := range configs {
		if config, is := o.(*bootstrapv1.WindowsBootstrapConfig); is {
			for _, role := range nodes.NeededBy(config.Spec) {
				needed[role] = true
			}
		}
	}
	for _, role := range nodes.Roles() {
		if _, is := asked[string(role)]; is || needed[role] {
			needs = append(needs, string(role))
		}
	}
	return needs
}

// Forget implements Keep.
func (n *NodeRights) Forget(cluster client.ObjectKey) { n.known.forget(cluster) }

// Look implements Keep.
func (n *NodeRights) Look(ctx context.Context, v *Visit) error {
	api, err := v.Reach(ctx)
	if err != nil {
		return err
	}
	last := n.known.of(v.Key)
	if last.unneeded == nil {
		last.unneeded = map[nodes.Role]time.Time{}
	}
	var sentences []string
	var failures error
	for _, role := range nodes.Roles() {
		act, err := n.look(ctx, v, api, role, last)
		err = timely(ctx, err)
		failures = errors.Join(failures, err)
		if refusal := nodes.Refusal(role, act, err); refusal != nil {
			sentences = append(sentences, refusal.Error())
		}
		serves, answer := nodes.Answer(role, err)
		v.Reply(string(role), answer, serves)
	}
	if failures == nil {
		last.refusals = ""
	}
	n.tell(v, strings.Join(sentences, ". "), last)
	return failures
}

// tell makes an event of what a person must mend, unless that was done just now. It is one for both roles: the recorder takes
// events about the same object with the same reason for one.
func (n *NodeRights) tell(v *Visit, note string, last *nodeMemory) {
	if note == "" || note == last.refusals && v.Now.Before(last.tellAt) {
		return
	}
	last.refusals, last.tellAt = note, v.Now.Add(tellAgain)
	n.Events.Eventf(v.Cluster, nil, corev1.EventTypeWarning, bootstrapv1.DaemonRightsRefusedReason, "Look", "%s",
		cloud.Clean(note, maxNote))
}

// look brings a role to what is needed, and returns what it has done for that.
func (n *NodeRights) look(
	ctx context.Context, v *Visit, api *keep.Cluster, role nodes.Role, last *nodeMemory,
) (act nodes.Act, err error) {
	seen := nodes.Seen{Needed: slices.Contains(v.Needs, string(role)), Unneeded: last.unneeded[role]}
	if !seen.Needed {
		seen.There, err = isThere(ctx, api, role)
	}
	if seen.There {
		seen.InUse, err = n.isInUse(ctx, api, v.Key, role)
	}
	if err != nil {
		return nodes.Rest, err
	}
	act, again, unneeded := nodes.Next(seen, v.Now)
	last.unneeded[role] = unneeded
	v.LookAgain(again)
	switch act {
	case nodes.Grant:
		return act, api.WriteAll(ctx, role.Objects())
	case nodes.Revoke:
		return act, api.RevokeAll(ctx, role.Objects())
	}
	return act, nil
}

// isThere says whether there is something of ours to remove.
func isThere(ctx context.Context, api *keep.Cluster, role nodes.Role) (there bool, err error) {
	for _, object := range role.Objects() {
		if there, err = api.IsThere(ctx, object); there || err != nil {
			return there, err
		}
	}
	return false, nil
}

// isInUse asks the API servers themselves.
func (n *NodeRights) isInUse(ctx context.Context, api *keep.Cluster, cluster client.ObjectKey, role nodes.Role) (bool, error) {
	var running corev1.NodeList
	on := client.MatchingLabels{role.Label(): bootstrap.LabelService}
	if err := api.API.List(ctx, &running, on, client.Limit(1)); err != nil {
		return false, fmt.Errorf("list nodes: %w", err)
	}
	if len(running.Items) > 0 {
		return true, nil
	}
	its := client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
	for next := ""; ; {
		var configs bootstrapv1.WindowsBootstrapConfigList
		page := []client.ListOption{client.InNamespace(cluster.Namespace), its, client.Limit(mostConfigs), client.Continue(next)}
		if err := n.Live.List(ctx, &configs, page...); err != nil {
			return false, fmt.Errorf("list windowsbootstrapconfigs: %w", err)
		}
		if slices.ContainsFunc(configs.Items, func(c bootstrapv1.WindowsBootstrapConfig) bool {
			return slices.Contains(nodes.NeededBy(c.Spec), role)
		}) {
			return true, nil
		}
		if next = configs.Continue; next == "" {
			return false, nil
		}
	}
}
