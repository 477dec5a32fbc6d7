package security

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestBootstrapData has Machines that name Secrets which are not their bootstrap data, to read them in a VM of the tenant's own.
// The attacker may write Machines and WindowsMachines, but not read Secrets.
func TestBootstrapData(t *testing.T) {
	t.Parallel()
	s := newFakeStage(t)
	victim, _ := s.victim(t)
	plain := func(kind corev1.SecretType, name string) func(*testing.T) string {
		return func(t *testing.T) string { return s.reads(t, "of-"+name, s.valuable(t, kind, name), nil) }
	}
	attemptKind(t,
		attack{
			by: "tenant", tries: "boots a VM from the kubeconfig of a Cluster, which has the key of bootstrap data",
			try: plain(clusterv1.ClusterSecretType, "prod-kubeconfig"),
		},
		attack{
			by: "tenant", tries: "boots a VM from a kubeconfig that an administrator wrote",
			try: plain(corev1.SecretTypeOpaque, "test-kubeconfig"),
		},
		attack{
			by: "tenant", tries: "boots a VM from the CA of a Cluster",
			try: plain(clusterv1.ClusterSecretType, "prod-ca"),
		},
		attack{
			by: "tenant", tries: "boots a VM from the credentials of an application",
			try: plain(corev1.SecretTypeBasicAuth, "database"),
		},
		attack{
			by: "tenant", tries: "boots a VM from what a program keeps in a Secret of its own type",
			try: plain("helm.sh/release.v1", "release"),
		},
	)
	attemptKind(t,
		attack{
			by: "tenant", tries: "boots a VM from another machine's user data, with that machine's config",
			try: func(t *testing.T) string {
				return s.reads(t, "evil-with", victim.Key.Name, names(victim.Key.Name, "WindowsBootstrapConfig"))
			},
		},
		attack{
			by: "tenant", tries: "boots a VM from another machine's user data, without a config",
			try: func(t *testing.T) string { return s.reads(t, "evil-without", victim.Key.Name, nil) },
		},
		attack{
			by: "tenant", tries: "boots a VM from another machine's user data, beside a config of his own",
			try: func(t *testing.T) string {
				return s.reads(t, "evil-beside", victim.Key.Name, names("evil-beside", "WindowsBootstrapConfig"))
			},
		},
		attack{
			by: "tenant", tries: "boots a VM from another machine's user data, with a config of its name of another kind",
			try: func(t *testing.T) string {
				return s.reads(t, "evil-kind", victim.Key.Name, names(victim.Key.Name, "KubeadmConfig"))
			},
		},
	)
	attempt(t, attack{
		by: "tenant", tries: "restores a Secret of ours without its owner before the VM is made (an honest one: it boots)",
		try: bootsRestored,
	})
}

// names gives a Machine a configRef.
func names(name, kind string) func(*world.Machine) {
	return func(m *world.Machine) {
		m.Core.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{
			APIGroup: bootstrapv1.GroupVersion.Group, Kind: kind, Name: name,
		}
	}
}

// valuable makes a Secret that only others may read, and returns its name.
func (s *fakeStage) valuable(t *testing.T, kind corev1.SecretType, name string) string {
	t.Helper()
	s.secret(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, Data: map[string][]byte{
		"value": []byte(strangersWord), "username": []byte("u"), "password": []byte(strangersWord),
	}})
	return name
}

// reads has a new Machine name a Secret, and fails the test if a VM is made. In the end the Machine gets data of the user's own,
// and its VM.
func (s *fakeStage) reads(t *testing.T, name, secret string, change func(*world.Machine)) string {
	t.Helper()
	m := s.machine(name)
	m.Core.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: &secret}
	if change != nil {
		change(m)
	}
	if m.Core.Spec.Bootstrap.ConfigRef.Name == name {
		expect.OK(t, s.Client.Create(t.Context(), m.Config))
	}
	m.CreateWithoutConfig(t)
	state := m.Await(t, "refusal", world.Windows("Ready False BootstrapDataRefused"))
	s.look(t, m)
	message := conditions.GetMessage(state.Windows, infrav1.ReadyCondition)
	if vms := s.cloud.Names(); len(vms) > 0 {
		t.Errorf("there are VMs %q although the machine says: %s", vms, message)
	}
	own := s.secret(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-own"}, Data: map[string][]byte{"value": []byte("x")},
	})
	world.Change(t, s.Client, m.Load(t).Core, func(core *clusterv1.Machine) {
		core.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: &own.Name}
	})
	m.Await(t, "VM of a Machine that was mended", world.Windows("Ready True Running"))
	if m.Load(t).Config != nil {
		expect.OK(t, s.Client.Delete(t.Context(), m.Config))
	}
	m.End(t)
	return "refused: BootstrapDataRefused, " + message
}

func bootsRestored(t *testing.T) string {
	t.Parallel()
	s := newFakeStage(t)
	m, before := s.victim(t)
	world.Change(t, s.Client, before.Data, func(data *corev1.Secret) { data.OwnerReferences = nil })
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: "not-yet"}}
	credentials.Data = map[string][]byte{"clientSecret": []byte("secret")}
	expect.OK(t, s.Client.Create(t.Context(), credentials))
	m.Touch(t, before.Windows, "again")
	m.Await(t, "running VM", world.Windows("Ready True Running"))
	return "no attack: it has all our marks"
}
