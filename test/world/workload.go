package world

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// reach is how a process reaches the workload cluster of its namespace: as in production, but through its gate.
type reach struct {
	*workload.Clusters
	process *Process
	now     func() time.Time // nil: the cluster's own
}

// GetClient implements bootstrap.Workload.
func (r *reach) GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
	api, err := r.Clusters.GetClient(ctx, cluster)
	return gated{api, r.process.Gate}, err
}

// Now implements bootstrap.Workload.
func (r *reach) Now(cluster client.ObjectKey) time.Time {
	if r.now == nil {
		return r.Clusters.Now(cluster)
	}
	return r.now()
}

// gated is a client behind a gate. Our controllers work with Secrets alone.
type gated struct {
	client.Client
	gate *Gate
}

// Get passes the gate.
func (g gated) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if err := g.gate.Read("workload GET secrets"); err != nil {
		return err
	}
	return g.Client.Get(ctx, key, o, options...)
}

// Create passes the gate.
func (g gated) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return g.change("POST secrets", func() error { return g.Client.Create(ctx, o, options...) })
}

// Patch passes the gate.
func (g gated) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	body, err := patch.Data(o)
	if err != nil {
		return err
	}
	return g.change("PATCH secrets "+contentOf(body), func() error { return g.Client.Patch(ctx, o, patch, options...) })
}

// Delete passes the gate.
func (g gated) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	return g.change("DELETE secrets", func() error { return g.Client.Delete(ctx, o, options...) })
}

func (g gated) change(name string, forward func() error) error {
	var failed error
	killed := g.gate.Change("workload "+name, func() bool {
		failed = forward()
		return failed == nil
	})
	return errors.Join(killed, failed)
}
