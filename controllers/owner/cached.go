package owner

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
)

// Cached is how a manager caches what Cluster API writes: without what no one here reads. A manager among thousands of machines
// is as large as its cache, twice over, because of the garbage collector.
func Cached() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&clusterv1.Machine{}: {Transform: withoutStatus}, &clusterv1.Cluster{}: {Transform: withoutTopology},
	}
}

// withoutTopology leaves out what a Cluster has for its ClusterClass, such as variables of any size.
func withoutTopology(o any) (any, error) {
	if cluster, ok := o.(*clusterv1.Cluster); ok {
		cluster.Spec.Topology = clusterv1.Topology{}
	}
	return caches.Keep(o)
}

// withoutStatus leaves of a Machine's status what is read of it: its Node, how that fares, and what has been initialized. Cluster
// API's other conditions, each in two versions of its API, take half of a Machine's memory.
func withoutStatus(o any) (any, error) {
	machine, ok := o.(*clusterv1.Machine)
	if !ok {
		return caches.Keep(o)
	}
	status := clusterv1.MachineStatus{NodeRef: machine.Status.NodeRef, Initialization: machine.Status.Initialization}
	for _, kind := range []string{clusterv1.MachineNodeHealthyCondition, clusterv1.MachineNodeReadyCondition} {
		if c := conditions.Get(machine, kind); c != nil {
			status.Conditions = append(status.Conditions, *c)
		}
	}
	machine.Status = status
	return caches.Keep(machine)
}

// Names is a client whose lists are for those who only read them, such as the keys of all objects of a Cluster: what is listed
// stays the cache's own, and thousands of objects are not copied.
type Names struct{ client.Client }

// List implements client.Reader.
func (c Names) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.Client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...)
}
