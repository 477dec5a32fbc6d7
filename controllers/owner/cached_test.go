package owner

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestCached: what our caches keep of a Machine says what the Machine itself says to all who ask here, and is half as large.
func TestCached(t *testing.T) {
	condition := func(kind, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: strings.Repeat("a sentence ", 8)}
	}
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: "win-0", UID: "of win-0", Annotations: map[string]string{clusterv1.PausedAnnotation: ""}},
		Spec:       clusterv1.MachineSpec{ClusterName: "prod", Version: "v1.36.3"},
		Status: clusterv1.MachineStatus{
			NodeRef: clusterv1.MachineNodeReference{Name: "win-0"}, Phase: "Running",
			Initialization: clusterv1.MachineInitializationStatus{InfrastructureProvisioned: new(true)},
			Conditions: []metav1.Condition{
				condition("Available", "NotReady"), condition(clusterv1.MachineNodeHealthyCondition, "NodeNotHealthy"),
				condition(clusterv1.MachineNodeReadyCondition, "NodeNotReady"),
				condition("Ready", "NotReady"), condition("Updating", "NotUpdating"), condition("Deleting", "NotDeleting"),
			},
		},
	}
	machine.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "capi"}}
	kept, _ := cached(t, machine.DeepCopy()).(*clusterv1.Machine)
	for what, of := range map[string]func(*clusterv1.Machine) any{
		"the spec":   func(m *clusterv1.Machine) any { return m.Spec },
		"labels":     func(m *clusterv1.Machine) any { return m.Annotations },
		"joined":     func(m *clusterv1.Machine) any { return Joined(m) },
		"Node":       func(m *clusterv1.Machine) any { return m.Status.NodeRef },
		"its health": func(m *clusterv1.Machine) any { return nodeHealth(m) },
		"whether it is ready": func(m *clusterv1.Machine) any {
			return conditions.Get(m, clusterv1.MachineNodeReadyCondition)
		},
		"paused":      func(m *clusterv1.Machine) any { return Paused(nil, m) },
		"initialized": func(m *clusterv1.Machine) any { return m.Status.Initialization },
	} {
		if diff := cmp.Diff(of(machine), of(kept)); diff != "" {
			t.Errorf("%s (-Machine +cached):\n%s", what, diff)
		}
	}
	all, some := expect.Got(json.Marshal(machine))(t), expect.Got(json.Marshal(kept))(t)
	if 2*len(some) > len(all) || len(kept.ManagedFields) > 0 {
		t.Errorf("of %d bytes %d are kept: %s", len(all), len(some), some)
	}
	other := &infrav1.WindowsMachine{}
	for _, by := range Cached() {
		if got := expect.Got(by.Transform(other))(t); got != any(other) {
			t.Errorf("%T became %T", other, got)
		}
	}
}

// cached is what our caches keep of an object.
func cached(t *testing.T, o client.Object) client.Object {
	t.Helper()
	for of, by := range Cached() {
		if reflect.TypeOf(of) == reflect.TypeOf(o) {
			return expect.Got(by.Transform(o))(t).(client.Object)
		}
	}
	t.Fatalf("no cache of %T", o)
	return nil
}

// TestCachedClusters: a Cluster of a ClusterClass may have variables of any size, and stays one that works. Whatever else is too
// large leaves a stub.
func TestCachedClusters(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	cluster.Spec.ControlPlaneEndpoint.Host = "10.0.0.10"
	want := cluster.DeepCopy()
	cluster.Spec.Topology.ClassRef.Name = "class"
	cluster.Spec.Topology.Variables = []clusterv1.ClusterVariable{{Name: "a"}}
	cluster.Spec.Topology.Variables[0].Value.Raw = make([]byte, caches.MostBytes)
	expect.Same(t, "Cluster", client.Object(want), cached(t, cluster))
	label := strings.Repeat("x", caches.MostBytes)
	for _, o := range []client.Object{&clusterv1.Cluster{}, &clusterv1.Machine{}} {
		o.SetLabels(map[string]string{"cluster.x-k8s.io/a": label})
		if !caches.IsStub(cached(t, o)) {
			t.Errorf("a large %T is kept", o)
		}
	}
}

// TestCachedConditions: a condition of a Machine that a controller reads is one that the caches keep.
func TestCachedConditions(t *testing.T) {
	read := regexp.MustCompile(`clusterv1\.Machine\w+Condition\b`)
	kept := string(expect.Got(os.ReadFile("cached.go"))(t))
	seen := 0
	expect.OK(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, name := range read.FindAllString(string(expect.Got(os.ReadFile(path))(t)), -1) {
			if seen++; !strings.Contains(kept, name) {
				t.Errorf("%s reads %s, which is not in our caches", path, name)
			}
		}
		return nil
	}))
	if seen < 3 {
		t.Errorf("%d conditions are read", seen)
	}
}

// lister is a cache that notes how it is asked.
type lister struct {
	client.Client
	asked client.ListOptions
}

// List implements client.Reader.
func (l *lister) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	l.asked.ApplyOptions(options)
	return nil
}

// TestNames: a list of thousands of objects that are only read copies none of them.
func TestNames(t *testing.T) {
	l := &lister{}
	expect.OK(t, Names{l}.List(t.Context(), &infrav1.WindowsMachineList{}, client.InNamespace("team-a")))
	if l.asked.Namespace != "team-a" || l.asked.UnsafeDisableDeepCopy == nil || !*l.asked.UnsafeDisableDeepCopy {
		t.Errorf("asked for %+v", l.asked)
	}
}
