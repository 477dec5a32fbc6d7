package machine

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// victim is a machine whose identity follows from its name and UID, in the namespace of another team. Its status has no proof
// yet.
func victim() *infrav1.WindowsMachine {
	m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "theirs", UID: "uid-theirs"}}
	m.Spec.Azure = &infrav1.AzureVM{Image: infrav1.AzureImage{ID: fake.Image}}
	identity, _ := fake.Provider{}.Identify(m)
	m.Spec.ProviderID = identity.ProviderID
	return m
}

// asCopy has the stage's machine written by a user with the identity of the victim, and kept by our finalizer.
func asCopy(m *infrav1.WindowsMachine, machine *clusterv1.Machine, _ *clusterv1.Cluster) {
	m.Spec.ProviderID, machine.Spec.ProviderID = victim().Spec.ProviderID, victim().Spec.ProviderID
	m.Finalizers = []string{infrav1.MachineFinalizer}
}

// hasProof sets what the status has of a machine's VM.
func hasProof(m *infrav1.WindowsMachine) {
	m.Status.Azure = &infrav1.AzurePlacement{AzureRecord: infrav1.AzureRecord{Server: "first", VMID: "vm-1"}}
}

// TestCopiedIdentity: of several machines with one identity, it is that of the one whose name and UID it follows from, or else of
// the only one whose status has a proof. The others meet no cloud, and go without a call if they cannot have a VM.
func TestCopiedIdentity(t *testing.T) {
	moved := func(m *infrav1.WindowsMachine) { m.UID = "another" }
	for name, c := range map[string]struct {
		reason string
		own    []func(*infrav1.WindowsMachine) // of the machine that is looked at
		others []*infrav1.WindowsMachine
		right  bool
		goes   bool // when it is deleted
	}{
		"alone": {reason: "a move gives an object another UID", right: true},
		"another's": {
			reason: "the other's follows from its name and UID", others: []*infrav1.WindowsMachine{victim()}, goes: true,
		},
		"another's, with a proof copied by a restore": {
			reason: "a name and UID count more", own: []func(*infrav1.WindowsMachine){hasProof},
			others: []*infrav1.WindowsMachine{victim()},
		},
		"another's, which may have asked": {
			reason: "it may have a VM", others: []*infrav1.WindowsMachine{victim()},
			own: []func(*infrav1.WindowsMachine){func(m *infrav1.WindowsMachine) {
				m.Annotations = map[string]string{infrav1.ServerAnnotation: "first"}
			}},
		},
		"both moved, this one is proved": {
			reason: "the status is the controllers'", own: []func(*infrav1.WindowsMachine){hasProof},
			others: []*infrav1.WindowsMachine{changed(victim(), moved)}, right: true,
		},
		"both moved, the other is proved": {
			reason: "a server of the other's choice may have proved it: the cloud decides",
			others: []*infrav1.WindowsMachine{changed(victim(), moved, hasProof)}, right: true,
		},
		"both moved, none is proved": {
			reason: "who copies an identity stops nobody: the cloud decides", right: true,
			others: []*infrav1.WindowsMachine{changed(victim(), moved)},
		},
		"both moved, both are proved": {
			reason: "the cloud decides, by marks", own: []func(*infrav1.WindowsMachine){hasProof}, right: true,
			others: []*infrav1.WindowsMachine{changed(victim(), moved, hasProof)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLife(t, asCopy, func(m *infrav1.WindowsMachine, _ *clusterv1.Machine, _ *clusterv1.Cluster) { changed(m, c.own...) })
				for _, other := range c.others {
					expect.OK(t, s.Client.Create(t.Context(), other))
				}
				_, m := s.look(t)
				refused := conditions.GetReason(m, infrav1.ReadyCondition) == infrav1.IdentityMismatchReason
				expect.Same(t, c.reason, !c.right, refused)
				if c.right {
					return
				}
				message := conditions.GetMessage(m, infrav1.ReadyCondition)
				expect.Same(t, "it names the other one", false, strings.Contains(message, "platform") || strings.Contains(message, "theirs"))
				expect.OK(t, s.Client.Delete(t.Context(), m))
				m = s.settle(t)
				expect.Same(t, "it goes", c.goes, m.Name == "")
				expect.Same(t, "calls of the cloud", 0, len(s.cloud.Calls()))
				if !c.goes {
					expect.Same(t, "it says how to go on", true,
						strings.Contains(conditions.GetMessage(m, infrav1.ReadyCondition), infrav1.MachineFinalizer))
				}
			})
		})
	}
}

