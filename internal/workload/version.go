package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Version asks the API server of a Cluster for its version, as v1.36.3. While a control plane is upgraded, any of its API servers
// may answer.
func (c *Clusters) Version(ctx context.Context, key client.ObjectKey) (string, error) {
	if _, err := c.GetClient(ctx, key); err != nil {
		return "", err
	}
	found := c.cluster(key)
	found.mu.Lock()
	web, server := found.web, found.server
	found.mu.Unlock()
	if web == nil {
		return "", &UnreachableError{Why: away, cause: "its kubeconfig has just changed"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/version", http.NoBody)
	if err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := web.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	defer closeBody(response.Body)
	var told struct{ GitVersion string }
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil || response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the API server answers %s to the question for its version", response.Status)
	}
	return plain(told.GitVersion), nil
}
