package management

import (
	"context"
	"net/url"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
)

// probe tries whether the API server obeys the policies that exist. The result stays unknown if this user may not create such
// objects, or if another admission policy refuses them.
func (r *reading) probe(ctx context.Context) error {
	p := &r.cluster.Policies
	if len(p.Present) == 0 {
		return nil
	}
	_, err := r.dryRun(ctx, policies.ProbeValidating())
	if p.Refuses = policies.IsRefusal(err); err != nil && !p.Refuses {
		return ctx.Err()
	}
	changed, err := r.dryRun(ctx, policies.ProbeMutating())
	if err != nil {
		return ctx.Err()
	}
	p.Tried, p.Changes = true, policies.IsMutated(changed)
	return nil
}

// dryRun returns what an object would be. It is not made.
func (r *reading) dryRun(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	var answer corev1.ConfigMap
	path := "/api/v1/namespaces/" + object.Namespace + "/configmaps"
	return &answer, r.server.Post(ctx, path, url.Values{"dryRun": {"All"}}, object, &answer)
}
