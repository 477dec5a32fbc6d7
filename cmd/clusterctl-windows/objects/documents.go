package objects

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func (s *Set) addFile(name string, data []byte, namespace string) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text, err := yaml.YAMLToJSONStrict(document)
		if err == nil {
			err = s.add(text, namespace)
		}
		if err != nil {
			return fmt.Errorf("%s: document %d: %w", name, number, err)
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
func (s *Set) add(data []byte, namespace string) error {
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
			if err := s.add(item, namespace); err != nil {
				return err
			}
		}
		return nil
	}
	key := types.NamespacedName{Namespace: read.Metadata.Namespace, Name: read.Metadata.Name}
	if key.Namespace == "" {
		key.Namespace = namespace
	}
	s.All = append(s.All, Object{Version: version, Kind: read.Kind, Key: key, Data: data})
	return nil
}
