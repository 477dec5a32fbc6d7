package manager

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// TestReadiness: a manager is ready without any cache, as one is that does not lead, and not while the API server holds a list.
func TestReadiness(t *testing.T) {
	var open atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Query()
		switch {
		case asked.Get("sendInitialEvents") != "": // an API server without the gate WatchList
			w.WriteHeader(http.StatusBadRequest)
		case !open.Load() || asked.Get("watch") != "":
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[]}`))
		}
	}))
	t.Cleanup(api.Close)
	scheme := newScheme()
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	all := expect.Got(cache.New(&rest.Config{Host: api.URL}, cache.Options{Scheme: scheme, Mapper: mapper}))(t)
	ready := func() error {
		return filled(all)(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
	}
	if ready() == nil {
		t.Error("it is ready before its caches have started")
	}
	go func() { _ = all.Start(t.Context()) }()
	wait.Eventually(t, "ready without a cache", func(context.Context) error { return ready() })
	expect.Got(all.GetInformer(t.Context(), &corev1.Node{}, cache.BlockUntilSynced(false)))(t)
	if err := ready(); err == nil || !strings.Contains(err.Error(), "has not listed all objects") {
		t.Errorf("while a list is held, it says %v", err)
	}
	open.Store(true)
	api.CloseClientConnections() // the list is tried again
	wait.Eventually(t, "ready with a cache", func(context.Context) error { return ready() })
}

// TestLongestPass: a pass has time for a login, which takes 15 s at most, and for three more calls.
func TestLongestPass(t *testing.T) {
	if slowest := 15*time.Second + 3*session.CallTimeout; longestPass < slowest {
		t.Errorf("a pass may take %s, and its calls may take %s", longestPass, slowest)
	}
}
