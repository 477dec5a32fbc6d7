package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// held waits until a Secret has our finalizer, or has it no more, and reads it.
func (s *stage) held(t *testing.T, secret *corev1.Secret, want bool) {
	t.Helper()
	wait.Eventually(t, "our finalizer on the Secret, or its end", func(ctx context.Context) error {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		if err == nil && slices.Contains(secret.Finalizers, infrav1.CredentialsFinalizer) != want {
			err = errors.New("it is the other way round")
		}
		return err
	})
}

func (s *stage) credentials() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: world.Credentials}}
}

// beingDeleted is the Secret that has been deleted, and that a machine needs.
func (s *stage) beingDeleted(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := s.credentials()
	s.held(t, secret, true)
	expect.OK(t, s.Client.Delete(t.Context(), secret))
	wait.Eventually(t, "the event", s.event("CredentialsBeingDeleted",
		"Secret cloud is being deleted; it stays until the VMs that cannot be removed without it are gone (machines: 1)"))
	return secret
}

// TestCredentialsAreHeld deletes the Secret before the machine, as the deletion of a namespace may. It stays until the VM is
// gone, and no VM is made with it any more.
func TestCredentialsAreHeld(t *testing.T) {
	s := ready(t)
	m, _ := s.booting(t)
	secret := s.beingDeleted(t)
	late := s.machine("late")
	late.Create(t)
	late.Await(t, "refusal", world.Windows("Ready False CredentialsBeingDeleted"),
		message(infrav1.ReadyCondition, "no new VM is made"))
	s.look(t, m)
	m.Await(t, "a VM that runs all the same", world.Windows("Ready True Running"),
		world.Windows("CloudReachable True CredentialsBeingDeleted"))
	m.End(t)
	s.vms(t)
	wait.Eventually(t, "the end of the Secret", func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
			return errors.Join(err, errors.New("the Secret is still there"))
		}
		return nil
	})
	late.Await(t, "notice", world.Windows("Ready False CredentialsMissing"))
	s.SetCredentials(t, password)
	late.Await(t, "life after it came back", world.Windows("Ready True Running"))
	s.held(t, s.credentials(), true)
	late.End(t)
	s.held(t, s.credentials(), false)
}

// TestCredentialsAreReplaced deletes the Secret of a machine that runs, as the vSphere provider does with that of a Cluster which
// names it. The machine's condition has what to do: with another Secret the machine lives on, the first one goes, and can be made
// again.
func TestCredentialsAreReplaced(t *testing.T) {
	s := ready(t)
	m, _ := s.running(t)
	secret := s.beingDeleted(t)
	m.Await(t, "what to do", world.Windows("Ready True Running"), world.Windows("CloudReachable True CredentialsBeingDeleted"),
		message(infrav1.CloudReachableCondition, "make a Secret of another name with the same data, and set identityRef"))
	other := s.credentials()
	other.Name, other.Data = "other", password
	expect.OK(t, s.Client.Create(t.Context(), other))
	object := &infrav1.WindowsMachine{}
	expect.OK(t, s.Client.Get(t.Context(), m.Key, object))
	world.Change(t, s.Client, object, func(o *infrav1.WindowsMachine) { o.Spec.IdentityRef.Name = other.Name })
	m.Await(t, "the end of the notice", world.Windows("Ready True Running"), world.Windows("CloudReachable True CloudReachable"))
	wait.Eventually(t, "the end of the first Secret", func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
			return errors.Join(err, errors.New("the Secret is still there"))
		}
		return nil
	})
	s.SetCredentials(t, password)
	m.End(t)
	s.vms(t)
}

// TestCredentialsGoFirst kills the process when the Secret of the last machine is gone, and the machine is not: the next one has
// no credentials to ask the cloud with.
func TestCredentialsGoFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	options := s.options()
	options.Gate = &world.Gate{Plan: world.Plan{Effect: "management PATCH secrets finalizers #2", After: true}}
	s.process = s.Run(t, options)
	m, _ := s.booting(t)
	s.beingDeleted(t)
	m.Delete(t)
	wait.Until(t, "the end of the process", func() (any, bool) { return options.Gate.Hit(), options.Gate.Hit() })
	s.start(t)
	m.Await(t, "end", world.Gone)
	s.vms(t)
}

// tearOut removes a Secret although machines need it, as a user can who removes finalizers.
func (s *stage) tearOut(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	s.held(t, secret, true)
	expect.OK(t, s.Client.Delete(t.Context(), secret))
	world.Change(t, s.Client, secret, func(o *corev1.Secret) { o.Finalizers = nil })
}

// event waits for an event with a reason and a note.
func (s *stage) event(reason, note string) func(context.Context) error {
	return func(ctx context.Context) error {
		var told eventsv1.EventList
		if err := s.Client.List(ctx, &told, client.InNamespace(s.Name)); err != nil {
			return err
		}
		for _, e := range told.Items {
			if e.Reason == reason && e.Note == note && e.Regarding.Kind == "WindowsMachine" {
				return nil
			}
		}
		return errors.New("there is no such event")
	}
}

// TestCredentialsChange tells all machines of a Secret that it has changed or is gone, those that run too, and without a look at
// any of them.
func TestCredentialsChange(t *testing.T) {
	s := ready(t)
	running, _ := s.running(t)
	other := s.machine("other")
	other.Create(t)
	other.Await(t, "running VM", world.Windows("Ready True Running"))
	for _, step := range []struct {
		reason string
		change func()
	}{
		{"False CredentialsRejected", func() { s.SetCredentials(t, map[string][]byte{"clientSecret": []byte("wrong")}) }},
		{"True CloudReachable", func() { s.SetCredentials(t, password) }},
		{"False CredentialsMissing", func() {
			s.tearOut(t, s.credentials())
		}},
		{"True CloudReachable", func() { s.SetCredentials(t, password) }},
	} {
		step.change()
		for _, m := range []*world.Machine{running, other} {
			m.Await(t, "notice", world.Windows("CloudReachable "+step.reason), world.Windows("Ready True Running"))
		}
	}
}

// TestCredentialsAreNotRead looks at machines again and again: no Secret is read because of that.
func TestCredentialsAreNotRead(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	options := s.options()
	options.ReadSecrets = time.Hour
	s.process = s.Run(t, options)
	m, _ := s.running(t)
	s.held(t, s.credentials(), true)
	before := maps.Clone(s.process.Gate.Reads())
	for range 10 {
		s.process.Reconcile(t, world.Machines, m.Key)
	}
	const secrets = "management GET secrets"
	expect.Same(t, "reads of Secrets for ten looks", before[secrets], s.process.Gate.Reads()[secrets])
	m.Delete(t)
	m.Await(t, "end", world.Gone)
}

// TestAccountIsNamed: who has many Secrets sees which one is meant.
func TestAccountIsNamed(t *testing.T) {
	t.Parallel()
	wrong := map[string][]byte{"clientSecret": []byte("x"), "server": []byte("vcenter1.example.com")}
	s := newStage(t, world.Start{Credentials: wrong})
	s.start(t)
	m := s.machine("m")
	m.Create(t)
	m.Await(t, "refusal", world.Windows("Ready False CredentialsRejected"),
		message(infrav1.ReadyCondition, "Secret cloud (vcenter1.example.com): the password is wrong"))
	s.SetCredentials(t, map[string][]byte{"clientSecret": []byte("x"), "server": []byte("admin:pass@vcenter1.example.com")})
	m.Await(t, "refusal", message(infrav1.ReadyCondition, "Secret cloud: the password is wrong"))
}
