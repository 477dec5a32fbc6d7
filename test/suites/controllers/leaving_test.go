package controllers

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// hook is another controller's, which has work to do before a Machine's infrastructure is deleted.
const hook = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/test"

// leave deletes the Machine, which its hook keeps until stay is over.
func (s *stage) leave(t *testing.T, m *world.Machine) (stay func()) {
	t.Helper()
	m.Delete(t)
	m.Await(t, "hook", func(s world.State) string {
		if c := conditions.Get(s.Core, clusterv1.MachineDeletingCondition); c == nil ||
			c.Reason != clusterv1.MachineDeletingWaitingForPreTerminateHookReason {
			return "Cluster API does not wait for the hook"
		}
		return ""
	})
	return func() {
		t.Helper()
		world.Change(t, s.Client, m.Load(t).Core, func(c *clusterv1.Machine) { c.Annotations = nil })
		m.Await(t, "end", world.Gone)
		s.vms(t)
	}
}

func (s *stage) hooked(m *world.Machine) *world.Machine {
	m.Core.Annotations = map[string]string{hook: ""}
	return m
}

// TestLeavingBeforeLinux: a Machine that is deleted gets no VM, also when all that it waited for comes while a hook keeps it.
func TestLeavingBeforeLinux(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password, NotInitialized: true})
	s.start(t)
	m := s.hooked(s.withOwnData(t))
	m.CreateWithoutConfig(t)
	m.Await(t, "Linux", world.Windows("Ready False WaitingForControlPlane"))
	end := s.leave(t, m)
	s.Initialize(t)
	have := m.Await(t, "the end", world.Windows("Ready False Deleting"), world.Windows("Stalled False NotStalled"))
	if have.Windows.Status.Phase != infrav1.PhaseDeleting || len(have.Windows.Finalizers) > 0 {
		t.Errorf("phase %s, finalizers %q", have.Windows.Status.Phase, have.Windows.Finalizers)
	}
	s.process.Reconcile(t, world.Machines, m.Key)
	if calls := s.cloud.Calls(); len(calls) > 0 {
		t.Errorf("the cloud was asked for a machine that goes: %v", calls)
	}
	end()
}

const laterImage = fake.Image + "-later"

// TestLeavingInVain: a machine that may have its VM, and has none, gets none either.
func TestLeavingInVain(t *testing.T) {
	s := ready(t)
	m := s.hooked(s.machine("m"))
	m.Windows.Spec.Azure.Image.ID = laterImage
	m.Create(t)
	m.Await(t, "image", world.Windows("Ready False TemplateNotFound"))
	end := s.leave(t, m)
	s.cloud.Image = laterImage
	m.Await(t, "the end", world.Windows("Ready False Deleting"), world.Windows("Stalled False NotStalled"))
	if calls := s.cloud.Calls(); calls["create"] > 0 {
		t.Errorf("a VM was made for a machine that goes: %v", calls)
	}
	end()
}

// TestLeavingMeanwhile: a VM that was being made is told of, until it is removed.
func TestLeavingMeanwhile(t *testing.T) {
	s := ready(t)
	made := s.cloud.Hold(fake.Create)
	m := s.hooked(s.machine("m"))
	m.Create(t)
	m.Await(t, "VM", world.Windows("Ready False Provisioning"))
	end := s.leave(t, m)
	s.process.Reconcile(t, world.Machines, m.Key)
	m.Await(t, "VM", world.Windows("Ready False Provisioning"))
	made()
	m.Await(t, "VM", world.Windows("Ready True Running"))
	end()
}

// TestEmptyData has a bootstrap Secret of the user's own without what it is there for.
func TestEmptyData(t *testing.T) {
	s := ready(t)
	m := s.withOwnData(t)
	own := &corev1.Secret{}
	expect.OK(t, s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Name, Name: *m.Core.Spec.Bootstrap.DataSecretName}, own))
	world.Change(t, s.Client, own, func(o *corev1.Secret) { o.Data = nil })
	m.CreateWithoutConfig(t)
	m.Await(t, "data", world.Windows("Ready False WaitingForBootstrapData"), func(s world.State) string {
		if text := conditions.GetMessage(s.Windows, infrav1.ReadyCondition); !strings.Contains(text,
			`Secret own-data has no bootstrap data under the key "value"`) {
			return "the message is " + text
		}
		return ""
	})
	if calls := s.cloud.Calls(); calls["create"] > 0 {
		t.Errorf("a VM was asked for without data: %v", calls)
	}
	world.Change(t, s.Client, own, func(o *corev1.Secret) { o.Data = map[string][]byte{"value": []byte("x")} })
	s.process.Later(t, world.Machines, m.Key)
	m.Await(t, "life after it was mended", world.Windows("Ready True Running"))
	m.End(t)
}

// TestWithoutOwner has objects that nobody owns: people are told, once Cluster API has had its time.
func TestWithoutOwner(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	expect.OK(t, s.Client.Create(t.Context(), m.Config))
	expect.OK(t, s.Client.Create(t.Context(), m.Windows))
	m.Await(t, "notice", world.Windows("Ready False WaitingForOwner"), world.Config("Ready Unknown WaitingForOwner"))
	if effects := s.process.Gate.Effects(); len(effects) != 2 {
		t.Errorf("it was told by %q", effects)
	}
}
