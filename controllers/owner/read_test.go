package owner_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/test/kit/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var errDown = errors.New("the API server is down")

// readWorld has a paused Cluster, a Machine in it, and an object that the Machine names; unread are objects that cannot be read.
func readWorld(t *testing.T, unread string, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.OK(t, clusterv1.AddToScheme(scheme))
	expect.OK(t, infrav1.AddToScheme(scheme))
	read := calls.Ask(func(c calls.Call) error {
		if c.Key.Name == unread {
			return errDown
		}
		return nil
	})
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(read).Build()
}

func readCluster(name string) *clusterv1.Cluster {
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	c.Spec.Paused = new(true)
	return c
}

func readMachine() *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core", UID: "uid"}}
	m.Spec.ClusterName = "prod"
	m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "WindowsMachine", Name: "m",
	}
	return m
}

func readObject(owners ...metav1.OwnerReference) *infrav1.WindowsMachine {
	return &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "m", OwnerReferences: owners, Labels: map[string]string{clusterv1.ClusterNameLabel: "labelled"},
	}}
}

func readReference() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "core", UID: "uid"}
}

// TestOwnerIsRead: an object belongs to what its Machine names, not to its label; what is gone is nil; and what cannot be read is
// an error, or a paused object would be worked on.
func TestOwnerIsRead(t *testing.T) {
	other := readReference()
	other.APIVersion = "other.example.com/v1"
	broken := readReference()
	broken.APIVersion = "a/b/c"
	earlier := readReference()
	earlier.UID = "earlier"
	names := readMachine()
	names.Spec.InfrastructureRef.Name = "other"
	for name, c := range map[string]struct {
		reason           string
		unread           string
		objects          []client.Object
		owners           []metav1.OwnerReference
		machine, cluster string
		refused          bool
		fails            string
	}{
		"both": {
			reason:  "the Machine's Cluster counts, not the label's",
			objects: []client.Object{readMachine(), readCluster("prod"), readCluster("labelled")},
			owners:  []metav1.OwnerReference{readReference()}, machine: "core", cluster: "prod",
		},
		"Cluster gone": {
			reason: "it was deleted first", objects: []client.Object{readMachine(), readCluster("labelled")},
			owners: []metav1.OwnerReference{readReference()}, machine: "core",
		},
		"Machine gone": {
			reason: "the label says which Cluster is waited for", objects: []client.Object{readCluster("labelled")},
			owners: []metav1.OwnerReference{readReference()}, cluster: "labelled",
		},
		"no owner": {reason: "so it is with a new object", objects: []client.Object{readCluster("labelled")}, cluster: "labelled"},
		"another Machine kind": {
			reason: "only Cluster API's own Machines count", objects: []client.Object{readMachine(), readCluster("labelled")},
			owners: []metav1.OwnerReference{other, broken}, cluster: "labelled",
		},
		"Machine restored": {
			reason: "Cluster API corrects the reference", objects: []client.Object{readMachine(), readCluster("labelled")},
			owners: []metav1.OwnerReference{earlier}, cluster: "labelled",
		},
		"Machine of another object": {
			reason: "a person must change one of the two", objects: []client.Object{names, readCluster("labelled")},
			owners: []metav1.OwnerReference{readReference()}, cluster: "labelled", refused: true,
		},
		"neither": {
			reason: "nothing fits", objects: []client.Object{names, readCluster("labelled")},
			owners: []metav1.OwnerReference{earlier}, cluster: "labelled", refused: true,
		},
		"Machine unread": {
			reason: "it may be paused", unread: "core", objects: []client.Object{readMachine(), readCluster("prod")},
			owners: []metav1.OwnerReference{readReference()}, fails: "get owner machine: ",
		},
		"Cluster unread": {
			reason: "it may be paused", unread: "prod", objects: []client.Object{readMachine(), readCluster("prod")},
			owners: []metav1.OwnerReference{readReference()}, fails: "get cluster: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := owner.Of(t.Context(), readWorld(t, c.unread, c.objects...), readObject(c.owners...))
			expect.Says(t, c.reason, err, c.fails)
			if err != nil && !errors.Is(err, errDown) {
				t.Errorf("the cause is lost: %v", err)
			}
			var machine, cluster string
			if found.Machine != nil {
				machine = found.Machine.Name
			}
			if found.Cluster != nil {
				cluster = found.Cluster.Name
			}
			expect.Same(t, c.reason, []string{c.machine, c.cluster}, []string{machine, cluster})
			expect.Same(t, c.reason, c.refused, found.Refused != "")
		})
	}
}

// Without a label and without a Machine there is no Cluster to read.
func TestOwnerOfNothing(t *testing.T) {
	o := readObject()
	o.Labels = nil
	found := expect.Got(owner.Of(t.Context(), readWorld(t, ""), o))(t)
	expect.Same(t, "owner", owner.Owner{}, found)
}