// inAPlace gives the machine the part of its status that has Azure's own IDs of its VM.
func inAPlace(m *infrav1.WindowsMachine, _ *clusterv1.Machine, _ *clusterv1.Cluster) {
	m.Status.Azure = &infrav1.AzurePlacement{}
}

// settle looks at the machine until nothing more comes of it.
func (s *lifeStage) settle(t *testing.T) (m *infrav1.WindowsMachine) {
	t.Helper()
	for range 4 {
		_, m = s.look(t)
	}
	return m
}

func changed(m *infrav1.WindowsMachine, changes ...func(*infrav1.WindowsMachine)) *infrav1.WindowsMachine {
	for _, change := range changes {
		change(m)
	}
	return m
}

// restored has the stage's machine live, and then come back from a backup in another management cluster: without its status, with
// another UID, and with its bootstrap Secret or without it.
func restored(t *testing.T, withSecret bool) (s *lifeStage) {
	t.Helper()
	s = newLife(t, inAPlace)
	s.Manager = "there"
	m := s.settle(t)
	expect.Same(t, "phase", infrav1.PhaseBootstrapping, m.Status.Phase)
	expect.Same(t, "the VM's server stands beside its ID", "first", m.Status.Record().Azure.Server)
	s.edit(t, m, func() { m.Finalizers = nil })
	expect.OK(t, s.Client.Delete(t.Context(), m))
	again := m.DeepCopy()
	again.ObjectMeta = metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: types.UID("restored"), OwnerReferences: m.OwnerReferences,
		Finalizers: []string{infrav1.MachineFinalizer},
	}
	again.Status = infrav1.WindowsMachineStatus{Azure: &infrav1.AzurePlacement{}}
	expect.OK(t, s.Client.Create(t.Context(), again))
	if !withSecret {
		expect.OK(t, s.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}}))
	}
	s.Manager, s.firsts = "here", firsts{}
	s.cloud.Calls()
	return s
}

// TestRestored: a machine that comes back with another UID has its VM again by its bootstrap Secret. Without it the machine is
// held, also when it is deleted, until the operator names the management cluster that made the VM.
func TestRestored(t *testing.T) {
	for _, withSecret := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := restored(t, withSecret)
			m := s.settle(t)
			if withSecret {
				expect.Same(t, "phase", infrav1.PhaseBootstrapping, m.Status.Phase)
				expect.Same(t, "VMs that are made", 0, s.cloud.Calls()["create"])
				return
			}
			expect.Same(t, "Ready", infrav1.VMNotProvedReason, conditions.GetReason(m, infrav1.ReadyCondition))
			expect.OK(t, s.Client.Delete(t.Context(), m.DeepCopy()))
			_, m = s.look(t)
			expect.Same(t, "it is held", []string{infrav1.MachineFinalizer}, m.Finalizers)
			expect.Same(t, "VMs", 1, len(s.cloud.Names()))
			s.TookOver = []types.UID{"there"}
			m = s.settle(t)
			expect.Same(t, "it goes, with its VM", []any{"", 0}, []any{m.Name, len(s.cloud.Names())})
		})
	}
}

