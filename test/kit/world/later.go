package world

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// Later lets the time pass that an object waits for: the look comes now that its controller asked for. It fails the test if the
// controller asked for none, because then nothing ends the wait but a watch.
func (p *Process) Later(t *testing.T, controller string, key client.ObjectKey) {
	t.Helper()
	request := ctrl.Request{NamespacedName: key}
	ctx, cancel := wait.Within(t.Context(), soon)
	defer cancel()
	err := wait.Poll(ctx, func(context.Context) error {
		if due, last := p.queues[controller].next(request); due.IsZero() {
			return fmt.Errorf("%s is not looked at again by itself: its last look %s", key, last)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", controller, err)
	}
	p.Reconcile(t, controller, key)
}

// soon is how long we wait for a controller that is about to look, on a busy machine.
const soon = 20 * time.Second

// complaints are the looks after which nothing would look again.
func (p *Process) complaints() error {
	var all []error
	for name, q := range p.queues {
		for _, text := range q.complained() {
			all = append(all, fmt.Errorf("%s: %s", name, text))
		}
	}
	return errors.Join(all...)
}

// attended fails the test if a controller does not look again, by itself, at what it does not watch: a guest that has not joined,
// and a token that expires. What is under way gets the time to end.
func (m *Machine) attended(t *testing.T, s State) {
	t.Helper()
	ctx, cancel := wait.Within(t.Context(), soon)
	defer cancel()
	err := wait.Poll(ctx, func(ctx context.Context) error {
		err := m.namespace.attends(s)
		if err == nil {
			return nil
		}
		var failed error
		s, failed = m.load(ctx, m.namespace.Client)
		return errors.Join(err, failed)
	})
	if err != nil {
		t.Errorf("machine %s is left alone: %v\n%s", m.Key, err, s)
	}
}

func (n *Namespace) attends(s State) error {
	var all []error
	for _, p := range n.running() {
		if boots(s) && p.wentThrough(Machines, s.Windows) { // else the look says what wakes the machine
			all = append(all, p.looksAgain(Machines, s.Windows, "its guest has not joined"))
		}
		if hasToken(s) {
			all = append(all, p.looksAgain(Configs, s.Config, "its token expires"))
		}
	}
	return errors.Join(all...)
}

func (p *Process) wentThrough(controller string, o client.Object) bool {
	_, last := p.queues[controller].next(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	return last.reason == ""
}

func (p *Process) looksAgain(controller string, o client.Object, why string) error {
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)}
	if made, _ := p.queues[controller].looks(request); made == 0 {
		return nil // it is another manager's, or this one has only begun
	}
	if due, last := p.queues[controller].next(request); due.IsZero() {
		return fmt.Errorf("%s does not look at %s again by itself, but %s; its last look %s", controller, request, why, last)
	}
	return nil
}

// boots says that the VM of a machine runs and its Node has not joined.
func boots(s State) bool {
	return s.Core != nil && s.Windows != nil && s.Core.DeletionTimestamp.IsZero() && s.Windows.DeletionTimestamp.IsZero() &&
		!s.Core.Status.NodeRef.IsDefined() && !conditions.IsTrue(s.Windows, clusterv1.PausedCondition) &&
		ConditionOf(s.Windows, infrav1.ReadyCondition) == "Ready True Running"
}

// hasToken says that a token must be kept alive.
func hasToken(s State) bool {
	return s.Core != nil && s.Config != nil && s.Core.DeletionTimestamp.IsZero() && s.Config.DeletionTimestamp.IsZero() &&
		!s.Core.Status.NodeRef.IsDefined() && !conditions.IsTrue(s.Config, clusterv1.PausedCondition) &&
		controllerutil.ContainsFinalizer(s.Config, bootstrapv1.ConfigFinalizer) &&
		(s.Windows == nil || !conditions.IsTrue(s.Windows, infrav1.StalledCondition))
}
