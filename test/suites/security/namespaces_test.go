package security

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// theirs is the name of everything that only the victim's namespace has, and strangersWord what may appear nowhere else.
const (
	theirs        = "theirs"
	strangersWord = "canary-of-the-victim"
)

// TestNamespaces has a tenant refer to what only the namespace of another tenant has, by every reference that there is. Our
// controllers work in both namespaces.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	victim := newVictim(t)
	a := newAttacker(t, victim)
	t.Run("in", func(t *testing.T) {
		for _, end := range []string{".secret", ".configMap", ".credentialsRef"} {
			var attacks []attack
			for _, path := range slices.Sorted(maps.Keys(ofConfigs)) {
				if strings.HasSuffix(path, end) {
					attacks = append(attacks, a.config(path))
				}
			}
			attemptKind(t, together(attacks...)...)
		}
		const adapter = "vsphere.networkInterfaces[].addressesFromPools[]"
		attemptKind(t, together(a.machine("identityRef", ofMachines["identityRef"], "Ready False CredentialsMissing"),
			a.machine("identityRef.azure", azureMachine, "Ready False CredentialsMissing"))...)
		attempt(t, together(a.machine(adapter, ofMachines[adapter], "Ready False WaitingForIPAddress"))...)
		attempt(t, together(a.ofClusterAPI()...)...)
		attempt(t, together(a.owners(t)...)...)
		attempt(t, together(a.copiedTemplate(), a.claim())...)
		attemptKind(t, together(
			lacks(victim, "-ca", "WaitingForClusterCA"), lacks(victim, "-kubeconfig", "WaitingForLinuxNode"))...)
	})
	a.gainedNothing(t)
}

var startIPAM = sync.OnceValue(func() error { return servers.StartIPAM(context.Background(), shared.Management, os.Stderr) })

func newVictim(t *testing.T) *world.Namespace {
	t.Helper()
	victim := shared.Namespace(t, world.Start{})
	victim.Pause(t, true) // so that our controllers have no reason to read there
	expect.OK(t, startIPAM())
	fill(t, victim)
	return victim
}

// fill gives the victim what the attacker refers to.
func fill(t *testing.T, victim *world.Namespace) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: victim.Name, Name: theirs, Labels: map[string]string{clusterv1.ClusterNameLabel: theirs}}
	secret := &corev1.Secret{ObjectMeta: *meta.DeepCopy(), Data: map[string][]byte{}}
	for _, key := range []string{"key", "username", "password", "server", "value", "ca.crt"} {
		secret.Data[key] = []byte(strangersWord)
	}
	config := &corev1.ConfigMap{ObjectMeta: *meta.DeepCopy(), Data: map[string]string{"key": strangersWord}}
	cluster := &clusterv1.Cluster{ObjectMeta: *meta.DeepCopy(), Spec: victim.Cluster(t.Context(), t).Spec}
	m := victim.NewMachine(theirs)
	m.Core.Spec.Bootstrap.DataSecretName = new(theirs)
	m.Windows.Spec.ProviderID = "vsphere://42064d55-dcf3-6be7-3ac7-e1a4d3b70bd4"
	for _, object := range []client.Object{secret, config, cluster, pool(victim.Name)} {
		expect.OK(t, shared.Client.Create(t.Context(), object))
	}
	m.Create(t)
}

// pool is one of the IPAM provider, of the namespace.
func pool(namespace string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"addresses": []any{"192.0.2.10-192.0.2.20"}, "prefix": int64(24), "gateway": "192.0.2.1",
	}}}
	made.SetAPIVersion("ipam.cluster.x-k8s.io/v1alpha2")
	made.SetKind("InClusterIPPool")
	made.SetNamespace(namespace)
	made.SetName(theirs)
	return made
}

// attacker is a tenant with a namespace, a cloud and a Cluster of its own.
type attacker struct {
	*world.Namespace
	victim  *world.Namespace
	cloud   *fake.World
	process *world.Process
}

func newAttacker(t *testing.T, victim *world.Namespace) *attacker {
	t.Helper()
	a := &attacker{victim: victim, cloud: &fake.World{}}
	a.Namespace = shared.Namespace(t, world.Start{Credentials: map[string][]byte{"clientSecret": []byte("secret")}})
	a.process = a.Run(t, world.Options{
		VSphere: vsphere.Provider{}, Azure: fake.Provider{World: a.cloud}, Now: time.Now, Beside: []string{victim.Name},
	})
	return a
}

// config is an attack by a reference of a WindowsBootstrapConfig: it waits for a Secret or ConfigMap of its own namespace.
func (a *attacker) config(path string) attack {
	tries := "names an object of another namespace in a config's spec." + path
	return attack{by: "tenant", tries: tries, try: func(t *testing.T) string {
		m := a.NewMachine(nameOf(path))
		a.create(t, m.Config, specOf(t, ofConfigs[path], a.victim.Name))
		expect.OK(t, a.Client.Create(t.Context(), m.Windows))
		expect.OK(t, a.Client.Create(t.Context(), m.Core))
		state := m.Await(t, "notice", world.Config("Ready Unknown WaitingForSources"))
		if message := conditions.GetMessage(state.Config, bootstrapv1.ReadyCondition); !strings.Contains(message, " "+theirs+",") {
			t.Errorf("the config waits for something else: %s", message)
		}
		if state.Data != nil {
			t.Error("there is a bootstrap Secret")
		}
		return a.unread(t, "the namespace is an unknown field; WaitingForSources")
	}}
}

