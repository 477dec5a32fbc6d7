package security

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

const wrongUID types.UID = "11111111-1111-1111-1111-111111111111"

func ownedBy(machine *clusterv1.Machine, uid types.UID) []metav1.OwnerReference {
	ref := *metav1.NewControllerRef(machine, clusterv1.GroupVersion.WithKind("Machine"))
	ref.UID = uid
	return []metav1.OwnerReference{ref}
}

// victim is a machine whose user data is there and whose own VM takes its time: who is taken for it gets its user data.
func (s *fakeStage) victim(t *testing.T) (*world.Machine, world.State) {
	t.Helper()
	m := s.machine("victim")
	m.Windows.Spec.IdentityRef.Name = "not-yet"
	m.Create(t)
	return m, m.Await(t, "user data", world.DataSecretNamed, world.Tokens(1))
}

// gainsNothing waits until both objects of a machine are refused, and fails the test if anything was made for them.
func (s *fakeStage) gainsNothing(t *testing.T, m *world.Machine, refused ...func(world.State) string) string {
	t.Helper()
	m.Await(t, "refusal", refused...)
	s.look(t, m)
	if names := s.cloud.Names(); len(names) > 0 {
		t.Errorf("there are VMs %q", names)
	}
	state := m.Load(t)
	if state.Data != nil || len(state.Tokens) > 0 || state.Windows != nil && len(state.Windows.Finalizers) > 0 {
		t.Errorf("something was made for it:\n%s", state)
	}
	if state.Windows != nil {
		return "refused: " + conditions.GetReason(state.Windows, infrav1.ReadyCondition)
	}
	return "refused: " + conditions.GetReason(state.Config, bootstrapv1.ReadyCondition)
}

// says waits for a text in the condition Stalled.
func says(object func(world.State) conditions.Getter, text string) func(world.State) string {
	return func(s world.State) string {
		if said := conditions.GetMessage(object(s), bootstrapv1.StalledCondition); !strings.Contains(said, text) {
			return "the message is " + said
		}
		return ""
	}
}

func theWindows(s world.State) conditions.Getter { return s.Windows }
func theConfig(s world.State) conditions.Getter  { return s.Config }

// TestOwners has objects that call another tenant's Machine their owner.
func TestOwners(t *testing.T) {
	t.Parallel()
	notOwner := []func(world.State) string{
		world.Windows("Ready False OwnerNotSupported"), world.Windows("Stalled True OwnerNotSupported"),
		says(theWindows, "has Machine victim, but that Machine uses WindowsMachine victim and "+
			"WindowsBootstrapConfig victim; delete this WindowsMachine"),
	}
	orGone := func(missing func(world.State) string) func(world.State) string {
		return func(s world.State) string {
			if s.Windows == nil { // the garbage collector removes what has an owner that is not there
				return ""
			}
			return missing(s)
		}
	}
	for i, missing := range notOwner {
		notOwner[i] = orGone(missing)
	}
	windowsOf := func(uid func(*clusterv1.Machine) types.UID) func(*testing.T) string {
		return func(t *testing.T) string {
			t.Parallel()
			s := newFakeStage(t)
			victim, _ := s.victim(t)
			evil := s.machine("evil")
			evil.Windows.OwnerReferences = ownedBy(victim.Core, uid(victim.Core))
			expect.OK(t, s.Client.Create(t.Context(), evil.Windows))
			return s.gainsNothing(t, evil, notOwner...)
		}
	}
	attemptKind(t,
		attack{
			by: "tenant", tries: "names another's Machine as owner of their WindowsMachine, to get its user data into their VM",
			try: windowsOf(func(m *clusterv1.Machine) types.UID { return m.UID }),
		},
		attack{
			by: "tenant", tries: "names another's Machine as owner of their WindowsMachine by a wrong UID",
			try: windowsOf(func(*clusterv1.Machine) types.UID { return wrongUID }),
		},
	)
	attemptKind(t,
		attack{
			by: "tenant", tries: "has their Machine use another's WindowsMachine, to get a config for its name and addresses",
			try: othersWindows,
		},
		attack{
			by: "tenant", tries: "has their Machine use an object of the same name and another API group",
			try: otherGroup,
		},
		attack{
			by: "tenant", tries: "has their Machine use another's config, to learn what it reserves and how long it waits",
			try: othersConfig,
		},
	)
	attempt(t,
		attack{
			by: "tenant", tries: "names another's Machine as owner of their config, to get a token for its cluster",
			try: evilConfig,
		},
		attack{
			by: "tenant", tries: "labels their WindowsMachine with a Cluster that its Machine does not have, to escape a pause",
			try: otherCluster,
		},
		attack{
			by: "tenant", tries: "names an owner that is gone, to keep an object of ours forever",
			try: deletesRefused,
		},
	)
}

