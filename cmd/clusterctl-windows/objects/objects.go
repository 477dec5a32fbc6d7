// Package objects reads Kubernetes objects from files as an API server and kubectl would, and refuses what they would refuse.
//
// Every object of every document is read, or refused by its place: its file, document and line (text.go, documents.go). Objects
// of this provider and of Cluster API are checked with the schemas and rules of their CRDs (admission.go, schemas.go), all others
// when they are decoded. No refusal shows a type of Go or a regular expression alone (words.go).
package objects

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	kjson "sigs.k8s.io/json"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// Set has all objects in the files. An object is decoded when it is loaded.
type Set struct {
	// Items are the objects in the order of the files.
	Items []Object
	// Source names the files in messages.
	Source string

	// size is that of all objects.
	size int
}

// Object is one of the objects, not decoded yet.
type Object struct {
	Version schema.GroupVersion
	Kind    string
	Key     types.NamespacedName
	Data    []byte // JSON
	// Place is where the object begins: file, document and line.
	Place string
	// MadeBy names what the object was made of, if it is not in the files.
	MadeBy string

	origin origin
}

// String names the object in messages.
func (o Object) String() string { return o.Kind + " " + o.Key.String() }

// versions has the version of each kind that is loaded. Admit converts an older one of Cluster API to it.
var versions = map[string]schema.GroupVersion{
	"Cluster":                        clusterv1.GroupVersion,
	"ClusterClass":                   clusterv1.GroupVersion,
	"Machine":                        clusterv1.GroupVersion,
	"MachineDeployment":              clusterv1.GroupVersion,
	"WindowsMachine":                 infrav1.GroupVersion,
	"WindowsMachineTemplate":         infrav1.GroupVersion,
	"WindowsBootstrapConfig":         bootstrapv1.GroupVersion,
	"WindowsBootstrapConfigTemplate": bootstrapv1.GroupVersion,
	"Secret":                         corev1.SchemeGroupVersion,
	"ConfigMap":                      corev1.SchemeGroupVersion,
}

// Read reads all objects of files; - is standard input. An object without a namespace gets the given one.
func Read(files []string, namespace string, stdin io.Reader) (*Set, error) {
	debug.SetMemoryLimit(mostMemory)
	debug.SetGCPercent(garbage)
	return read(files, namespace, stdin)
}

func read(files []string, namespace string, stdin io.Reader) (*Set, error) {
	found := &Set{}
	var names []string
	for _, file := range files {
		name, data, err := readSource(file, stdin)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if err := found.addFile(name, data, namespace); err != nil {
			return nil, err
		}
	}
	found.Source = strings.Join(names, ", ")
	if len(found.Items) == 0 {
		return nil, fmt.Errorf("%s: there is no object; write the Cluster, the MachineDeployment and its two templates", found.Source)
	}
	return found, nil
}

// OfKind lists the objects of a kind.
func (s *Set) OfKind(kind string) []Object {
	var found []Object
	for _, object := range s.Items {
		if object.Kind == kind && object.Version.Group == versions[kind].Group {
			found = append(found, object)
		}
	}
	return found
}

// MissingError names an object that the files lack, and how to get it.
type MissingError struct {
	Kind   string
	Key    types.NamespacedName
	Source string
	// Otherwise is the apiVersion of an object of this kind and key that is of another group.
	Otherwise string
	// Elsewhere are the namespaces in which the files have an object of this kind and name, and Near is one of a similar name.
	Elsewhere []string
	Similar   string
}

// Error names the object and the kubectl command that prints it.
func (e *MissingError) Error() string {
	if len(e.Elsewhere) > 0 {
		return fmt.Sprintf("%s %s is not in %s, which has one of this name in the namespace %s; "+
			"set metadata.namespace of both to the same, or give that of objects without one with -n",
			e.Kind, e.Key, e.Source, strings.Join(e.Elsewhere, ", "))
	}
	if e.Otherwise != "" {
		return fmt.Sprintf("%s %s is not in %s, which has one with apiVersion %s; write apiVersion: %s", e.Kind, e.Key, e.Source,
			e.Otherwise, versions[e.Kind])
	}
	if e.Similar != "" {
		return fmt.Sprintf("%s %s is not in %s; did you mean %s, which is there?", e.Kind, e.Key, e.Source, e.Similar)
	}
	return fmt.Sprintf("%s %s is not in %s; add the output of: kubectl get %s %s -n %s -o yaml",
		e.Kind, e.Key, e.Source, strings.ToLower(e.Kind), e.Key.Name, e.Key.Namespace)
}