// machine is an attack by a reference of a WindowsMachine.
func (a *attacker) machine(path, spec, ends string) attack {
	tries := "names an object of another namespace in a machine's spec." + path
	return attack{by: "tenant", tries: tries, try: func(t *testing.T) string {
		m := a.NewMachine(nameOf(path))
		a.create(t, m.Windows, specOf(t, spec, a.victim.Name))
		expect.OK(t, a.Client.Create(t.Context(), m.Config))
		expect.OK(t, a.Client.Create(t.Context(), m.Core))
		m.Await(t, "notice", world.Windows(ends))
		return a.unread(t, "the namespace is an unknown field; "+ends[strings.LastIndex(ends, " ")+1:])
	}}
}

// nameOf is a name for the objects of an attack.
func nameOf(path string) string {
	return strings.ToLower(strings.NewReplacer("[]", "", ".", "-").Replace(path))
}

// create makes an object with a spec that has a namespace in a reference. The API server refuses that field if it is asked to be
// strict, as kubectl does, and otherwise drops it.
func (a *attacker) create(t *testing.T, object client.Object, spec map[string]any) {
	t.Helper()
	gvk := expect.Got(a.Client.GroupVersionKindFor(object))(t)
	made := &unstructured.Unstructured{Object: expect.Got(runtime.DefaultUnstructuredConverter.ToUnstructured(object))(t)}
	made.SetGroupVersionKind(gvk)
	made.Object["spec"] = spec
	strict := client.WithFieldValidation(a.Client, metav1.FieldValidationStrict)
	err := strict.Create(t.Context(), made.DeepCopy(), client.DryRunAll)
	expect.Says(t, "a namespace in a reference", err, "unknown field")
	expect.Says(t, "a namespace in a reference", err, `namespace"`)
	expect.OK(t, a.Client.Create(t.Context(), made))
	if content := string(expect.Got(made.MarshalJSON())(t)); strings.Contains(content, `"`+a.victim.Name+`"`) {
		t.Errorf("the API server keeps the namespace: %s", content)
	}
}

// unread checks that no manager of ours has read an object of the victim, but the credentials that its own machine names, which
// are read whoever attacks.
func (a *attacker) unread(t *testing.T, verdict string) string {
	t.Helper()
	read := expect.Got(shared.Management.Read(a.victim.Name))(t)
	read = slices.DeleteFunc(read, func(object string) bool { return object == "secrets/"+world.Credentials })
	if len(read) > 0 {
		t.Errorf("objects of the victim were read: %v", read)
	}
	return verdict
}

// ownerless has our controllers look at an object that is owned across namespaces, until the garbage collector finds out that its
// owner cannot be there: they never take that for its Machine.
func (a *attacker) ownerless(t *testing.T, m *world.Machine, object client.Object) string {
	t.Helper()
	expect.OK(t, a.Client.Create(t.Context(), object))
	cache := a.process.Caches[map[bool]string{true: world.Machines, false: world.Configs}[m.Windows == object]]
	wait.Until(t, "the object in the cache, or its end", func() (any, bool) {
		seen, _ := object.DeepCopyObject().(client.Object)
		err := cache.Get(t.Context(), m.Key, seen)
		return err, err == nil || apierrors.IsNotFound(a.Client.Get(t.Context(), m.Key, seen))
	})
	a.process.Reconcile(t, world.Machines, m.Key)
	a.process.Reconcile(t, world.Configs, m.Key)
	state := m.Load(t)
	if state.Windows != nil && (state.Windows.Spec.ProviderID != "" || len(state.Windows.Finalizers) > 0) ||
		state.Config != nil && len(state.Config.Finalizers) > 0 || state.Data != nil {
		t.Errorf("something was done for an object without an owner:\n%s", state)
	}
	return a.unread(t, "it waits for an owner of its own namespace")
}

// gainedNothing looks for the victim's texts and addresses in the attacker's namespace.
func (a *attacker) gainedNothing(t *testing.T) {
	t.Helper()
	var secrets corev1.SecretList
	expect.OK(t, a.Client.List(t.Context(), &secrets, client.InNamespace(a.Name)))
	for _, secret := range secrets.Items {
		if strings.Contains(fmt.Sprintf("%s", secret.Data), strangersWord) {
			t.Errorf("Secret %s has the word of the victim's namespace", secret.Name)
		}
	}
	for _, namespace := range []string{a.Name, a.victim.Name} {
		var addresses ipamv1.IPAddressList
		expect.OK(t, a.Client.List(t.Context(), &addresses, client.InNamespace(namespace)))
		if len(addresses.Items) > 0 {
			t.Errorf("a pool has given %d addresses in %s", len(addresses.Items), namespace)
		}
	}
	if strings.Contains(a.process.Log(), strangersWord) {
		t.Error("the log has the word of the victim's namespace")
	}
	if len(a.cloud.Names()) > 0 {
		t.Errorf("there are VMs: %v", a.cloud.Names())
	}
}
