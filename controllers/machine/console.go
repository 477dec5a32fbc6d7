package machine

import (
	"context"
	"errors"
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

// quoteConsole tells what a guest wrote to its console, once it has failed or been silent for too long. Its cloud is asked then,
// and not again: only people read it, and a guest that changes its mind must not cost calls.
func (r *Reconciler) quoteConsole(ctx context.Context, f *facts) {
	console, ok := f.cloud.(cloud.Console)
	if !ok || !r.consoles.due(f) {
		return
	}
	lines, err := console.LastWords(ctx, r.cloudMachine(f))
	if wait, ok := errors.AsType[*cloud.Error](err); ok && wait.Kind == cloud.Later {
		return // nothing was asked; the next look asks
	}
	r.consoles.done(f)
	switch {
	case err != nil:
		r.Events.Eventf(f.windows, nil, corev1.EventTypeNormal, infrav1.ConsoleNotReadReason, "Reconcile", "%s",
			cloud.Clean("the console of VM "+f.identity.Name+" was not read: "+err.Error(), maxNote))
	case len(lines) > 0:
		r.Events.Eventf(f.windows, nil, corev1.EventTypeNormal, infrav1.ConsoleReadReason, "Reconcile", "%s",
			cloud.Clean("last words at the console of VM "+f.identity.Name+": "+strings.Join(lines, "; "), maxNote))
	}
}

// consoles are the machines of this process whose console is to be read, and those whose console was. The status tells that a
// guest has failed before its console is read, so a manager that starts later does not read it again.
type consoles struct {
	mu sync.Mutex
	at map[types.UID]time.Time // zero when it was read
}

// due says whether it is time to read a console.
func (c *consoles) due(f *facts) bool {
	const bootstrap = infrav1.BootstrapSucceededCondition
	if f.vm == nil || joined(f) || deleting(f) || !conditions.IsFalse(f.windows, bootstrap) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.at[f.windows.UID]
	if !known {
		if conditions.IsFalse(f.before, bootstrap) {
			return false
		}
		if at = f.now; said(f, plan.StateFailed) { // a silent guest has written what it had to write
			at = at.Add(consoleLate)
		}
		if c.at == nil {
			c.at = map[types.UID]time.Time{}
		}
		c.at[f.windows.UID] = at
	}
	return !at.IsZero() && !f.now.Before(at)
}

func (c *consoles) done(f *facts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[f.windows.UID] = time.Time{}
}

func (c *consoles) forget(f *facts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.at, f.windows.UID)
}
