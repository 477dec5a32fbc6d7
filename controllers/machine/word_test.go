package machine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// rumour is a cluster whose guests have told this.
type rumour string

// Follow implements guests.Follower.
func (text rumour) Follow(
	ctx context.Context, _ client.ObjectKey, _ string, tell func(watch.EventType, *corev1.ConfigMap),
) error {
	if text != "" {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m.token0"}, Data: map[string]string{guests.Key: string(text)}}
		tell(watch.Added, object)
	}
	<-ctx.Done()
	return nil
}

// TestGuestsWord: a VM whose guest has told anything that we understand runs, and so does one that ran once, whatever Azure says
// of its making. What is no report makes nothing run.
func TestGuestsWord(t *testing.T) {
	had := func(f *facts) { f.windows.Status.Initialization.Provisioned = new(true) }
	const report = `{"version":1,"uid":"u","state":"Running","phase":{"index":1,"of":8,"name":"prepare"}}`
	for name, c := range map[string]struct {
		told   rumour
		facts  func(*facts)
		vm     cloud.State
		object string
		reason string
	}{
		"nothing yet":        {object: "m.token0", reason: infrav1.ProvisioningReason},
		"a report":           {told: report, object: "m.token0"},
		"no report":          {told: "{", object: "m.token0", reason: infrav1.ProvisioningReason},
		"another's object":   {told: report, object: "m.token1", reason: infrav1.ProvisioningReason},
		"no object":          {told: report, reason: infrav1.ProvisioningReason},
		"it ran once":        {object: "m.token0", facts: had},
		"a report, it stops": {told: report, object: "m.token0", vm: cloud.Stopped, reason: infrav1.VMNotRunningReason},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				r := &Reconciler{Ears: &guests.Ears{Clusters: c.told, Heard: make(chan cloud.Key, 1), Now: time.Now}}
				over := make(chan error, 1)
				go func() { over <- r.Ears.Start(ctx) }()
				synctest.Wait()
				var did []string
				f := world(func(f *facts) {
					f.cloud = answers{vm: cloud.VM{State: c.vm}, did: &did}
					f.config = &bootstrapv1.WindowsBootstrapConfig{}
					f.config.Status.GuestReport = c.object
				})
				if c.facts != nil {
					c.facts(f)
				}
				_ = r.provision(ctx, f) // asks, and so begins to listen
				synctest.Wait()
				expect.Same(t, "reason", c.reason, phase.Of(r.provision(ctx, f)).Reason)
				cancel()
				expect.OK(t, <-over)
			})
		})
	}
}
