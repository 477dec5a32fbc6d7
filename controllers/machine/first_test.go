package machine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// firstAccount is an account that is the same as itself only.
type firstAccount struct {
	cloud.Cloud

	name string
}

// firstStage is a process with one machine that nobody has touched, and with two accounts.
type firstStage struct {
	*phaseStage
	one, other *firstAccount
}

func newFirstStage(t *testing.T, change ...func(*infrav1.WindowsMachine)) *firstStage {
	t.Helper()
	m := stored(func(m *infrav1.WindowsMachine) { m.UID, m.Spec.ProviderID = "uid", "" })
	for _, one := range change {
		if one != nil {
			one(m)
		}
	}
	s := newPhaseStage(t, m)
	return &firstStage{s, &firstAccount{name: "one"}, &firstAccount{name: "other"}}
}

// claim has the process write down who the VM will be; it is the first thing that it writes.
func (s *firstStage) claim(t *testing.T) error {
	t.Helper()
	return s.recordIdentity(t.Context(), s.read(t))
}

// keep has the process put the finalizer there, with an account at hand.
func (s *firstStage) keep(t *testing.T, by cloud.Cloud) error {
	t.Helper()
	f := s.read(t)
	f.cloud = by
	return s.hold(t.Context(), f)
}

// begin has the process write down the identity and put the finalizer there, as in the first look at a machine.
func (s *firstStage) begin(t *testing.T) {
	t.Helper()
	expect.OK(t, s.claim(t))
	expect.OK(t, s.keep(t, s.one))
}

// asked says what an account is told when the process asks it for something.
func (s *firstStage) asked(t *testing.T, by cloud.Cloud) bool {
	t.Helper()
	f := s.read(t)
	f.cloud = by
	return s.cloudMachine(f).Asked == cloud.NeverAsked
}

// edit is what another process, or a person, does to the object.
func (s *firstStage) edit(t *testing.T, change func(*infrav1.WindowsMachine)) {
	t.Helper()
	m := s.read(t).windows
	change(m)
	expect.OK(t, s.Client.Update(t.Context(), m))
}

// restart is another process at the same API server.
func (s *firstStage) restart() { s.firsts = firsts{} }

func withoutFinalizer(m *infrav1.WindowsMachine) {
	controllerutil.RemoveFinalizer(m, infrav1.MachineFinalizer)
}

// TestFirst: that no earlier request for a VM can be under way is known only of a machine that this process found untouched, and
// whose finalizer it put there itself. In each other case an earlier request is assumed.
func TestFirst(t *testing.T) {
	begins := func(t *testing.T, s *firstStage) { s.begin(t) }
	for name, c := range map[string]struct {
		reason string
		object func(*infrav1.WindowsMachine)
		live   func(*testing.T, *firstStage)
		want   bool
	}{
		"untouched": {"nobody was faster", nil, begins, true},
		"untouched, changed by others": {
			"what Cluster API and people write is none of ours", nil, func(t *testing.T, s *firstStage) {
				s.edit(t, func(m *infrav1.WindowsMachine) { m.Annotations = map[string]string{"a": "b"} })
				expect.OK(t, s.claim(t))
				s.edit(t, func(m *infrav1.WindowsMachine) { m.Labels = map[string]string{"a": "b"} })
				expect.OK(t, s.keep(t, s.one))
			}, true,
		},
		"without finalizer": {"nothing is asked for before it is there", nil, func(t *testing.T, s *firstStage) {
			expect.OK(t, s.claim(t))
		}, false},
		"restarted before the finalizer": {"the process before may have put it, and died", nil, func(t *testing.T, s *firstStage) {
			expect.OK(t, s.claim(t))
			s.restart()
			expect.OK(t, s.keep(t, s.one))
		}, false},
		"restarted": {"the process before may have asked", nil, func(t *testing.T, s *firstStage) {
			s.begin(t)
			s.restart()
		}, false},
		"with status": {
			"another process was there",
			func(m *infrav1.WindowsMachine) { m.Status.Phase = infrav1.PhasePending },
			begins, false,
		},
		"with a default in the status": {
			"the API server writes that",
			func(m *infrav1.WindowsMachine) { m.Status.ObservedGeneration = 1 },
			begins, true,
		},
		"with providerID": {
			"a move or a restore brings it",
			func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "test://m-abc" },
			begins, false,
		},
		"with our finalizer": {
			"a restore brings it",
			func(m *infrav1.WindowsMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} },
			begins, false,
		},
		"conflict at the identity": {"another process has written", nil, func(t *testing.T, s *firstStage) {
			f := s.read(t)
			s.edit(t, func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "test://m-abc" })
			expect.Says(t, "identity", s.recordIdentity(t.Context(), f), "modified")
			s.begin(t)
		}, false},
		"conflict with somebody else": {"after the second look it is untouched still", nil, func(t *testing.T, s *firstStage) {
			f := s.read(t)
			s.edit(t, func(m *infrav1.WindowsMachine) { m.Labels = map[string]string{"a": "b"} })
			expect.Says(t, "identity", s.recordIdentity(t.Context(), f), "modified")
			s.begin(t)
		}, true},
		"conflict at the finalizer": {"the other process put it there", nil, func(t *testing.T, s *firstStage) {
			expect.OK(t, s.claim(t))
			f := s.read(t)
			f.cloud = s.one
			s.edit(t, func(m *infrav1.WindowsMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} })
			expect.Says(t, "finalizer", s.hold(t.Context(), f), "modified")
			expect.OK(t, s.keep(t, s.one))
		}, false},
		"finalizer of another process, taken by hand": {
			"that process may have asked meanwhile", nil, func(t *testing.T, s *firstStage) {
				expect.OK(t, s.claim(t))
				s.edit(t, func(m *infrav1.WindowsMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} })
				expect.OK(t, s.keep(t, s.one))
				s.edit(t, withoutFinalizer)
				expect.OK(t, s.keep(t, s.one))
			}, false,
		},
		"lost answer at the identity": {"whose write it was cannot be told", nil, func(t *testing.T, s *firstStage) {
			s.fails["patch WindowsMachine"] = errPhase
			expect.Says(t, "identity", s.claim(t), "timed out")
			delete(s.fails, "patch WindowsMachine")
			s.edit(t, func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "test://m-abc" })
			s.begin(t)
		}, false},
		"finalizer taken by hand": {"nothing held the object meanwhile", nil, func(t *testing.T, s *firstStage) {
			s.begin(t)
			s.edit(t, withoutFinalizer)
			expect.OK(t, s.keep(t, s.one))
		}, false},
		"finalizer taken by hand, another account": {
			"the first one may have asked", nil, func(t *testing.T, s *firstStage) {
				expect.OK(t, s.claim(t))
				expect.OK(t, s.keep(t, s.other))
				s.edit(t, withoutFinalizer)
				expect.OK(t, s.keep(t, s.one))
			}, false,
		},
		"finalizer taken by hand before the restart": {"the process before may have asked", nil, func(t *testing.T, s *firstStage) {
			s.begin(t)
			s.edit(t, withoutFinalizer)
			s.restart()
			expect.OK(t, s.keep(t, s.one))
		}, false},
		"another UID": {"it is another machine", nil, func(t *testing.T, s *firstStage) {
			s.begin(t)
			s.edit(t, func(m *infrav1.WindowsMachine) { m.UID = "another" })
		}, false},
		"another UID before the finalizer": {"it is another machine", nil, func(t *testing.T, s *firstStage) {
			expect.OK(t, s.claim(t))
			s.edit(t, func(m *infrav1.WindowsMachine) { m.UID = "another" })
			expect.OK(t, s.keep(t, s.one))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFirstStage(t, c.object)
			c.live(t, s)
			expect.Same(t, c.reason, c.want, s.asked(t, s.one))
			expect.Same(t, "another account", false, s.asked(t, s.other))
		})
	}
}