// TestContested: a restore gave another machine the status of this one, too. Then the cloud's own ID proves nothing for either,
// and marks and user data decide.
func TestContested(t *testing.T) {
	for _, withSecret := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := restored(t, true)
			m := s.settle(t)
			expect.Same(t, "phase", infrav1.PhaseBootstrapping, m.Status.Phase)
			other := changed(victim(), func(other *infrav1.WindowsMachine) {
				other.Spec.ProviderID, other.Status, other.Annotations = m.Spec.ProviderID, m.Status, m.Annotations
			})
			expect.OK(t, s.Client.Create(t.Context(), other))
			want := infrav1.NotStalledReason
			if !withSecret {
				data := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}}
				expect.OK(t, s.Client.Delete(t.Context(), data))
				want = infrav1.VMNotProvedReason
			}
			m = s.settle(t)
			expect.Same(t, "Stalled", want, conditions.GetReason(m, infrav1.StalledCondition))
			expect.Same(t, "VMs", 1, len(s.cloud.Names()))
		})
	}
}

// TestProvedAtAServer: an ID without the server that gave it, as earlier releases kept it, proves nothing: the data are read.
func TestProvedAtAServer(t *testing.T) {
	for name, c := range map[string]struct {
		record cloud.Record
		want   bool
	}{
		"nothing":                {},
		"an ID of Azure":         {cloud.Record{Azure: infrav1.AzureRecord{Server: "s", VMID: "id"}}, true},
		"without its server":     {cloud.Record{Azure: infrav1.AzureRecord{VMID: "id"}}, false},
		"a server alone":         {cloud.Record{Azure: infrav1.AzureRecord{Server: "s"}}, false},
		"a vCenter's reference":  {cloud.Record{VSphere: infrav1.VSphereRecord{Server: "s", Reference: "vm-1"}}, true},
		"without its vCenter":    {cloud.Record{VSphere: infrav1.VSphereRecord{Reference: "vm-1"}}, false},
		"a vCenter's name alone": {cloud.Record{VSphere: infrav1.VSphereRecord{Server: "s"}}, false},
	} {
		m := &infrav1.WindowsMachine{Status: infrav1.WindowsMachineStatus{Azure: &infrav1.AzurePlacement{}}}
		m.Status.SetRecord(c.record)
		expect.Same(t, name, c.want, isProved(m))
	}
}

// TestAnotherServer: the server of a VM is that of its status, whatever a user writes into the annotation, and at another one the
// machine is held.
func TestAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t, inAPlace)
		m := s.settle(t)
		s.edit(t, m, func() { m.Annotations[infrav1.ServerAnnotation] = "second" })
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cloud2"}}
		secret.Data = map[string][]byte{"clientSecret": []byte("secret"), "server": []byte("second")}
		expect.OK(t, s.Client.Create(t.Context(), secret))
		s.edit(t, m, func() { m.Spec.IdentityRef.Name = "cloud2" })
		m = s.settle(t)
		expect.Same(t, "Stalled", infrav1.IdentityMismatchReason, conditions.GetReason(m, infrav1.StalledCondition))
		expect.OK(t, s.Client.Delete(t.Context(), m.DeepCopy()))
		_, m = s.look(t)
		expect.Same(t, "it is held", []string{infrav1.MachineFinalizer}, m.Finalizers)
	})
}

// TestMayRemain: a machine whose VM vanished, and that is let go then, is told what to look for. One whose VM the cloud deleted
// at our request is not, also not by a process that is started in between.
func TestMayRemain(t *testing.T) {
	for name, want := range map[string]bool{"vanished": true, "deleted": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLife(t, inAPlace)
				m := s.settle(t)
				if name == "vanished" {
					s.cloud.Drop(s.cloud.Names()[0])
				}
				expect.OK(t, s.Client.Delete(t.Context(), m))
				_, m = s.look(t)
				s.firsts = firsts{}
				if name == "deleted" {
					expect.Same(t, "the status says what the cloud accepted", infrav1.DeletionAccepted, m.Status.Record().Azure.Deletion)
				}
				m = s.settle(t)
				expect.Same(t, "it goes", "", m.Name)
				told := false
				for len(s.told.Events) > 0 {
					told = strings.HasPrefix(<-s.told.Events, "Warning "+infrav1.VMMayRemainReason+" ") || told
				}
				expect.Same(t, "told", want, told)
			})
		})
	}
}