// An object of a kind that the client does not know is a mistake in our program, which is told.
func TestOwnerOfUnknownKind(t *testing.T) {
	_, err := owner.Of(t.Context(), readWorld(t, ""), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}})
	expect.Says(t, "a kind that is not in the scheme", err, "find kind of m: ")
}

// TestRefusal tells what the Machine uses instead, so that a person can mend one of the two.
func TestRefusal(t *testing.T) {
	machine := readMachine()
	machine.Spec.InfrastructureRef.Name = "other"
	const plain = "ownerReferences has Machine core, but that Machine uses WindowsMachine other; delete this WindowsMachine, or " +
		"create a Machine that uses it"
	of := func() string {
		return expect.Got(owner.Of(t.Context(), readWorld(t, "", machine), readObject(readReference())))(t).Refused
	}
	expect.Same(t, "refusal", plain, of())
	machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "WindowsBootstrapConfig", Name: "c",
	}
	expect.Same(t, "refusal of a Machine with a config", "ownerReferences has Machine core, but that Machine uses WindowsMachine "+
		"other and WindowsBootstrapConfig c; delete this WindowsMachine, or create a Machine that uses it", of())
	machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "WindowsMachine", Name: "m",
	}
	expect.Same(t, "an object that the Machine names as its config", "", of())
	machine.Spec.Bootstrap.ConfigRef.APIGroup = "other.example.com"
	if of() == "" {
		t.Error("an object of another group with the same kind and name is not refused")
	}
}

// TestHas: a Machine owns what has its name and its UID.
func TestHas(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*metav1.OwnerReference)
		want   bool
	}{
		"the Machine":        {func(*metav1.OwnerReference) {}, true},
		"another name":       {func(r *metav1.OwnerReference) { r.Name = "other" }, false},
		"an earlier Machine": {func(r *metav1.OwnerReference) { r.UID = "before" }, false},
		"a MachineSet":       {func(r *metav1.OwnerReference) { r.Kind = "MachineSet" }, false},
		"another group":      {func(r *metav1.OwnerReference) { r.APIVersion = "apps/v1" }, false},
	} {
		ref := readReference()
		c.change(&ref)
		expect.Same(t, what, c.want, owner.Has(readMachine(), readObject(ref)))
	}
}

// TestPaused has all that pauses an object, and what people are told.
func TestPaused(t *testing.T) {
	running, itself := readCluster("prod"), readObject()
	running.Spec.Paused = nil
	itself.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	expect.Same(t, "a paused Cluster", true, owner.Paused(readCluster("prod"), readObject()))
	expect.Same(t, "a Cluster that runs", false, owner.Paused(running, readObject()))
	expect.Same(t, "an object that is paused itself", true, owner.Paused(running, itself))
	expect.Same(t, "one without a Cluster", true, owner.Paused(nil, itself))
	expect.Same(t, "nothing", false, owner.Paused(nil, readObject()))
	no, yes := owner.PausedCondition(false), owner.PausedCondition(true)
	expect.Same(t, "not paused", metav1.Condition{Type: "Paused", Status: metav1.ConditionFalse, Reason: "NotPaused"}, no)
	expect.Same(t, "paused", metav1.Condition{
		Type: "Paused", Status: metav1.ConditionTrue, Reason: "Paused",
		Message: "spec.paused of the Cluster or the annotation cluster.x-k8s.io/paused is set; a deletion waits, too",
	}, yes)
}

// TestJoinedByNode: a Machine has joined when Cluster API names its Node.
func TestJoinedByNode(t *testing.T) {
	machine := readMachine()
	expect.Same(t, "no Machine", false, owner.Joined(nil))
	expect.Same(t, "no Node", false, owner.Joined(machine))
	machine.Status.NodeRef.Name = "node"
	expect.Same(t, "a Node", true, owner.Joined(machine))
}

// TestOwnerIsLarge: it is not known what a Machine names that is too large for the cache. It is not refused for that, and the
// Cluster is that of the label.
func TestOwnerIsLarge(t *testing.T) {
	machine := readMachine()
	machine.Annotations = map[string]string{"cluster.x-k8s.io/a": strings.Repeat("x", caches.MostBytes)}
	stub := expect.Got(caches.Keep(machine))(t).(client.Object)
	for uid, want := range map[types.UID]bool{"uid": true, "another": false} {
		reference := readReference()
		reference.UID = uid
		api := stubs{readWorld(t, "", readMachine(), readCluster("labelled")), stub}
		found := expect.Got(owner.Of(t.Context(), api, readObject(reference)))(t)
		if (found.Machine != nil) != want || found.Cluster == nil || (found.Refused == "") != want {
			t.Errorf("of %s is found %+v", uid, found)
		}
	}
}

// stubs has a stub of the Machine.
type stubs struct {
	client.Client

	stub client.Object
}

func (s stubs) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if machine, is := o.(*clusterv1.Machine); is {
		*machine = *s.stub.(*clusterv1.Machine)
		return nil
	}
	return s.Client.Get(ctx, key, o, options...)
}
