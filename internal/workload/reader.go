package workload

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
)

const (
	// someObjects of a list are read at once: 20 Nodes with 80 KiB each have less than maxList.
	someObjects = 20
	// mostLists are as many pages of a list as are read: no cluster is known with as many workloads.
	mostLists = 500
)

// Reader reads lists of a Cluster's API server page by page.
func (c *Clusters) Reader(ctx context.Context, key client.ObjectKey) (apiserver.Reader, error) {
	if _, err := c.GetClient(ctx, key); err != nil {
		return apiserver.Reader{}, err
	}
	found := c.cluster(key)
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.rest == nil {
		return apiserver.Reader{}, &UnreachableError{Why: cannotReach, cause: "its kubeconfig has just changed"}
	}
	return apiserver.Reader{REST: found.rest, Page: someObjects, MostPages: mostLists}, nil
}
