package security

import (
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// fakeStage is where attacks with the fake cloud play: a namespace, a cloud of its own, a clock that stands still until it is put
// forward, and our controllers.
type fakeStage struct {
	*world.Namespace
	cloud   *fake.World
	clock   *stillClock
	process *world.Process
}

func newFakeStage(t *testing.T) *fakeStage {
	t.Helper()
	s := &fakeStage{
		Namespace: shared.Namespace(t, world.Start{Credentials: map[string][]byte{"clientSecret": []byte("secret")}}),
		cloud:     &fake.World{}, clock: &stillClock{at: time.Now()},
	}
	s.process = s.Run(t, world.Options{Azure: fake.Provider{World: s.cloud}, Now: s.clock.now})
	return s
}

// machine writes a machine for the fake cloud down.
func (s *fakeStage) machine(name string) *world.Machine {
	m := s.NewMachine(name)
	m.Windows.Spec = world.OnFake()
	return m
}

// booting brings a machine to where its VM runs and its guest is silent.
func (s *fakeStage) booting(t *testing.T, name string) (*world.Machine, world.State) {
	t.Helper()
	m := s.machine(name)
	m.Create(t)
	return m, m.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed, world.Tokens(1))
}

// vm changes a VM as its guest does.
func (s *fakeStage) vm(state world.State, change func(*fake.VM)) {
	s.cloud.Update(state.Windows.Status.ComputerName, change)
}

// look has both controllers look at a machine, several times.
func (s *fakeStage) look(t *testing.T, m *world.Machine) {
	t.Helper()
	for range 2 {
		s.process.Reconcile(t, world.Machines, m.Key)
		s.process.Reconcile(t, world.Configs, m.Key)
	}
}

// secret makes a Secret.
func (s *fakeStage) secret(t *testing.T, secret *corev1.Secret) *corev1.Secret {
	t.Helper()
	secret.Namespace = s.Name
	expect.OK(t, s.Client.Create(t.Context(), secret))
	return secret
}

// untouched fails the test if we have adopted or changed a Secret, or if it is gone.
func (s *fakeStage) untouched(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	now := &corev1.Secret{}
	expect.OK(t, s.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), now))
	if now.UID != secret.UID || now.ResourceVersion != secret.ResourceVersion || metav1.GetControllerOf(now) != nil {
		t.Errorf("Secret %s was touched: it is owned by %v", now.Name, now.OwnerReferences)
	}
}

type stillClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *stillClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *stillClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
