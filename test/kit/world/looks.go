package world

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// Here the world holds what a look promised against what really comes: an object that waits is looked at again because its
// controller asked the queue for it, or because the controller watches what the object waits for. A look that promised
// neither fails the test that it happened in, even if the test forces another look afterwards.

// ending is how a look ended, by the controller's own word.
type ending struct {
	reason  string
	wakes   phase.Source
	after   time.Duration
	backOff bool
}

// String shows it to people.
func (e ending) String() string {
	if e.reason == "" {
		return "went through"
	}
	return fmt.Sprintf("stopped with %s (wakes %q, after %s, back off %t)", e.reason, e.wakes, e.after, e.backOff)
}

// complaint says why nothing would end the wait; empty if something does. Asked says that the controller asked the queue for
// another look, and watched that it watches what the wait names.
func (e ending) complaint(asked bool, watched func(phase.Source) bool) string {
	switch {
	case e.reason == "":
		return "" // attended has the rest
	case (e.after > 0 || e.backOff) && !asked:
		return "it asked for no other look"
	case e.after > 0 || e.backOff:
		return ""
	case e.wakes == "":
		return "it neither names what wakes it nor looks again"
	case !watched(e.wakes):
		return "its controller does not watch what the wait names"
	}
	return ""
}

// ear hears how looks end, from the controllers' log.
type ear struct {
	logr.LogSink
	hear func(ending)
}

// Enabled implements logr.LogSink: the line is said at a level that nobody may log.
func (e ear) Enabled(int) bool { return true }

// Info implements logr.LogSink.
func (e ear) Info(level int, line string, values ...any) {
	if line == phase.Stopped {
		e.hear(endingOf(values))
	}
	if e.LogSink.Enabled(level) {
		e.LogSink.Info(level, line, values...)
	}
}

func endingOf(values []any) (e ending) {
	for i := 0; i+1 < len(values); i += 2 {
		switch value := values[i+1].(type) {
		case string:
			e.reason = value
		case phase.Source:
			e.wakes = value
		case time.Duration:
			e.after = value
		case bool:
			e.backOff = value
		}
	}
	return e
}

// WithValues implements logr.LogSink.
func (e ear) WithValues(values ...any) logr.LogSink {
	return ear{e.LogSink.WithValues(values...), e.hear}
}

// WithName implements logr.LogSink.
func (e ear) WithName(name string) logr.LogSink { return ear{e.LogSink.WithName(name), e.hear} }

// logged gives each look a logger that hears how it ends.
func (p *Process) logged(controller string) func(*ctrl.Request) logr.Logger {
	log := p.logs.Logger().WithValues("controller", controller)
	return func(request *ctrl.Request) logr.Logger {
		if request == nil {
			return log
		}
		hear := func(e ending) { p.queues[controller].end(*request, e) }
		return logr.New(ear{log.WithValues("object", request.String()).GetSink(), hear})
	}
}

// watching is a manager that notes which kinds its controllers watch.
type watching struct {
	ctrl.Manager
	kinds *kinds
}

// GetCache implements ctrl.Manager.
func (w watching) GetCache() cache.Cache { return noting{w.Manager.GetCache(), w.kinds, w.GetScheme()} }

// noting is a cache that notes who watches it. What clients read of it does not pass here.
type noting struct {
	cache.Cache
	kinds  *kinds
	scheme *runtime.Scheme
}

// GetInformer implements cache.Cache.
func (n noting) GetInformer(ctx context.Context, o client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if gvk, err := apiutil.GVKForObject(o, n.scheme); err == nil {
		n.kinds.note(gvk.Kind)
	}
	//nolint:wrapcheck // because the controller is to see the cache's own error
	return n.Cache.GetInformer(ctx, o, options...)
}

// kinds are those that the controllers of a manager watch.
type kinds struct {
	mu  sync.Mutex
	all map[string]bool
}

func (k *kinds) note(kind string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[string]bool{}
	}
	k.all[kind] = true
}

// has says whether a controller is woken by a source. What does not come from the API server comes through channels, which only
// the controller of machines has.
func (k *kinds) has(controller string, source phase.Source) bool {
	kind := string(source)
	switch source {
	case phase.Self:
		kind = ownKinds[controller]
	case phase.Credentials, phase.VM:
		return controller == Machines
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[kind]
}

var ownKinds = map[string]string{Machines: "WindowsMachine", Configs: "WindowsBootstrapConfig"}
