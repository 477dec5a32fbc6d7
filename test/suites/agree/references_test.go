package agree

import (
	"fmt"
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
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// theirs is the name of all that only the victim's namespace has, and strangersWord what may appear nowhere else.
const (
	theirs        = "theirs"
	strangersWord = "canary-of-the-victim"
)

// TestReferencesOfV1beta1: the references of a Machine of v1beta1 have a namespace. A tenant who names another's there gains
// nothing: Cluster API drops it, and our controllers neither read nor change what is in that namespace. Package security has the
// other attacks of tenants, in a world that does not serve v1beta1.
func TestReferencesOfV1beta1(t *testing.T) {
	t.Parallel()
	victim := newVictim(t)
	n := shared.Namespace(t, world.Start{Credentials: map[string][]byte{"clientSecret": []byte("secret")}})
	cloud := &fake.World{}
	process := n.Run(t, world.Options{
		VSphere: vsphere.Provider{}, Azure: fake.Provider{World: cloud}, Beside: []string{victim.Name},
	})
	expect.OK(t, n.Client.Create(t.Context(), machineWithReferences(n, victim.Name)))
	n.NewMachine("old").Await(t, "notice", func(s world.State) string {
		seen := conditions.Get(s.Core, clusterv1.MachineInfrastructureReadyCondition)
		if seen == nil || !strings.HasSuffix(seen.Reason, "DoesNotExist") {
			return fmt.Sprintf("the Machine says %+v", seen)
		}
		return ""
	})
	untouched(t, victim)
	expect.Same(t, "VMs", 0, len(cloud.Names()))
	var secrets corev1.SecretList
	expect.OK(t, n.Client.List(t.Context(), &secrets, client.InNamespace(n.Name)))
	for _, secret := range secrets.Items {
		if strings.Contains(fmt.Sprintf("%s", secret.Data), strangersWord) {
			t.Errorf("Secret %s has the word of the victim's namespace", secret.Name)
		}
	}
	if strings.Contains(process.Log(), strangersWord) {
		t.Error("the log has the word of the victim's namespace")
	}
}

// newVictim is a namespace whose machine the attacker refers to. Its Cluster is paused, so that our controllers have no reason to
// read there.
func newVictim(t *testing.T) *world.Namespace {
	t.Helper()
	victim := shared.Namespace(t, world.Start{})
	victim.Pause(t, true)
	expect.OK(t, victim.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: victim.Name, Name: theirs}, Data: map[string][]byte{"value": []byte(strangersWord)},
	}))
	m := victim.NewMachine(theirs)
	m.Core.Spec.Bootstrap.DataSecretName = new(theirs)
	m.Windows.Spec.ProviderID = "vsphere://42064d55-dcf3-6be7-3ac7-e1a4d3b70bd4"
	m.Create(t)
	return victim
}

// machineWithReferences is a Machine of v1beta1 whose references name the machine of another namespace.
func machineWithReferences(n *world.Namespace, namespace string) *unstructured.Unstructured {
	ref := func(group, kind string) object {
		return object{"apiVersion": group + ".cluster.x-k8s.io/v1beta1", "kind": kind, "name": theirs, "namespace": namespace}
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
		"metadata": object{"namespace": n.Name, "name": "old", "labels": object{clusterv1.ClusterNameLabel: n.ClusterName}},
		"spec": object{
			"clusterName": n.ClusterName, "infrastructureRef": ref("infrastructure", "WindowsMachine"),
			"bootstrap": object{"configRef": ref("bootstrap", "WindowsBootstrapConfig")},
		},
	}}
}

// untouched checks that the victim's objects belong to nobody else, and that no manager of ours has read one.
func untouched(t *testing.T, victim *world.Namespace) {
	t.Helper()
	key := client.ObjectKey{Namespace: victim.Name, Name: theirs}
	for _, of := range []client.Object{&infrav1.WindowsMachine{}, &bootstrapv1.WindowsBootstrapConfig{}} {
		expect.OK(t, victim.Client.Get(t.Context(), key, of))
		if owners := of.GetOwnerReferences(); len(owners) > 0 {
			t.Errorf("the victim's %T is owned by %v", of, owners)
		}
	}
	for _, read := range expect.Got(shared.Management.Read(victim.Name))(t) {
		if read != "secrets/"+world.Credentials { // which its own machine names, whoever attacks
			t.Errorf("%s of the victim was read", read)
		}
	}
}
