package owner_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
)

func TestClusterChanged(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(c *clusterv1.Cluster)
		wakes  bool
	}{
		"counts": {
			reason: "the counts of Machines change with each of them",
			change: func(c *clusterv1.Cluster) {
				c.ResourceVersion = "2"
				c.Status.Workers = &clusterv1.WorkersStatus{Replicas: new(int32(7))}
			},
		},
		"spec": {
			reason: "a pause, an endpoint and a deletion make a new generation",
			change: func(c *clusterv1.Cluster) { c.Generation++ },
			wakes:  true,
		},
		"infrastructure": {
			reason: "VMs wait for it",
			change: func(c *clusterv1.Cluster) { c.Status.Initialization.InfrastructureProvisioned = new(true) },
			wakes:  true,
		},
		"control plane": {
			reason: "tokens are made there",
			change: func(c *clusterv1.Cluster) { c.Status.Initialization.ControlPlaneInitialized = new(true) },
			wakes:  true,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			before := &clusterv1.Cluster{}
			before.Generation, before.ResourceVersion = 1, "1"
			now := before.DeepCopy()
			test.change(now)
			if got := owner.ClusterChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}); got != test.wakes {
				t.Errorf("wakes %t, want %t: %s", got, test.wakes, test.reason)
			}
		})
	}
	if !owner.ClusterChanged().Create(event.CreateEvent{Object: &clusterv1.Cluster{}}) {
		t.Error("a new Cluster does not wake")
	}
}

func TestMachineChanged(t *testing.T) {
	healthy := func(reason string) func(*clusterv1.Machine) {
		return func(m *clusterv1.Machine) {
			m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineNodeHealthyCondition, Reason: reason}}
		}
	}
	cases := map[string]struct {
		reason string
		change func(m *clusterv1.Machine)
		wakes  bool
	}{
		"phase":   {"nothing depends on it", func(m *clusterv1.Machine) { m.Status.Phase = "Deleting" }, false},
		"node":    {"the machine has joined", func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" }, true},
		"health":  {"the Node was deleted", healthy(clusterv1.MachineNodeDeletedReason), true},
		"spec":    {"the user data is there, or the deletion has begun", func(m *clusterv1.Machine) { m.Generation++ }, true},
		"labels":  {"it may be another Cluster's", func(m *clusterv1.Machine) { m.Labels = map[string]string{"a": "b"} }, true},
		"renewal": {"a list is read again now and then", func(m *clusterv1.Machine) { m.ResourceVersion = "2" }, false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			before := &clusterv1.Machine{}
			now := before.DeepCopy()
			test.change(now)
			if got := owner.MachineChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}); got != test.wakes {
				t.Errorf("wakes %t, want %t: %s", got, test.wakes, test.reason)
			}
		})
	}
}

// What is not of the kind that was watched passes: it is looked at once too often.
func TestOtherObjectsPass(t *testing.T) {
	cluster, machine := &clusterv1.Cluster{}, &clusterv1.Machine{}
	for _, changed := range []predicate.Predicate{owner.ClusterChanged(), owner.MachineChanged()} {
		for _, e := range []event.UpdateEvent{{ObjectOld: cluster, ObjectNew: machine}, {ObjectOld: machine, ObjectNew: cluster}} {
			if !changed.Update(e) {
				t.Errorf("%T and %T do not pass", e.ObjectOld, e.ObjectNew)
			}
		}
	}
}

// An owner that is missing is told of once Cluster API has had its time.
func TestExpected(t *testing.T) {
	created := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
	rests := map[time.Duration]time.Duration{
		0: 30 * time.Second, 30 * time.Second: 0, time.Minute: -30 * time.Second,
		-30 * time.Second: time.Minute, -31 * time.Second: 0, -time.Hour: 0, // our clock is behind
	}
	for after, want := range rests {
		if got := owner.Expected(machine, created.Add(after)); got != want {
			t.Errorf("after %s the owner is expected for another %s, want %s", after, got, want)
		}
	}
}
