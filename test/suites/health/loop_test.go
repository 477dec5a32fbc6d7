package health

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
)

// The kinds of objects that have a controller here.
const (
	machineKind     = "Machine"
	machineSetKind  = "MachineSet"
	deploymentKind  = "MachineDeployment"
	healthCheckKind = "MachineHealthCheck"
	windowsKind     = "WindowsMachine"
	configKind      = "WindowsBootstrapConfig"
	nodeKind        = "Node"
	clusterKind     = "Cluster"
)

// watchers are the kinds whose controllers look when an object of a kind has changed: what Cluster API's SetupWithManager
// watches, and ours. Cluster API looks at every change here. Our controllers pass over what their predicates pass over: what they
// wrote themselves, and most that Cluster API writes into the status of a Machine.
var watchers = map[string][]string{
	machineKind:     {machineKind, machineSetKind, healthCheckKind, windowsKind, configKind},
	machineSetKind:  {machineSetKind, deploymentKind, machineKind},
	deploymentKind:  {deploymentKind, machineSetKind, machineKind},
	healthCheckKind: {healthCheckKind},
	windowsKind:     {windowsKind, configKind, machineKind},
	configKind:      {configKind, windowsKind, machineKind, clusterKind},
	clusterKind:     {clusterKind},
	nodeKind:        {machineKind, healthCheckKind},
}

// ofMachine are the kinds whose objects have the name of their Machine. Among them, a change wakes those of the same name.
var ofMachine = []string{machineKind, windowsKind, configKind}

// loop calls controllers, one after the other: each looks at an object when a watch would wake it, and when it asked for it.
type loop struct {
	kinds   map[string]*kind
	watch   func(before, now client.Object)
	errors  []error
	looks   int
	woken   chan struct{}
	current *task // nil between two looks

	mu    sync.Mutex
	tasks []*task // in the order in which their objects were made
}

// kind is what a controller looks after.
type kind struct {
	reconcile.Reconciler
	name        string
	atMostEvery time.Duration
	limiter     workqueue.TypedRateLimiter[ctrl.Request]
}

// task is to look at one object.
type task struct {
	*kind
	request ctrl.Request
	looked  time.Time // when it was looked at last
	due     time.Time // when it is looked at again; zero: when a change wakes it
	gone    bool      // the object is; one look follows
}

// at has the object looked at by a time, but not too often.
func (one *task) at(due time.Time) {
	if first := one.looked.Add(one.atMostEvery); due.Before(first) {
		due = first
	}
	if one.due.IsZero() || due.Before(one.due) {
		one.due = due
	}
}

func newLoop() *loop {
	return &loop{kinds: map[string]*kind{}, watch: func(client.Object, client.Object) {}}
}

func (l *loop) add(name string, r reconcile.Reconciler, atMostEvery time.Duration) {
	l.kinds[name] = &kind{
		Reconciler: r, name: name, atMostEvery: atMostEvery,
		limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](50*time.Millisecond, time.Minute),
	}
}

// note takes in a change of an object.
func (l *loop) note(before, now client.Object) {
	l.watch(before, now)
	changed := now
	if now == nil {
		changed = before
	}
	name, key := changed.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(changed)
	l.list(l.kinds[name], key, before == nil, now == nil)
	for _, watcher := range watchers[name] {
		if l.passesOver(watcher, before, now) {
			continue
		}
		if slices.Contains(ofMachine, name) && slices.Contains(ofMachine, watcher) {
			l.wake(watcher, key.Name)
		} else {
			l.wake(watcher, "")
		}
	}
}

// passesOver says whether one of our controllers does not look at a change.
func (l *loop) passesOver(watcher string, before, now client.Object) bool {
	if watcher != windowsKind && watcher != configKind || before == nil || now == nil {
		return false
	}
	if _, is := now.(*clusterv1.Machine); is {
		return !owner.MachineChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now})
	}
	return l.current != nil && l.current.name == watcher && l.current.name == now.GetObjectKind().GroupVersionKind().Kind
}

// list begins or ends the task of an object.
func (l *loop) list(of *kind, key client.ObjectKey, added, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of != nil && added {
		l.tasks = append(l.tasks, &task{kind: of, request: ctrl.Request{NamespacedName: key}})
	}
	for _, one := range l.tasks {
		if gone && one.kind == of && one.request.NamespacedName == key {
			one.gone = true
			one.at(time.Now())
		}
	}
}

// wake has the object of a kind and a name looked at, or all of the kind when the name is empty.
func (l *loop) wake(kind, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.tasks {
		if one.name == kind && (name == "" || one.request.Name == name) {
			one.at(time.Now())
		}
	}
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// rest waits until something was woken, and no longer than until a time.
func (l *loop) rest(until time.Time) {
	select {
	case <-l.woken:
	case <-time.After(time.Until(until)):
	}
}

// pass looks at what is to be looked at now, and says whether there was anything.
func (l *loop) pass(ctx context.Context) bool {
	now := l.begin()
	for _, one := range now {
		l.looks++
		l.current = one
		l.look(ctx, one)
		l.current = nil
	}
	return len(now) > 0
}

// begin takes the tasks that are due.
func (l *loop) begin() (now []*task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.tasks {
		if !one.due.IsZero() && !one.due.After(time.Now()) {
			one.looked, one.due = time.Now(), time.Time{}
			now = append(now, one)
		}
	}
	l.tasks = slices.DeleteFunc(l.tasks, func(one *task) bool { return one.gone && one.due.IsZero() })
	return now
}

func (l *loop) look(ctx context.Context, one *task) {
	result, err := one.Reconcile(ctx, one.request)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.errors = append(l.errors, err)
		one.at(time.Now().Add(one.limiter.When(one.request)))
	case result.RequeueAfter > 0:
		one.limiter.Forget(one.request)
		one.at(time.Now().Add(result.RequeueAfter))
	case result.Requeue: //nolint:staticcheck // because our controllers have the queue back off by it
		one.at(time.Now().Add(one.limiter.When(one.request)))
	default:
		one.limiter.Forget(one.request)
	}
}

// next is when something is due, no later than a time.
func (l *loop) next(until time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.tasks {
		if !one.due.IsZero() && one.due.Before(until) {
			until = one.due
		}
	}
	return until
}

// queue is that of our controller of machines, for those parts of the process that wake it.
type queue struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]
	of   *loop
	kind string
}

// Add has an object looked at.
func (q queue) Add(request ctrl.Request) { q.of.wake(q.kind, request.Name) }

// ShuttingDown is never so.
func (queue) ShuttingDown() bool { return false }

// AddAfter does, too: there are fewer machines here than are woken at once.
func (q queue) AddAfter(request ctrl.Request, _ time.Duration) { q.Add(request) }
