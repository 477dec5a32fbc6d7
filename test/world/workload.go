package world

import (
	"context"
	"errors"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workload reaches the workload cluster of a namespace for a process, through its gate. It keeps no cache.
type workload struct {
	namespace *Namespace
	process   *Process

	mu  sync.Mutex
	api client.Client
}

// GetClient implements linux.Workload.
func (w *workload) GetClient(_ context.Context, cluster client.ObjectKey) (client.Client, error) {
	if w.process.Unreachable.Load() || cluster != (client.ObjectKey{Namespace: w.namespace.Name, Name: ClusterName}) {
		return nil, errors.New("no connection to the workload cluster")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.api != nil {
		return w.api, nil
	}
	config := rest.CopyConfig(w.namespace.workload.Config)
	config.WrapTransport = w.process.Gate.Wrap("workload")
	var err error
	w.api, err = client.New(config, client.Options{Scheme: w.namespace.scheme, Mapper: w.namespace.mapper})
	return w.api, err
}
