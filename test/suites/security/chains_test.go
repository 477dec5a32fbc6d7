package security

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// ofClusterAPI are attacks by references of Cluster API's own objects, which have no namespace either.
func (a *attacker) ofClusterAPI() []attack {
	try := func(tries string, edit func(*world.Machine), ends func(world.State) string, verdict string) attack {
		return attack{by: "tenant", tries: tries, try: func(t *testing.T) string {
			m := a.NewMachine(label(tries))
			edit(m)
			for _, object := range []client.Object{m.Config, m.Windows, m.Core} {
				expect.OK(t, a.Client.Create(t.Context(), object))
			}
			m.Await(t, "notice", ends)
			return a.unread(t, verdict)
		}}
	}
	return []attack{
		try("takes a config of another namespace as configRef",
			func(m *world.Machine) { m.Core.Spec.Bootstrap.ConfigRef.Name = theirs },
			world.Windows("Ready False WaitingForBootstrapData"), "WaitingForBootstrapData"),
		try("takes a WindowsMachine of another namespace as infrastructureRef",
			func(m *world.Machine) { m.Core.Spec.InfrastructureRef.Name = theirs },
			world.Config("Ready Unknown WaitingForMachineIdentity"), "WaitingForMachineIdentity"),
		try("takes a Secret of another namespace as dataSecretName", func(m *world.Machine) {
			m.Core.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new(theirs)}
			m.Windows.Spec = world.OnFake()
		}, windowsSays("Secret "+theirs+" with the bootstrap data does not exist"), "WaitingForBootstrapData"),
	}
}

// label is a name for Kubernetes.
func label(tries string) string { return strings.ReplaceAll(strings.ToLower(tries), " ", "-") }

func windowsSays(text string) func(world.State) string {
	return func(s world.State) string {
		if said := conditions.GetMessage(s.Windows, infrav1.ReadyCondition); !strings.Contains(said, text) {
			return "the WindowsMachine says: " + said
		}
		return ""
	}
}

// owners are attacks by owners and by the name of a Cluster.
func (a *attacker) owners(t *testing.T) []attack {
	t.Helper()
	core := &clusterv1.Machine{}
	expect.OK(t, a.Client.Get(t.Context(), client.ObjectKey{Namespace: a.victim.Name, Name: theirs}, core))
	of := func(m *clusterv1.Machine) []metav1.OwnerReference {
		return []metav1.OwnerReference{*metav1.NewControllerRef(m, clusterv1.GroupVersion.WithKind("Machine"))}
	}
	return []attack{
		{by: "tenant", tries: "makes a Machine of another namespace the owner of a WindowsMachine", try: func(t *testing.T) string {
			m := a.NewMachine("owned-machine")
			m.Windows.OwnerReferences = of(core)
			return a.ownerless(t, m, m.Windows)
		}},
		{by: "tenant", tries: "makes a Machine of another namespace the owner of a config", try: func(t *testing.T) string {
			m := a.NewMachine("owned-config")
			m.Config.OwnerReferences = of(core)
			return a.ownerless(t, m, m.Config)
		}},
		{by: "tenant", tries: "names a Cluster of another namespace", try: func(t *testing.T) string {
			m := a.NewMachine("cluster-name")
			m.Core.Spec.ClusterName, m.Core.Labels = theirs, map[string]string{clusterv1.ClusterNameLabel: theirs}
			expect.OK(t, a.Client.Create(t.Context(), m.Core))
			m.Windows.OwnerReferences = of(m.Core)
			expect.OK(t, a.Client.Create(t.Context(), m.Windows))
			m.Await(t, "notice", windowsSays("Cluster "+theirs+" does not exist"))
			return a.unread(t, "WaitingForOwner")
		}},
	}
}

// copiedTemplate is an attack by a template that a topology copies from the namespace of its ClusterClass: what it names is
// looked for where the copy is.
func (a *attacker) copiedTemplate() attack {
	const tries = "runs machines of a template that was copied from another namespace, as by a topology"
	return attack{by: "tenant", tries: tries, try: func(t *testing.T) string {
		m := a.NewMachine("copied")
		meta := metav1.ObjectMeta{Namespace: a.Name, Name: "copied", Labels: m.Core.Labels}
		config := &bootstrapv1.WindowsBootstrapConfigTemplate{ObjectMeta: meta}
		config.Spec.Template.Spec.Windows.Proxy = bootstrapv1.Proxy{
			HTTP: "http://a:1", CredentialsRef: bootstrapv1.SecretReference{Name: theirs},
		}
		machine := &infrav1.WindowsMachineTemplate{ObjectMeta: meta}
		machine.Spec.Template.Spec = m.Windows.Spec
		set := &clusterv1.MachineSet{ObjectMeta: meta, Spec: clusterv1.MachineSetSpec{
			ClusterName: world.ClusterName, Replicas: new(int32(1)),
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		}}
		set.Spec.Template.Labels, set.Spec.Template.Spec = map[string]string{"a": "b"}, m.Core.Spec
		set.Spec.Template.Spec.InfrastructureRef.Kind = "WindowsMachineTemplate"
		set.Spec.Template.Spec.Bootstrap.ConfigRef.Kind = "WindowsBootstrapConfigTemplate"
		for _, object := range []client.Object{config, machine, set} {
			expect.OK(t, a.Client.Create(t.Context(), object))
		}
		wait.Until(t, "a machine of the set", func() (any, bool) {
			var made bootstrapv1.WindowsBootstrapConfigList
			expect.OK(t, a.Client.List(t.Context(), &made, client.InNamespace(a.Name), client.MatchingLabels{"a": "b"}))
			return made.Items, len(made.Items) == 1 &&
				world.ConditionOf(&made.Items[0], "Ready") == "Ready Unknown WaitingForSources"
		})
		return a.unread(t, "WaitingForSources")
	}}
}

// claim is an attack by a claim that the tenant writes.
func (a *attacker) claim() attack {
	const tries = "claims an address of a pool of another namespace"
	return attack{by: "tenant", tries: tries, try: func(t *testing.T) string {
		made := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddressClaim",
			"metadata": map[string]any{"namespace": a.Name, "name": "claimed"},
			"spec": map[string]any{"poolRef": map[string]any{
				"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": theirs, "namespace": a.victim.Name,
			}},
		}}
		strict := client.WithFieldValidation(a.Client, metav1.FieldValidationStrict)
		expect.Says(t, "a namespace of a pool", strict.Create(t.Context(), made), `unknown field "spec.poolRef.namespace"`)
		return "the namespace is an unknown field; a GlobalInClusterIPPool is the operator's"
	}}
}

// lacks is an attack by a Cluster whose own Secret of this name is missing: another namespace has a Cluster of the same name with
// one.
func lacks(victim *world.Namespace, secret, reason string) attack {
	tries := "runs a Cluster without its " + secret + ", whose namesake in another namespace has one"
	return attack{by: "tenant", tries: tries, try: func(t *testing.T) string {
		a := newAttacker(t, victim)
		meta := metav1.ObjectMeta{Namespace: a.Name, Name: world.ClusterName + secret}
		expect.OK(t, a.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: meta}))
		a.Machine(t, "m").Await(t, "notice", world.Config("Ready Unknown "+reason))
		return a.unread(t, reason)
	}}
}