// TestFirstAfterStatus: the status may be the first thing that is written, such as the placement.
func TestFirstAfterStatus(t *testing.T) {
	s := newFirstStage(t)
	f := s.read(t)
	f.windows.Status.Phase = infrav1.PhasePending
	expect.OK(t, s.write(t.Context(), f))
	s.begin(t)
	expect.Same(t, "first", true, s.asked(t, s.one))
}

// TestFirstIsForgotten: a machine that is made again under the same name is another one, even one that a test gives the same UID.
func TestFirstIsForgotten(t *testing.T) {
	s := newFirstStage(t)
	s.begin(t)
	again := s.read(t).windows
	s.edit(t, withoutFinalizer)
	expect.OK(t, s.Client.Delete(t.Context(), again))
	_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(again)})
	expect.OK(t, err)
	expect.Same(t, "machines that are remembered", 0, remembered(&s.firsts.machines))
	again.ResourceVersion = ""
	expect.OK(t, s.Client.Create(t.Context(), again))
	expect.Same(t, "first", false, s.asked(t, s.one))
}

// TestUntouched has each thing that a controller of ours writes.
func TestUntouched(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*infrav1.WindowsMachine)
		want   bool
	}{
		"nothing":           {func(*infrav1.WindowsMachine) {}, true},
		"default":           {func(m *infrav1.WindowsMachine) { m.Status.ObservedGeneration = 1 }, true},
		"owner":             {func(m *infrav1.WindowsMachine) { m.OwnerReferences = []metav1.OwnerReference{{UID: "x"}} }, true},
		"another finalizer": {func(m *infrav1.WindowsMachine) { m.Finalizers = []string{"a/b"} }, true},
		"finalizer":         {func(m *infrav1.WindowsMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} }, false},
		"identity":          {func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "a" }, false},
		"computer name":     {func(m *infrav1.WindowsMachine) { m.Status.ComputerName = "a" }, false},
		"placement":         {func(m *infrav1.WindowsMachine) { m.Status.Azure = &infrav1.AzurePlacement{} }, false},
		"addresses": {
			func(m *infrav1.WindowsMachine) { m.Status.Addresses = []clusterv1.MachineAddress{{}} }, false,
		},
		"condition": {func(m *infrav1.WindowsMachine) { m.Status.Conditions = []metav1.Condition{{}} }, false},
	} {
		m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{UID: types.UID("uid")}}
		c.change(m)
		before, s := m.DeepCopy(), &firsts{}
		s.wrote(m)
		_, noted := s.machines.Load(client.ObjectKeyFromObject(m))
		expect.Same(t, name, c.want, noted)
		expect.Same(t, name+": the object stays", before, m)
	}
}