func evilConfig(t *testing.T) string {
	t.Parallel()
	s := newFakeStage(t)
	victim, _ := s.victim(t)
	evil := s.machine("evil")
	evil.Config.OwnerReferences = ownedBy(victim.Core, victim.Core.UID)
	expect.OK(t, s.Client.Create(t.Context(), evil.Config))
	return s.gainsNothing(t, evil, world.Config("Stalled True OwnerNotSupported"),
		says(theConfig, "delete this WindowsBootstrapConfig"))
}

func otherGroup(t *testing.T) string {
	t.Parallel()
	s := newFakeStage(t)
	evil := s.machine("evil")
	evil.Core.Spec.InfrastructureRef.APIGroup = "example.com"
	evil.Core.Spec.Bootstrap.ConfigRef.APIGroup = "example.com"
	expect.OK(t, s.Client.Create(t.Context(), evil.Core))
	evil.Windows.OwnerReferences = ownedBy(evil.Core, evil.Core.UID)
	evil.Config.OwnerReferences = ownedBy(evil.Core, evil.Core.UID)
	expect.OK(t, s.Client.Create(t.Context(), evil.Windows))
	expect.OK(t, s.Client.Create(t.Context(), evil.Config))
	return s.gainsNothing(t, evil, world.Windows("Stalled True OwnerNotSupported"), world.Config("Stalled True OwnerNotSupported"))
}

func othersWindows(t *testing.T) string {
	t.Parallel()
	s := newFakeStage(t)
	_, before := s.victim(t)
	evil := s.machine("evil")
	evil.Core.Spec.InfrastructureRef.Name = "victim"
	expect.OK(t, s.Client.Create(t.Context(), evil.Config))
	expect.OK(t, s.Client.Create(t.Context(), evil.Core))
	waits := func(state world.State) string {
		s.clock.advance(10 * time.Second) // the config says nothing of what comes in a moment
		return world.Config("Ready Unknown WaitingForMachineIdentity")(state)
	}
	verdict := s.gainsNothing(t, evil, waits)
	if after := s.NewMachine("victim").Load(t); !metav1.IsControlledBy(after.Windows, before.Core) {
		t.Errorf("the victim's WindowsMachine is owned by %v", after.Windows.OwnerReferences)
	}
	return verdict
}

func othersConfig(t *testing.T) string {
	t.Parallel()
	s := newFakeStage(t)
	victim := s.machine("victim")
	victim.Config.Spec.Reservations.System.CPU = "1"
	victim.Windows.Spec.IdentityRef.Name = "not-yet"
	victim.Create(t)
	victim.Await(t, "user data", world.DataSecretNamed)
	evil := s.machine("evil")
	evil.Core.Spec.Bootstrap.ConfigRef.Name = "victim"
	expect.OK(t, s.Client.Create(t.Context(), evil.Windows))
	expect.OK(t, s.Client.Create(t.Context(), evil.Core))
	state := evil.Await(t, "wait", world.Windows("Ready False WaitingForBootstrapData"))
	if len(state.Windows.Status.Allocatable) > 0 || state.Core.Spec.Bootstrap.DataSecretName != nil {
		t.Errorf("the victim's config has a say in it: %+v", state.Windows.Status)
	}
	return "waits: WaitingForBootstrapData"
}

func otherCluster(t *testing.T) string {
	t.Parallel()
	s := newFakeStage(t)
	s.Pause(t, true)
	evil := s.machine("evil")
	evil.Windows.Labels[clusterv1.ClusterNameLabel] = "another"
	expect.OK(t, s.Client.Create(t.Context(), evil.Core))
	evil.Windows.OwnerReferences = ownedBy(evil.Core, evil.Core.UID)
	expect.OK(t, s.Client.Create(t.Context(), evil.Windows))
	return "paused with its Machine's Cluster: " + strings.TrimPrefix(
		s.gainsNothing(t, evil, world.Windows("Paused True Paused")), "refused: ")
}

func deletesRefused(t *testing.T) string {
	t.Parallel()
	s := newFakeStage(t)
	victim, _ := s.victim(t)
	evil := s.machine("evil")
	evil.Windows.OwnerReferences = ownedBy(victim.Core, victim.Core.UID)
	evil.Windows.Finalizers = []string{infrav1.MachineFinalizer}
	evil.Config.OwnerReferences = ownedBy(victim.Core, victim.Core.UID)
	evil.Config.Finalizers = []string{bootstrapv1.ConfigFinalizer}
	for _, object := range []client.Object{evil.Windows, evil.Config} {
		expect.OK(t, s.Client.Create(t.Context(), object))
	}
	evil.Await(t, "refusal", world.Windows("Stalled True OwnerNotSupported"), world.Config("Stalled True OwnerNotSupported"))
	for _, object := range []client.Object{evil.Windows, evil.Config} {
		expect.OK(t, s.Client.Delete(t.Context(), object))
	}
	evil.Await(t, "end", world.Gone)
	victim.Await(t, "life", world.Tokens(1), world.DataSecretNamed)
	return "deleted, and the victim keeps its token"
}

