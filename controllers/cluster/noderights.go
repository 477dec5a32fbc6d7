package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
)

// tellAgain is how soon a refusal that lasts is reported once more. An API server forgets an Event after an hour.
const tellAgain = 30 * time.Minute

// NodeRights are those of nodes, as package nodes decides. Configs ask for them by the name of a role. Before a role is revoked,
// configs and Nodes are read from the API servers themselves.
type NodeRights struct {
	// Live reads from the management cluster's API server itself.
	Live client.Reader

	// unneeded is since when nobody needs a role that is there.
	unneeded map[nodes.Role]time.Time
	// refusals are what an event has had of them; empty if nothing is refused. tellAt is when to make it once more.
	refusals string
	tellAt   time.Time
}

// Needs implements Keep.
func (*NodeRights) Needs(_ *clusterv1.Cluster, configs client.ObjectList, asked map[string]bool) (needs []string) {
	for _, role := range nodes.Roles() {
		_, needed := asked[string(role)]
		if needed || anyConfig(configs, needing(role)) {
			needs = append(needs, string(role))
		}
	}
	return needs
}

// Look implements Keep. What a person must mend is one event for both roles: the recorder takes events about the same object with
// the same reason for one.
func (n *NodeRights) Look(ctx context.Context, v *Visit) error {
	api, err := v.Reach(ctx)
	if err != nil {
		return err
	}
	if n.unneeded == nil {
		n.unneeded = map[nodes.Role]time.Time{}
	}
	var sentences []string
	var failures error
	for _, role := range nodes.Roles() {
		acts, err := n.look(ctx, v, api, role)
		err = timely(ctx, err)
		failures = errors.Join(failures, err)
		revoke := !slices.Contains(v.Needs, string(role))
		if refusal := nodes.Refusal(role, revoke, err); acts && refusal != nil {
			sentences = append(sentences, refusal.Error())
		}
		serves, answer := nodes.Answer(role, err)
		v.Reply(string(role), answer, serves)
	}
	if failures == nil {
		n.refusals = ""
	}
	note := strings.Join(sentences, ". ")
	if note != "" && (note != n.refusals || !v.Now.Before(n.tellAt)) {
		n.refusals, n.tellAt = note, v.Now.Add(tellAgain)
		v.report(corev1.EventTypeWarning, bootstrapv1.DaemonRightsRefusedReason, "", note)
	}
	return failures
}

// look brings a role to what is needed. It returns whether it grants or revokes the role: a kubeconfig need not have a right to
// look for what nobody needs.
func (n *NodeRights) look(ctx context.Context, v *Visit, api *keep.Cluster, role nodes.Role) (acts bool, err error) {
	if slices.Contains(v.Needs, string(role)) {
		delete(n.unneeded, role)
		v.LookAgain(nodes.Recheck)
		return true, api.WriteAll(ctx, role.Objects())
	}
	exists, err := api.IsThere(ctx, role.Objects()...)
	inUse := false
	if exists {
		v.LookAgain(nodes.Recheck)
		inUse, err = n.isInUse(ctx, api, v.Key, role)
	}
	if err != nil {
		return false, err
	}
	if !exists || inUse {
		delete(n.unneeded, role)
		return false, nil
	}
	revoke, delay, unneededSince := nodes.Unneeded(n.unneeded[role], v.Now)
	n.unneeded[role] = unneededSince
	v.LookAgain(delay)
	if !revoke {
		return false, nil
	}
	return true, api.RevokeAll(ctx, role.Objects())
}

// isInUse asks the API servers themselves.
func (n *NodeRights) isInUse(ctx context.Context, api *keep.Cluster, cluster client.ObjectKey, role nodes.Role) (bool, error) {
	var running corev1.NodeList
	labeled := client.MatchingLabels{role.Label(): bootstrap.LabelService}
	if err := api.API.List(ctx, &running, labeled, client.Limit(1)); err != nil {
		return false, fmt.Errorf("list nodes: %w", err)
	}
	if len(running.Items) > 0 {
		return true, nil
	}
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
	inNamespace, limit := client.InNamespace(cluster.Namespace), client.Limit(caches.PageOfLarge)
	for next := ""; ; {
		var configs bootstrapv1.WindowsBootstrapConfigList
		if err := n.Live.List(ctx, &configs, inNamespace, ofCluster, limit, client.Continue(next)); err != nil {
			return false, fmt.Errorf("list windowsbootstrapconfigs: %w", err)
		}
		if anyConfig(&configs, needing(role)) {
			return true, nil
		}
		if next = configs.Continue; next == "" {
			return false, nil
		}
	}
}

func anyConfig(configs client.ObjectList, matches func(bootstrapv1.WindowsBootstrapConfig) bool) bool {
	list, ok := configs.(*bootstrapv1.WindowsBootstrapConfigList)
	return ok && slices.ContainsFunc(list.Items, matches)
}

func needing(role nodes.Role) func(bootstrapv1.WindowsBootstrapConfig) bool {
	return func(c bootstrapv1.WindowsBootstrapConfig) bool { return slices.Contains(nodes.NeededBy(c.Spec), role) }
}
