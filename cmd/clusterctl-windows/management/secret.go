// Package management reads from clusters what the plugin's files lack: the login of a pool from its management cluster
// (secret.go), and from a workload cluster what its Calico has (calico.go) and where its pods go (workloads.go).
package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
)

// Secret returns a Secret as JSON.
func Secret(ctx context.Context, server *remote.Server, key types.NamespacedName) ([]byte, error) {
	var found json.RawMessage
	if err := secret(ctx, server, key, &found); err != nil {
		return nil, fmt.Errorf("the Secret %s is not in the files, and cannot be read from the cluster %s: %w", key, server, err)
	}
	return found, nil
}

func secret(ctx context.Context, server *remote.Server, key types.NamespacedName, object any) error {
	found, err := server.Get(ctx, "/api/v1/namespaces/"+key.Namespace+"/secrets/"+key.Name, object)
	if err == nil && !found {
		return errors.New("it is not there; name its namespace with -n")
	}
	return server.Reason(err)
}
