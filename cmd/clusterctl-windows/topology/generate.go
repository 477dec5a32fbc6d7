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
	role role
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
	l := list{topology: t}
	l.add(made{}, desired.Cluster, clusterv1.GroupVersion.WithKind("Cluster"))
	l.add(made{part: part{role: ofInfrastructure}}, desired.InfrastructureCluster, schema.GroupVersionKind{})
	plane := made{part: part{role: ofControlPlane}}
	l.add(plane, desired.ControlPlane.Object, schema.GroupVersionKind{})
	if desired.ControlPlane.InfrastructureMachineTemplate != nil {
		l.add(plane, desired.ControlPlane.InfrastructureMachineTemplate, schema.GroupVersionKind{})
	}
	for _, pool := range t.cluster.Spec.Topology.Workers.MachineDeployments {
		state := desired.MachineDeployments[pool.Name]
		if state == nil {
			continue
		}
		m := made{part: part{ofPool, pool.Name}, class: pool.Class}
		l.add(m, state.BootstrapTemplate, schema.GroupVersionKind{})
		l.add(m, state.InfrastructureMachineTemplate, schema.GroupVersionKind{})
		l.add(m, state.Object, clusterv1.GroupVersion.WithKind("MachineDeployment"))
		if state.MachineHealthCheck != nil {
			l.add(m, state.MachineHealthCheck, clusterv1.GroupVersion.WithKind("MachineHealthCheck"))
		}
	}
	return l.objects, l.err
}

// list collects objects, and the first error.
type list struct {
	topology *topology
	objects  []made
	err      error
}

// add adds an object, whose kind only an unstructured one has.
func (l *list) add(m made, object any, kind schema.GroupVersionKind) {
	if l.err != nil {
		return
	}
	if m.content, l.err = contentOf(object, kind); l.err != nil {
		return
	}
	read := unstructured.Unstructured{Object: m.content}
	read.SetOwnerReferences(nil) // the Cluster, which has no UID yet
	delete(m.content, "status")
	m.Version, m.Kind = read.GroupVersionKind().GroupVersion(), read.GetKind()
	m.Key = types.NamespacedName{Namespace: read.GetNamespace(), Name: read.GetName()}
	m.Place, m.MadeBy = l.topology.placeOf(m), "ClusterClass "+l.topology.classKey().String()
	l.objects = append(l.objects, m)
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
func (t *topology) placeOf(object made) string {
	switch object.role {
	case ofControlPlane:
		return t.lines().Place("spec", "topology", "controlPlane")
	case ofPool:
		return t.lines().Place("spec", "topology", "workers", "machineDeployments", object.pool)
	}
	return t.lines().Place("spec", "topology")
}

// add checks the objects, and adds them to those of the files. The Cluster takes the place of the one that was read.
func (t *topology) add(generated []made) error {
	text := shorterNames(t.files, generated)
	set := &objects.Set{Source: t.files.Source}
	for i := range generated {
		data, err := json.Marshal(generated[i].content)
		if err != nil {
			return fmt.Errorf("write %s: %w", generated[i], err)
		}
		generated[i].Data = []byte(text.Replace(string(data)))
		generated[i].Key.Name = text.Replace(generated[i].Key.Name)
		if err := json.Unmarshal(generated[i].Data, &generated[i].content); err != nil {
			return fmt.Errorf("read %s: %w", generated[i], err)
		}
		set.Items = append(set.Items, generated[i].Object)
	}
	if err := set.Admit(); err != nil {
		return t.blame(err, generated)
	}
	index := slices.IndexFunc(t.files.Items, func(object objects.Object) bool {
		return object.Kind == t.object.Kind && object.Key == t.object.Key && object.Place == t.object.Place
	})
	t.files.Items[index].Data = set.Items[0].Data
	for _, object := range set.Items[1:] {
		if !contains(t.files, object) {
			t.files.Items = append(t.files.Items, object)
		}
	}
	return nil
}

func contains(o *objects.Set, object objects.Object) bool {
	return slices.ContainsFunc(o.Items, func(o2 objects.Object) bool {
		return o2.Version == object.Version && o2.Kind == object.Kind && o2.Key == object.Key
	})
}

// randomCharacters are so many at the end of a template's name, behind a dash.
const randomCharacters = 6

// shorterNames takes the random characters from the names of templates, for which a class cannot say another name, and from
// whatever refers to them. A name that the files have already stays long.
func shorterNames(o *objects.Set, generated []made) *strings.Replacer {
	var names []string
	taken := map[string]bool{} // Cluster API cuts long names
	for _, object := range generated {
		short := object.Object
		if !strings.HasSuffix(object.Kind, "Template") {
			continue
		}
		short.Key.Name = object.Key.Name[:len(object.Key.Name)-randomCharacters]
		if !contains(o, short) && !taken[short.String()] {
			names = append(names, object.Key.Name, short.Key.Name)
			taken[short.String()] = true
		}
	}
	return strings.NewReplacer(names...)
}
