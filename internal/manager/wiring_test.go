package manager

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
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

// TestConflicts has a controller meet 20 conflicts in a row, then none, then one: the first pause is short, each of the others is
// twice as long up to a minute, and none of it is an error of the log.
func TestConflicts(t *testing.T) {
	const inARow = 20
	synctest.Test(t, func(t *testing.T) {
		var log lines
		var looks []time.Time
		options := controllerOptions(1)
		options.Logger = log.logger()
		options.Reconciler = reconcile.Func(func(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
			looks = append(looks, time.Now())
			if len(looks) == inARow+1 {
				return phase.Result(ctx, phase.Poll("R", "m"))
			}
			return phase.Result(ctx, apierrors.NewConflict(schema.GroupResource{}, r.Name, context.Canceled))
		})
		c := expect.Got(controller.NewUnmanaged("conflicts", options))(t)
		first := make(chan event.GenericEvent, 1)
		first <- event.GenericEvent{Object: &corev1.Node{}}
		expect.OK(t, c.Watch(source.Channel(first, &handler.EnqueueRequestForObject{})))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = c.Start(ctx) }()
		<-time.After(time.Hour)
		cancel()
		synctest.Wait()
		want := 50 * time.Millisecond
		for i := range inARow {
			expect.Same(t, fmt.Sprintf("pause %d", i), want, looks[i+1].Sub(looks[i]))
			want = min(2*want, time.Minute)
		}
		expect.Same(t, "pause after another end", 5*time.Second, looks[inARow+1].Sub(looks[inARow]))
		expect.Same(t, "pause after a conflict", 50*time.Millisecond, looks[inARow+2].Sub(looks[inARow+1]))
		expect.Same(t, "errors of the log", 0, strings.Count(strings.Join(log.logged(), ""), "error"))
	})
}
