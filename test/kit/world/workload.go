package world

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// gated is a client behind a gate. What belongs to one machine is called secrets there, and what belongs to the cluster as a
// whole, which is written unstructured, has the name of its kind.
type gated struct {
	client.Client
	gate *Gate
}

// Get passes the gate.
func (g gated) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if err := g.gate.Read("workload GET " + kindOf(o)); err != nil {
		return err
	}
	return g.Client.Get(ctx, key, o, options...)
}

// Create passes the gate.
func (g gated) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return g.change("POST "+kindOf(o), func() error { return g.Client.Create(ctx, o, options...) })
}

// Update passes the gate.
func (g gated) Update(ctx context.Context, o client.Object, options ...client.UpdateOption) error {
	return g.change("PUT "+kindOf(o), func() error { return g.Client.Update(ctx, o, options...) })
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
	return g.change("DELETE "+kindOf(o), func() error { return g.Client.Delete(ctx, o, options...) })
}

func kindOf(o client.Object) string {
	if object, is := o.(*unstructured.Unstructured); is {
		return strings.ToLower(object.GetKind()) + "s"
	}
	return "secrets"
}

func (g gated) change(name string, forward func() error) error {
	var failed error
	killed := g.gate.Change("workload "+name, func() bool {
		failed = forward()
		return failed == nil
	})
	return errors.Join(killed, failed)
}
