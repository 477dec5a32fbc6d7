// Package controllers tests both controllers together, against a real API server, Cluster API's own core manager and a cloud
// that is simulated.
package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

var shared *world.World

func TestMain(m *testing.M) { world.Main(m, &shared, 8) }

// password is what the fake cloud wants.
var password = map[string][]byte{"clientSecret": []byte("secret")}

// stage is what a test plays on: a namespace, a cloud of its own, a clock and, once started, our controllers.
type stage struct {
	*world.Namespace
	cloud   *fake.World
	clock   *clock
	process *world.Process
}

func newStage(t *testing.T, s world.Start) *stage {
	t.Helper()
	return &stage{Namespace: shared.Namespace(t, s), cloud: &fake.World{}, clock: &clock{}}
}

// ready is a stage with everything there, for a test that runs beside others.
func ready(t *testing.T) *stage {
	t.Helper()
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	s.start(t)
	return s
}

func (s *stage) options() world.Options {
	return world.Options{Azure: fake.Provider{World: s.cloud}, TokenTTL: tokenTTL, Now: s.clock.now}
}

const tokenTTL = 30 * time.Minute

func (s *stage) start(t *testing.T) {
	t.Helper()
	s.process = s.Run(t, s.options())
}

// machine writes a machine for the fake cloud down.
func (s *stage) machine(name string) *world.Machine {
	m := s.NewMachine(name)
	m.Windows.Spec = world.OnFake()
	return m
}

// booting brings a machine to where its VM runs and its guest is silent.
func (s *stage) booting(t *testing.T) (*world.Machine, world.State) {
	t.Helper()
	m := s.machine("m")
	m.Create(t)
	return m, m.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed)
}

// running brings a machine to where all is done.
func (s *stage) running(t *testing.T) (*world.Machine, world.State) {
	t.Helper()
	m, booting := s.booting(t)
	s.tell(booting, succeeded)
	m.Await(t, "report", world.Windows("BootstrapSucceeded Unknown WaitingForNode"))
	m.Join(t)
	return m, m.Await(t, "node", world.Windows("BootstrapSucceeded True Joined"), world.Tokens(0), released)
}

// released waits until the config holds nothing any more.
func released(s world.State) string {
	if s.Config == nil || len(s.Config.Finalizers) > 0 {
		return "the config is not released"
	}
	return ""
}

// drop removes the machine's VM from outside. It waits until our controllers know that there was one: before that, a machine that
// has no VM is a new one.
func (s *stage) drop(t *testing.T, m *world.Machine) {
	t.Helper()
	name := m.Load(t).Windows.Status.ComputerName
	wait.Eventually(t, "the controllers to know of the VM", func(ctx context.Context) error {
		var cached infrav1.WindowsMachine
		err := s.process.Caches[world.Machines].Get(ctx, m.Key, &cached)
		if err == nil && !ptr.Deref(cached.Status.Initialization.Provisioned, false) {
			err = errors.New("the machine is not provisioned")
		}
		return err
	})
	s.cloud.Drop(name)
}

// tell is the guest's report.
func (s *stage) tell(state world.State, report string) {
	s.cloud.Update(state.Windows.Status.ComputerName, func(vm *fake.VM) { vm.Report = report })
}

const succeeded = `{"version":1,"state":"Succeeded","phase":{"index":5,"of":5,"name":"join"},"facts":{"os":"20348.2700"}}`

// look has both controllers look at the machine again, several times.
func (s *stage) look(t *testing.T, m *world.Machine) {
	t.Helper()
	for range 3 {
		s.process.Reconcile(t, world.Machines, m.Key)
		s.process.Reconcile(t, world.Configs, m.Key)
	}
}

// vms checks which VMs there are.
func (s *stage) vms(t *testing.T, want ...string) {
	t.Helper()
	if have := s.cloud.Names(); !slices.Equal(have, want) {
		t.Errorf("the cloud has VMs %q and not %q", have, want)
	}
}

// count counts effects by the beginning of their name, over processes.
func count(name string, processes ...*world.Process) int {
	n := 0
	for _, p := range processes {
		for _, effect := range p.Gate.Effects() {
			if strings.HasPrefix(effect, name) {
				n++
			}
		}
	}
	return n
}

// clock runs as the real one does. It can be put forward, and held.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
	held  time.Time // what it shows while it is held
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.show()
}

func (c *clock) show() time.Time {
	if !c.held.IsZero() {
		return c.held
	}
	return time.Now().Add(c.ahead)
}

func (c *clock) set(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = time.Until(to)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// hold stops the clock, or lets it run on from what it shows.
func (c *clock) hold(still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case still && c.held.IsZero():
		c.held = c.show()
	case !still && !c.held.IsZero():
		c.ahead, c.held = time.Until(c.held), time.Time{}
	}
}
