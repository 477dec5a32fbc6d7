package management

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestHeavyTemplates: whatever a cluster has in its workloads, no more of it is kept than a large cluster has.
func TestHeavyTemplates(t *testing.T) {
	heavy := `{"metadata":{"continue":"more"},"items":[{"metadata":{"name":"a"},"spec":{"template":{"x":[` +
		strings.Repeat("0,", 100_000) + `0]}}}]}`
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/deployments"):
			asked++
			_, _ = io.WriteString(w, heavy)
		case strings.HasSuffix(r.URL.Path, "/version"):
			_, _ = io.WriteString(w, `{"gitVersion":"v1.36.3"}`)
		default:
			_, _ = io.WriteString(w, `{"items":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	_, _, err := Placement(t.Context(), expect.Got(remote.New(&rest.Config{Host: server.URL}, "--kubeconfig FILE"))(t))
	expect.Says(t, "a heavy cluster", err, "its workloads have more than the 1000000 fields that this program takes")
	expect.Same(t, "pages", heaviest/100_000, asked)
}
