package machine

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// consoleLate is how long after a failure a cloud shows what was written at the console until then.
const consoleLate = 2 * time.Minute

// quoteConsole makes an event with the last lines of a guest's console, once the guest has failed or been silent for too long.
// The cloud is asked only once: only people read the lines, and a guest that changes its report must not cost calls.
func (r *Reconciler) quoteConsole(ctx context.Context, f *facts) {
	console, ok := f.cloud.(cloud.Console)
	if !ok || !r.consoles.due(f) {
		return
	}
	lines, err := console.LastWords(ctx, r.cloudMachine(f))
	if cloud.IsLater(err) {
		return // nothing was asked; the next look asks
	}
	r.consoles.markRead(f)
	switch {
	case err != nil:
		r.Events.Eventf(f.windows, nil, corev1.EventTypeNormal, infrav1.ConsoleNotReadReason, "Reconcile", "%s",
			cloud.Clean("the console of VM "+f.identity.Name+" was not read: "+err.Error(), maxNote))
	case len(lines) > 0:
		r.Events.Eventf(f.windows, nil, corev1.EventTypeNormal, infrav1.ConsoleReadReason, "Reconcile", "%s",
			cloud.Clean("last lines on the console of VM "+f.identity.Name+": "+strings.Join(lines, "; "), maxNote))
	}
}

// consoles are the machines of this process whose console is to be read, and those whose console was. The status has the failure
// before the console is read, so a manager that starts later does not read it again.
type consoles struct {
	mu    sync.Mutex
	dueAt map[types.UID]time.Time // zero when it was read
}

// failsInVM reports whether a guest has failed, or been silent for too long, so that its console may have the cause.
func failsInVM(f *facts) bool {
	return f.vm != nil && !joined(f) && !deleting(f) && conditions.IsFalse(f.windows, infrav1.BootstrapSucceededCondition)
}

// due reports whether it is time to read the console of a guest that fails.
func (c *consoles) due(f *facts) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	dueAt, ok := c.dueAt[f.windows.UID]
	if !ok {
		if conditions.IsFalse(f.original, infrav1.BootstrapSucceededCondition) {
			return false
		}
		if dueAt = f.now; hasReported(f, plan.StateFailed) { // a silent guest has written what it had to write
			dueAt = dueAt.Add(consoleLate)
		}
		if c.dueAt == nil {
			c.dueAt = map[types.UID]time.Time{}
		}
		c.dueAt[f.windows.UID] = dueAt
	}
	return !dueAt.IsZero() && !f.now.Before(dueAt)
}

func (c *consoles) markRead(f *facts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dueAt[f.windows.UID] = time.Time{}
}

func (c *consoles) forget(f *facts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.dueAt, f.windows.UID)
}
