// Package topology makes of a Cluster with a topology what Cluster API's topology controller makes of it, with that controller's
// own code: the generator of what is desired with its patches (exp/topology/desiredstate) and the webhooks of Cluster and
// ClusterClass (core/webhooks/admission). Nothing is asked of a cluster: the ClusterClass and its templates are in the files.
//
// A refusal of a value leads back to the variable of the Cluster that has it, and to its line (variables.go, blame.go).
package topology

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// Admit checks the objects of the files as an API server and Cluster API's webhooks would, and adds what Cluster API would make
// of the topologies of the Clusters. Those are checked as well.
func Admit(o *objects.Set) error {
	if err := o.Admit(); err != nil {
		return err
	}
	var unused, refused []error
	for _, object := range o.OfKind("Cluster") {
		t, err := read(o, object)
		if t == nil {
			unused = append(unused, err)
			continue
		}
		if err == nil {
			err = t.expand()
		}
		refused = append(refused, err)
	}
	if hasWindows(o) {
		unused = nil // the Clusters whose classes are not there are those of other machines
	}
	return cmp.Or(errors.Join(refused...), errors.Join(unused...))
}

// topology is that of a Cluster, and the class that it is of.
type topology struct {
	files   *objects.Set
	object  objects.Object
	lines   func() objects.Lines
	cluster *clusterv1.Cluster
	class   *clusterv1.ClusterClass
}

// enable has Cluster API's code take topologies, as its managers do with CLUSTER_TOPOLOGY=true, which clusterctl needs for any
// flavor with a class. Its runtime extensions stay off: only a cluster can ask them.
var enable = sync.OnceValue(func() error {
	return feature.MutableGates.SetFromMap(map[string]bool{string(feature.ClusterTopology): true})
})

// silent is for Cluster API's code, whose log is for operators of a manager.
var silent = log.IntoContext(context.Background(), logr.Discard())

// read returns the topology of a Cluster with its class. It returns nil, and perhaps an error with the reason, if the Cluster has
// no topology, if what it makes is in the files already, or if its class is not there or has no Windows machines of this
// provider.
func read(o *objects.Set, object objects.Object) (*topology, error) {
	cluster, err := objects.Decode[clusterv1.Cluster](object)
	if err != nil || !cluster.Spec.Topology.IsDefined() || isExpanded(o, cluster) {
		return nil, err
	}
	t := &topology{files: o, object: object, cluster: cluster, lines: sync.OnceValue(object.Lines)}
	if t.class, err = classOf(o, cluster); err != nil {
		return nil, t.wrap(err, "spec", "topology", "classRef")
	}
	if err := t.refuseOthers(); err != nil {
		return nil, err
	}
	return t, cmp.Or(enable(), t.refuseExternal(), t.refuseClass())
}

// expand adds what Cluster API would make.
func (t *topology) expand() error {
	if _, err := t.blueprint(); err != nil {
		return err
	}
	if err := cmp.Or(t.fillVariables(), t.refuseCluster()); err != nil {
		return err
	}
	generated, err := t.generate(silent, shortNames)
	if err == nil && slices.ContainsFunc(generated, t.takesPool) {
		generated, err = t.generate(silent, longNames)
	}
	if err != nil {
		return err
	}
	return t.add(generated)
}

// takesPool reports whether the files have a pool of this name that does not belong to the topology.
func (t *topology) takesPool(object made) bool {
	return object.Kind == "MachineDeployment" && contains(t.files, object.Object)
}
