package controllers

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// second are credentials for another server of the cloud, which has no VM of ours.
var second = map[string][]byte{"clientSecret": []byte("secret"), "server": []byte("second")}

// secret makes a Secret with credentials.
func (s *stage) secret(t *testing.T, name string, data map[string][]byte) *corev1.Secret {
	t.Helper()
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: name}, Data: data}
	expect.OK(t, s.Client.Create(t.Context(), made))
	return made
}

// identify points the machine at another Secret.
func (s *stage) identify(t *testing.T, m *world.Machine, secret string) {
	t.Helper()
	world.Change(t, s.Client, m.Load(t).Windows, func(w *infrav1.WindowsMachine) { w.Spec.IdentityRef.Name = secret })
}

func message(condition, want string) func(world.State) string {
	return func(s world.State) string {
		if text := conditions.GetMessage(s.Windows, condition); !strings.Contains(text, want) {
			return "the message is " + text
		}
		return ""
	}
}

// TestIdentityOfAnotherServer points a running machine at a server that does not have its VM: the VM did not vanish.
func TestIdentityOfAnotherServer(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		wrong, right func(*testing.T, *stage, *world.Machine)
	}{
		"another Secret": {
			func(t *testing.T, s *stage, m *world.Machine) { s.identify(t, m, "second") },
			func(t *testing.T, s *stage, m *world.Machine) { s.identify(t, m, "renewed") },
		},
		"another server in the Secret": {
			func(t *testing.T, s *stage, _ *world.Machine) { s.SetCredentials(t, second) },
			func(t *testing.T, s *stage, _ *world.Machine) { s.SetCredentials(t, password) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := ready(t)
			s.secret(t, "second", second)
			s.secret(t, "renewed", map[string][]byte{"clientSecret": []byte("secret"), "comment": []byte("another user's")})
			m, state := s.running(t)
			vm := state.Windows.Status.ComputerName
			wrong := func() {
				way.wrong(t, s, m)
				m.Await(t, "mismatch", world.Windows("Stalled True IdentityMismatch"), message(infrav1.StalledCondition,
					"is for server second, but the VM is on server first, where it stays; set identityRef to a Secret for that server"))
			}
			right := func() {
				way.right(t, s, m)
			}
			wrong()
			s.cloud.Calls()
			m.Await(t, "a VM that runs all the same", world.Windows("Ready True Running"), world.Windows("VMRunning True Running"),
				world.Windows("CloudReachable False IdentityMismatch"))
			s.look(t, m)
			if calls := s.cloud.Calls(); calls["observe"]+calls["ensure"]+calls["delete"] > 0 {
				t.Errorf("another server was asked for the VM: %v", calls)
			}
			right()
			m.Await(t, "recovery", world.Windows("Stalled False NotStalled"), world.Windows("CloudReachable True CloudReachable"),
				world.Windows("Ready True Running"))

			// A move to another management cluster loses the status.
			world.ChangeStatus(t, s.Client, m.Load(t).Windows, func(w *infrav1.WindowsMachine) {
				w.Status = infrav1.WindowsMachineStatus{}
			})
			wrong()
			m.Delete(t)
			m.Await(t, "deletion", world.Windows("Ready False IdentityMismatch"), world.Windows("Stalled True IdentityMismatch"))
			s.process.Reconcile(t, world.Machines, m.Key)
			s.vms(t, vm)
			right()
			m.Await(t, "end", world.Gone)
			s.vms(t)
		})
	}
}

// TestIdentityChangesMeanwhile points a machine at another server while its VM is being made: it gets no second one.
func TestIdentityChangesMeanwhile(t *testing.T) {
	s := ready(t)
	s.secret(t, "second", second)
	made := s.cloud.Hold(fake.Create)
	m := s.machine("m")
	m.Create(t)
	state := m.Await(t, "VM", world.Windows("Ready False Provisioning"))
	s.identify(t, m, "second")
	m.Await(t, "mismatch", world.Windows("Ready False IdentityMismatch"), world.Windows("Stalled True IdentityMismatch"))
	made()
	s.look(t, m)
	s.vms(t, state.Windows.Status.ComputerName)
	s.identify(t, m, world.Credentials)
	m.Await(t, "VM", world.Windows("Ready True Running"))
	m.End(t)
	s.vms(t)
}

// TestAnotherSecret helps a machine whose credentials are missing with another Secret, also while it is deleted.
func TestAnotherSecret(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{})
	s.start(t)
	m := s.machine("m")
	m.Create(t)
	m.Await(t, "stop", world.Windows("Ready False CredentialsMissing"),
		message(infrav1.ReadyCondition, "or set identityRef to another Secret"))
	renewed := s.secret(t, "renewed", password)
	s.identify(t, m, "renewed")
	m.Await(t, "VM", world.Windows("Ready True Running"))

	s.tearOut(t, renewed)
	m.Await(t, "notice", world.Windows("CloudReachable False CredentialsMissing"))
	m.Delete(t)
	m.Await(t, "stop", world.Windows("Ready False CredentialsMissing"),
		message(infrav1.ReadyCondition, "set identityRef to another Secret for the same server"))
	s.secret(t, "again", password)
	s.identify(t, m, "again")
	m.Await(t, "end", world.Gone)
	s.vms(t)
}

// TestMissingImage has a template whose ClusterClass forgot a patch: it is told before anything is claimed.
func TestMissingImage(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	m.Windows.Spec.Azure.Image = infrav1.AzureImage{}
	m.Create(t)
	state := m.Await(t, "refusal", world.Windows("Ready False SpecInvalid"), world.Windows("Stalled True SpecInvalid"),
		message(infrav1.ReadyCondition, "spec.azure.image.id is not set, but a VM needs it"))
	if w := state.Windows; w.Spec.ProviderID != "" || len(w.Finalizers) > 0 {
		t.Errorf("providerID %q, finalizers %q, want none", w.Spec.ProviderID, w.Finalizers)
	}
	m.End(t)
}

// TestFormats has user data that the image cannot run.
func TestFormats(t *testing.T) {
	s := ready(t)
	m := s.withOwnData(t)
	own := &corev1.Secret{}
	expect.OK(t, s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Name, Name: *m.Core.Spec.Bootstrap.DataSecretName}, own))
	write := func(format string) {
		world.Change(t, s.Client, own, func(o *corev1.Secret) { o.Data["format"] = []byte(format) })
	}
	write("cloud-config")
	m.CreateWithoutConfig(t)
	m.Await(t, "refusal", world.Windows("Ready False BootstrapFormatMismatch"),
		world.Windows("Stalled True BootstrapFormatMismatch"),
		message(infrav1.ReadyCondition, `has bootstrap data of the format "cloud-config", but the image runs "cloudbase-init"`))
	if calls := s.cloud.Calls(); calls["create"] > 0 {
		t.Errorf("a VM was asked for: %v", calls)
	}
	write("cloudbase-init")
	s.process.Later(t, world.Machines, m.Key)
	m.Await(t, "life after it was mended", world.Windows("Ready True Running"))
	m.End(t)
}

// TestFormatIsWritten: the bootstrap provider says what it made.
func TestFormatIsWritten(t *testing.T) {
	s := ready(t)
	m, _ := s.booting(t)
	stored := &corev1.Secret{}
	expect.OK(t, s.Client.Get(t.Context(), m.Key, stored))
	expect.Same(t, "format", "cloudbase-init", string(stored.Data["format"]))
	m.End(t)
}