// TestAdoption has Machines that name Secrets which are not ours: what we adopt is deleted with the config.
func TestAdoption(t *testing.T) {
	t.Parallel()
	s := newFakeStage(t)
	_, model := s.booting(t, "model")
	ours := func(name string) *corev1.Secret {
		copied := model.Data.DeepCopy()
		copied.ObjectMeta = metav1.ObjectMeta{Name: name, Labels: copied.Labels, Annotations: copied.Annotations}
		return copied
	}
	adopts := func(name string, change func(*corev1.Secret)) func(*testing.T) string {
		return func(t *testing.T) string {
			t.Parallel()
			secret := ours(name)
			change(secret)
			s.secret(t, secret)
			m := s.machine(name)
			m.Core.Spec.Bootstrap.DataSecretName = new(secret.Name)
			m.Create(t)
			m.Await(t, "refusal", world.Config("Stalled True ConfigInvalid"),
				says(theConfig, "which was not made from this config"))
			m.End(t)
			s.untouched(t, secret)
			return "refused: ConfigInvalid, and the Secret stays as it is"
		}
	}
	attemptKind(t,
		attack{
			by: "tenant", tries: "names a Secret of another application in their Machine, to have it deleted",
			try: adopts("database", func(o *corev1.Secret) {
				*o = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "root-password"}, Data: map[string][]byte{"value": []byte("x")}}
			}),
		},
		attack{
			by: "tenant", tries: "names a Secret of another application that has their config's name",
			try: adopts("opaque", func(o *corev1.Secret) {
				*o = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "opaque"}, Data: map[string][]byte{"value": []byte("x")}}
			}),
		},
	)
	attemptKind(t,
		attack{by: "tenant", tries: "names a Secret like ours of another name", try: adopts("name", func(o *corev1.Secret) {
			o.Name = "other"
		})},
		attack{by: "tenant", tries: "names a Secret like ours of another type", try: adopts("type", func(o *corev1.Secret) {
			o.Type = ""
		})},
		attack{by: "tenant", tries: "names a Secret like ours of another Cluster", try: adopts("label", func(o *corev1.Secret) {
			o.Labels = map[string]string{clusterv1.ClusterNameLabel: "another"}
		})},
		attack{by: "tenant", tries: "names a Secret like ours without our mark", try: adopts("annotation", func(o *corev1.Secret) {
			o.Annotations = nil
		})},
		attack{by: "tenant", tries: "names a Secret like ours that can be changed", try: adopts("mutable", func(o *corev1.Secret) {
			o.Immutable = nil
		})},
		attack{by: "tenant", tries: "names a Secret like ours without a format", try: adopts("format", func(o *corev1.Secret) {
			delete(o.Data, "format")
		})},
		attack{by: "tenant", tries: "names a Secret like ours with an invalid token", try: adopts("token", func(o *corev1.Secret) {
			o.Data["token"] = []byte("abcdef/../../x")
		})},
	)
	attempt(t,
		attack{by: "tenant", tries: "names the Secret of another's config", try: func(t *testing.T) string {
			t.Parallel()
			m := s.machine("thief")
			m.Core.Spec.Bootstrap.DataSecretName = new("model")
			m.Create(t)
			m.Await(t, "refusal", world.Config("Stalled True ConfigInvalid"),
				says(theConfig, "it belongs to WindowsBootstrapConfig model"))
			m.End(t)
			if now := s.NewMachine("model").Load(t); now.Data == nil || !metav1.IsControlledBy(now.Data, model.Config) {
				t.Error("the Secret is not the other config's any more")
			}
			return "refused: ConfigInvalid, and the Secret stays with its config"
		}},
		attack{by: "tenant", tries: "makes the Secret before the controller does", try: func(t *testing.T) string {
			t.Parallel()
			secret := s.secret(t, ours("squatted"))
			m := s.machine("squatted")
			m.Create(t)
			m.Await(t, "refusal", world.Config("Stalled True ConfigInvalid"),
				says(theConfig, "was not made from this config: nothing owns it"))
			s.untouched(t, secret)
			return "refused: ConfigInvalid, and no VM boots with it"
		}},
		attack{
			by: "tenant", tries: "restores a Secret of ours without its owner (an honest one: it must be adopted)",
			try: func(t *testing.T) string {
				t.Parallel()
				m, before := s.booting(t, "restored")
				world.Change(t, s.Client, before.Data, func(data *corev1.Secret) { data.OwnerReferences = nil })
				s.look(t, m)
				if after := m.Load(t); !metav1.IsControlledBy(after.Data, after.Config) {
					t.Errorf("the Secret is owned by %v", after.Data.OwnerReferences)
				}
				return "no attack: adopted, as it has all our marks"
			},
		},
	)
}