// Pointer is a pointer to an object's type.
type Pointer[T any] interface {
	*T
	metav1.Object
}

// Load decodes the object of this kind and key, and fails if there is not exactly one.
func Load[T any, P Pointer[T]](s *Set, kind string, key types.NamespacedName) (P, error) {
	found, err := s.Find(schema.GroupKind{Group: versions[kind].Group, Kind: kind}, key)
	if err != nil {
		return nil, err
	}
	return Decode[T, P](found)
}

// Find returns the object of this kind and key, and fails if there is not exactly one.
func (s *Set) Find(kind schema.GroupKind, key types.NamespacedName) (Object, error) {
	var found []Object
	var elsewhere, names []string
	for _, object := range s.Items {
		switch {
		case object.Version.WithKind(object.Kind).GroupKind() != kind:
		case object.Key == key:
			found = append(found, object)
		case object.Key.Name == key.Name:
			elsewhere = append(elsewhere, object.Key.Namespace)
		case object.Key.Namespace == key.Namespace:
			names = append(names, object.Key.Name)
		}
	}
	switch len(found) {
	case 0:
		return Object{}, &MissingError{
			Kind: kind.Kind, Key: key, Source: s.Source, Otherwise: s.otherwise(kind, key), Elsewhere: elsewhere,
			Similar: Nearest(key.Name, names),
		}
	case 1:
		return found[0], nil
	}
	var places []string
	for _, object := range found {
		places = append(places, object.Place)
	}
	return Object{}, fmt.Errorf("%s exists %d times; keep only one: %s", found[0], len(found), strings.Join(places, "; "))
}

// otherwise is the apiVersion of an object of this kind and key in another group; empty if there is none.
func (s *Set) otherwise(kind schema.GroupKind, key types.NamespacedName) string {
	for _, object := range s.Items {
		isOther := object.Kind == kind.Kind && object.Key == key && object.Version.Group != kind.Group
		if isOther && versions[kind.Kind].Group == kind.Group {
			return object.Version.String()
		}
	}
	return ""
}

// Decode decodes an object, and refuses unknown fields as an API server does that is asked for strict validation.
func Decode[T any, P Pointer[T]](object Object) (P, error) {
	if want := versions[object.Kind]; object.Version != want {
		return nil, fmt.Errorf("%s has apiVersion %s, which is not supported; write %s, or use the output of: kubectl get "+
			"%s.%s.%s %s -n %s -o yaml", object, object.Version, want,
			strings.ToLower(object.Kind), want.Version, want.Group, object.Key.Name, object.Key.Namespace)
	}
	decoded := P(new(T))
	unknown, err := kjson.UnmarshalStrict(object.Data, decoded)
	if err != nil {
		return nil, explain(object, err)
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("%s: %w", object, strictly(unknown))
	}
	decoded.SetNamespace(object.Key.Namespace)
	return decoded, nil
}

// Referred returns the object that a Cluster of the namespace refers to; false if the files do not have it.
func (s *Set) Referred(ref clusterv1.ContractVersionedObjectReference, namespace string) (object Object, found bool) {
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	for _, o := range s.Items {
		if o.Kind == ref.Kind && o.Version.Group == ref.APIGroup && o.Key == key {
			return o, true
		}
	}
	return Object{}, false
}

// Unstructured is a copy of the same object, or nil.
func (s *Set) Unstructured(ref clusterv1.ContractVersionedObjectReference, namespace string) (*unstructured.Unstructured, error) {
	if object, found := s.Referred(ref, namespace); found {
		return object.Unstructured()
	}
	return nil, nil //nolint:nilnil // because the files need not have it
}

// Unstructured is a copy of the object, for code that reads kinds of other providers.
func (o Object) Unstructured() (*unstructured.Unstructured, error) {
	read := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.Data, &read.Object); err != nil {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	read.SetNamespace(o.Key.Namespace)
	return read, nil
}

// Field decodes one field of an object whose kind is another provider's. It is empty if there is no such field.
func Field[T any](object Object, path ...string) (read T, err error) {
	data := json.RawMessage(object.Data)
	for _, name := range path {
		var fields map[string]json.RawMessage
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &fields); err != nil {
			return read, explainAt(object, strings.Join(path, "."), err)
		}
		if data = fields[name]; data == nil {
			return read, nil
		}
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &read); err != nil {
		return read, explainAt(object, strings.Join(path, "."), err)
	}
	return read, nil
}
