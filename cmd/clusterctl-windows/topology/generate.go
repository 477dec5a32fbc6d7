package topology

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/exp/topology/desiredstate"
	"sigs.k8s.io/cluster-api/exp/topology/scope"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// made is an object that Cluster API would make, and what it is in the topology.
type made struct {
	objects.Object
	content map[string]any
	part
	// class is that of the pool.
	class string
}

// part is a part of a topology; a patch selects by it.
type part struct {
	is role
	// pool is the name of a pool in the topology.
	pool string
}

// role is what an object is for.
type role int

const (
	ofInfrastructure role = iota
	ofControlPlane
	ofPool
)

// generate has Cluster API compute what is desired, and patch it. Its names end with random characters, which shall be the same
// whenever this program runs.
func (t *topology) generate(ctx context.Context, name func(*clusterv1.ClusterClass)) ([]made, error) {
	blueprint, err := t.blueprint()
	if err != nil {
		return nil, err
	}
	name(blueprint.ClusterClass)
	rand.Seed(1)
	s := scope.New(t.cluster)
	s.Blueprint = blueprint
	s.Blueprint.Topology.Workers.MachinePools = nil
	s.Current.ControlPlane = &scope.ControlPlaneState{}
	files := readOnly{reader: reader{t.files, blueprint.ClusterClass}}
	generator, err := desiredstate.NewGenerator(files, noClusters{}, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	var desired *scope.ClusterState
	err = limited(func() (failed error) {
		desired, failed = generator.Generate(ctx, s)
		return failed
	})
	if err != nil {
		return nil, t.unpatched(err)
	}
	return t.listed(desired)
}

// listed are the objects of the state, the Cluster first.
func (t *topology) listed(desired *scope.ClusterState) ([]made, error) {
	l := list{of: t}
	l.add(made{}, desired.Cluster, clusterv1.GroupVersion.WithKind("Cluster"))
	l.add(made{part: part{is: ofInfrastructure}}, desired.InfrastructureCluster, schema.GroupVersionKind{})
	plane := made{part: part{is: ofControlPlane}}
	l.add(plane, desired.ControlPlane.Object, schema.GroupVersionKind{})
	if desired.ControlPlane.InfrastructureMachineTemplate != nil {
		l.add(plane, desired.ControlPlane.InfrastructureMachineTemplate, schema.GroupVersionKind{})
	}
	for _, pool := range t.cluster.Spec.Topology.Workers.MachineDeployments {
		state := desired.MachineDeployments[pool.Name]
		if state == nil {
			continue
		}
		of := made{part: part{ofPool, pool.Name}, class: pool.Class}
		l.add(of, state.BootstrapTemplate, schema.GroupVersionKind{})
		l.add(of, state.InfrastructureMachineTemplate, schema.GroupVersionKind{})
		l.add(of, state.Object, clusterv1.GroupVersion.WithKind("MachineDeployment"))
		if state.MachineHealthCheck != nil {
			l.add(of, state.MachineHealthCheck, clusterv1.GroupVersion.WithKind("MachineHealthCheck"))
		}
	}
	return l.all, l.err
}

// list collects objects, and the first error.
type list struct {
	of  *topology
	all []made
	err error
}

// add adds an object, whose kind only an unstructured one has.
func (l *list) add(one made, object any, kind schema.GroupVersionKind) {
	if l.err != nil {
		return
	}
	if one.content, l.err = contentOf(object, kind); l.err != nil {
		return
	}
	read := unstructured.Unstructured{Object: one.content}
	read.SetOwnerReferences(nil) // the Cluster, which has no UID yet
	delete(one.content, "status")
	one.Version, one.Kind = read.GroupVersionKind().GroupVersion(), read.GetKind()
	one.Key = types.NamespacedName{Namespace: read.GetNamespace(), Name: read.GetName()}
	one.Place, one.MadeBy = l.of.placeOf(one), "ClusterClass "+l.of.classKey().String()
	l.all = append(l.all, one)
}

func contentOf(object any, kind schema.GroupVersionKind) (map[string]any, error) {
	if object, ok := object.(*unstructured.Unstructured); ok {
		return object.Object, nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, err
	}
	content["apiVersion"], content["kind"] = kind.GroupVersion().String(), kind.Kind
	return content, nil
}

// placeOf is the line of the part of the topology that an object is made of.
func (t *topology) placeOf(one made) string {
	switch one.is {
	case ofControlPlane:
		return t.lines().At("spec", "topology", "controlPlane")
	case ofPool:
		return t.lines().At("spec", "topology", "workers", "machineDeployments", one.pool)
	}
	return t.lines().At("spec", "topology")
}

// add checks the objects, and adds them to those of the files. The Cluster takes the place of the one that was read.
func (t *topology) add(all []made) error {
	text := shorterNames(t.files, all)
	set := &objects.Set{Source: t.files.Source}
	for i := range all {
		data, err := json.Marshal(all[i].content)
		if err != nil {
			return fmt.Errorf("write %s: %w", all[i], err)
		}
		all[i].Data = []byte(text.Replace(string(data)))
		all[i].Key.Name = text.Replace(all[i].Key.Name)
		if err := json.Unmarshal(all[i].Data, &all[i].content); err != nil {
			return fmt.Errorf("read %s: %w", all[i], err)
		}
		set.All = append(set.All, all[i].Object)
	}
	if err := set.Admit(); err != nil {
		return t.blame(err, all)
	}
	at := slices.IndexFunc(t.files.All, func(one objects.Object) bool {
		return one.Kind == t.object.Kind && one.Key == t.object.Key && one.Place == t.object.Place
	})
	t.files.All[at].Data = set.All[0].Data
	for _, one := range set.All[1:] {
		if !has(t.files, one) {
			t.files.All = append(t.files.All, one)
		}
	}
	return nil
}

func has(o *objects.Set, one objects.Object) bool {
	return slices.ContainsFunc(o.All, func(other objects.Object) bool {
		return other.Version == one.Version && other.Kind == one.Kind && other.Key == one.Key
	})
}

// randomCharacters are so many at the end of a template's name, behind a dash.
const randomCharacters = 6

// shorterNames takes the random characters from the names of templates, for which a class cannot say another name, and from
// whatever refers to them. A name that the files have already stays long.
func shorterNames(o *objects.Set, all []made) *strings.Replacer {
	var names []string
	taken := map[string]bool{} // Cluster API cuts long names
	for _, one := range all {
		short := one.Object
		if !strings.HasSuffix(one.Kind, "Template") {
			continue
		}
		short.Key.Name = one.Key.Name[:len(one.Key.Name)-randomCharacters]
		if !has(o, short) && !taken[short.String()] {
			names = append(names, one.Key.Name, short.Key.Name)
			taken[short.String()] = true
		}
	}
	return strings.NewReplacer(names...)
}
