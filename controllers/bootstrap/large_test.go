package bootstrap

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/large"
)

// TestLargeObjects: whatever of a machine's objects is too large is named, and no user data is made. A pause and a deletion go
// on, and read the API server for that.
func TestLargeObjects(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*room)
		named  string
	}{
		"the config":         {func(r *room) { large.Grow(r.config) }, "WindowsBootstrapConfig m is larger than the 128 KiB"},
		"the Machine":        {func(r *room) { large.Grow(r.machine) }, "Machine m is larger"},
		"the Cluster":        {func(r *room) { large.Grow(r.cluster) }, "Cluster prod is larger"},
		"the WindowsMachine": {func(r *room) { large.Grow(r.windows) }, "WindowsMachine m is larger"},
	} {
		for life, live := range map[string]func(*room){
			"works":  func(*room) {},
			"paused": func(r *room) { r.cluster.Spec.Paused = new(true) },
			"deleted": func(r *room) {
				r.config.DeletionTimestamp = new(metav1.NewTime(roomStart))
				r.config.Finalizers = []string{bootstrapv1.ConfigFinalizer}
			},
		} {
			r := newRoom(t, c.change, live)
			r.Client = caches.Patches{Client: large.Cached{Client: r.management}}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: roomKey})
			expect.OK(t, err)
			got := &bootstrapv1.WindowsBootstrapConfig{}
			err = r.management.Get(t.Context(), roomKey, got)
			stalled, paused := conditions.Get(got, bootstrapv1.StalledCondition), conditions.IsTrue(got, clusterv1.PausedCondition)
			switch what := name + " " + life; life {
			case "works":
				if stalled == nil || stalled.Reason != bootstrapv1.ObjectTooLargeReason || !strings.HasPrefix(stalled.Message, c.named) {
					t.Errorf("%s: stalled %+v", what, stalled)
				}
			case "paused":
				if !paused || stalled != nil {
					t.Errorf("%s: the conditions are %+v", what, got.Status.Conditions)
				}
			default:
				if client.IgnoreNotFound(err) != nil || err == nil {
					t.Errorf("%s: %v, %v", what, err, got.Finalizers)
				}
			}
		}
	}
}
