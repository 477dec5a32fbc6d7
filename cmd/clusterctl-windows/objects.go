package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// objects are all objects in the files. An object is decoded when it is loaded.
type objects struct {
	all []object
	// source names the files in messages.
	source string
}

// object is one of the objects, not decoded yet.
type object struct {
	version schema.GroupVersion
	kind    string
	key     types.NamespacedName
	data    []byte // JSON
}

func (o object) String() string { return o.kind + " " + o.key.String() }

// versions has the supported version of each kind that is loaded.
var versions = map[string]schema.GroupVersion{
	"Cluster":                        clusterv1.GroupVersion,
	"Machine":                        clusterv1.GroupVersion,
	"MachineDeployment":              clusterv1.GroupVersion,
	"WindowsMachine":                 infrav1.GroupVersion,
	"WindowsMachineTemplate":         infrav1.GroupVersion,
	"WindowsBootstrapConfig":         bootstrapv1.GroupVersion,
	"WindowsBootstrapConfigTemplate": bootstrapv1.GroupVersion,
	"Secret":                         corev1.SchemeGroupVersion,
	"ConfigMap":                      corev1.SchemeGroupVersion,
}

func readObjects(o options, stdin io.Reader) (*objects, error) {
	found := &objects{}
	var names []string
	for _, file := range o.files {
		name, data, err := readSource(file, stdin)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if err := found.addDocuments(data, o.namespace); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	found.source = strings.Join(names, ", ")
	return found, nil
}

func readSource(file string, stdin io.Reader) (name string, data []byte, err error) {
	if file == "-" {
		data, err = io.ReadAll(stdin)
		return "standard input", data, err
	}
	data, err = os.ReadFile(file)
	return file, data, err
}

func (o *objects) addDocuments(data []byte, namespace string) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := yaml.YAMLToJSONStrict(document)
		if err == nil {
			err = o.add(text, namespace)
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
	}
}

// envelope has the fields that all objects have, and the items of a list.
type envelope struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

// add adds an object, or all objects of a list as kubectl writes it.
func (o *objects) add(data []byte, namespace string) error {
	if string(data) == "null" {
		return nil // a document with only comments
	}
	var read envelope
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &read); err != nil {
		return fmt.Errorf("not a Kubernetes object: %w", err)
	}
	version, err := schema.ParseGroupVersion(read.APIVersion)
	if err != nil || read.Kind == "" || version.Version == "" {
		return errors.New("not a Kubernetes object: apiVersion or kind is missing")
	}
	if strings.HasSuffix(read.Kind, "List") {
		for _, item := range read.Items {
			if err := o.add(item, namespace); err != nil {
				return err
			}
		}
		return nil
	}
	key := types.NamespacedName{Namespace: read.Metadata.Namespace, Name: read.Metadata.Name}
	if key.Namespace == "" {
		key.Namespace = namespace
	}
	o.all = append(o.all, object{version: version, kind: read.Kind, key: key, data: data})
	return nil
}

// ofKind lists the objects of a kind.
func (o *objects) ofKind(kind string) []object {
	var found []object
	for _, one := range o.all {
		if one.kind == kind && one.version.Group == versions[kind].Group {
			found = append(found, one)
		}
	}
	return found
}

// missingError says which object is missing in the files, and how to get it.
type missingError struct {
	kind   string
	key    types.NamespacedName
	source string
}

// Error names the object and the kubectl command that prints it.
func (e *missingError) Error() string {
	return fmt.Sprintf("%s %s is not in %s; add the output of: kubectl get %s %s -n %s -o yaml",
		e.kind, e.key, e.source, strings.ToLower(e.kind), e.key.Name, e.key.Namespace)
}

// pointer is a pointer to an object's type.
type pointer[T any] interface {
	*T
	metav1.Object
}

// load decodes the object of this kind and key, and fails if there is not exactly one.
func load[T any, P pointer[T]](o *objects, kind string, key types.NamespacedName) (P, error) {
	var found []object
	for _, one := range o.ofKind(kind) {
		if one.key == key {
			found = append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return nil, &missingError{kind: kind, key: key, source: o.source}
	case 1:
		return decode[T, P](found[0])
	}
	return nil, fmt.Errorf("%s is in %s %d times; keep only one", found[0], o.source, len(found))
}

func decode[T any, P pointer[T]](one object) (P, error) {
	if want := versions[one.kind]; one.version != want {
		return nil, fmt.Errorf("%s has apiVersion %s, but only %s is supported; "+
			"use the output of: kubectl get %s.%s.%s %s -n %s -o yaml", one, one.version, want,
			strings.ToLower(one.kind), want.Version, want.Group, one.key.Name, one.key.Namespace)
	}
	decoded := P(new(T))
	unknown, err := kjson.UnmarshalStrict(one.data, decoded)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", one, err)
	}
	// An unknown field of Cluster API may come from a newer release and is ignored. An unknown field of ours would change what
	// is rendered.
	if ours := one.version == infrav1.GroupVersion || one.version == bootstrapv1.GroupVersion; ours && len(unknown) > 0 {
		return nil, fmt.Errorf("%s: %w", one, errors.Join(unknown...))
	}
	decoded.SetNamespace(one.key.Namespace)
	return decoded, nil
}
