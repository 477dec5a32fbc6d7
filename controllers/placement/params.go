package placement

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
)

// nextParams are the params that follow from what is known of a cluster, after those that it has. Spared stays. So do labels of
// Windows Nodes that are gone: their pool may only be scaled to zero, and pods that select it are for Windows all the same. A
// label goes when a Linux Node has it. Known are also the labels of machines that ask.
func nextParams(last policies.Params, v *view, asking []verdict.Node) policies.Params {
	windows, linux := v.nodes()
	joining, onLinux := slices.Concat(v.joining(), asking), plain(linux)
	all := slices.Concat(plain(windows), joining, remembered(last.WindowsLabels, onLinux))
	labels := policies.WindowsLabels(all, onLinux)
	return policies.Params{
		WindowsLabels: labels, RuntimeClasses: policies.WindowsClasses(v.classes(), labels), Spared: last.Spared,
		SparedKnown: last.SparedKnown,
	}
}

func plain(nodes []node) []verdict.Node {
	all := make([]verdict.Node, len(nodes))
	for i, n := range nodes {
		all[i] = n.Node
	}
	return all
}

// remembered are Nodes with the labels of earlier ones. Any value of a key is not remembered where Linux Nodes have the key by
// now, and not that there were too many labels.
func remembered(labels map[string][]string, linux []verdict.Node) (nodes []verdict.Node) {
	for key, values := range labels {
		for _, value := range values {
			switch {
			case value != policies.Any:
				nodes = append(nodes, verdict.Node{Labels: map[string]string{key: value}})
			case key != policies.Any && !slices.ContainsFunc(linux, func(n verdict.Node) bool { return hasKey(n, key) }):
				nodes = append(nodes, verdict.Node{Unknown: []string{key}})
			}
		}
	}
	return nodes
}

func hasKey(n verdict.Node, key string) bool {
	_, has := n.Labels[key]
	return has
}

// nextParams are what the mutating policy needs: without them, it is not written.
func (c *cluster) nextParams(ctx context.Context, asking []verdict.Node, next *deadline) (p policies.Params, known bool) {
	const key = "param"
	delete(c.why, key)
	if !c.view.knowsToBeMade() {
		c.why[key] = errPending
		return p, false
	}
	for _, resource := range []string{nodes, classes} {
		if !c.view.isListed(resource) {
			c.why[key] = errPending
			if c.view.isHidden(resource) {
				c.why[key] = &hiddenError{resource}
			}
			return p, false
		}
	}
	if (c.params == nil || c.mustSpare(*c.params)) && !c.findParams(ctx, key, next) {
		return p, false
	}
	*c.params = nextParams(*c.params, c.view, asking)
	return *c.params, true
}

// findParams brings those that the cluster has, when it is time for that.
func (c *cluster) findParams(ctx context.Context, key string, next *deadline) bool {
	if wait := c.again[key]; time.Now().Before(wait) {
		next.by(wait)
		c.why[key] = c.paramError
		return false
	}
	read, err := c.readParams(ctx)
	if err == nil {
		c.params = &read
		return true
	}
	c.again[key], c.why[key], c.paramError = time.Now().Add(retry), err, err
	switch {
	case isLasting(err):
		c.again[key] = time.Now().Add(recheck)
	case errors.Is(err, errPending):
		c.again[key] = time.Now().Add(settle)
	}
	next.by(c.again[key])
	return false
}

// readParams are those of the cluster, with what the mutating policy must spare if it can be there.
func (c *cluster) readParams(ctx context.Context) (p policies.Params, err error) {
	api, err := c.keeper.Workload.GetClient(ctx, c.key)
	if err != nil {
		return p, err
	}
	if c.params != nil {
		p = *c.params
	} else {
		var there corev1.ConfigMap
		err := api.Get(ctx, client.ObjectKey{Namespace: policies.ParamNamespace, Name: policies.ParamName}, &there)
		if err == nil {
			p, _ = policies.ReadParams(&there) // what cannot be read is found out anew
		} else if !apierrors.IsNotFound(err) {
			return p, err
		}
	}
	if c.mustSpare(p) {
		p.Spared, p.SparedKnown, err = c.spare(ctx, api)
	}
	return p, err
}
