package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// deepest is how many lists may be in each other.
const deepest = 16

// add adds an object, or all objects of a list.
func (s *Set) add(read value, namespace string) error {
	return s.addWithin(read, schema.GroupVersionKind{}, namespace, deepest)
}

// addWithin adds a value of a list. If the value does not say its kind, it has that of the list, as in an answer of an API
// server.
func (s *Set) addWithin(read value, inherited schema.GroupVersionKind, namespace string, depth int) error {
	var content map[string]any
	twice, err := kjson.UnmarshalStrict(read.data, &content)
	switch {
	case err != nil:
		return fmt.Errorf("%s: not a Kubernetes object: this is %s; write apiVersion, kind and metadata", read.place, nameOf(read.data))
	case len(twice) > 0:
		return fmt.Errorf("%s: %w; keep one", read.place, strictly(twice))
	}
	kind, err := kindOf(content, inherited)
	if err != nil {
		return fmt.Errorf("%s: not a Kubernetes object: %w", read.place, err)
	}
	_, items := content["items"]
	if kind.Kind == "List" && !items {
		return fmt.Errorf("%s: a List without items; write its objects there, or remove it", read.place)
	}
	if items && strings.HasSuffix(kind.Kind, "List") {
		return s.addItems(read, kind, namespace, depth-1)
	}
	key, err := keyOf(content, namespace)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", read.place, kind.Kind, err)
	}
	if inherited.Kind != "" { // what it did not say itself
		content["apiVersion"], content["kind"] = kind.GroupVersion().String(), kind.Kind
		if read.data, err = json.Marshal(content); err != nil {
			return fmt.Errorf("%s: %w", read.place, err)
		}
	}
	s.Items = append(s.Items, Object{
		Version: kind.GroupVersion(), Kind: kind.Kind, Key: key, Data: read.data, Place: read.place, origin: read.origin,
	})
	return nil
}

func (s *Set) addItems(list value, kind schema.GroupVersionKind, namespace string, depth int) error {
	if depth < 0 {
		return fmt.Errorf("%s: more than %d lists are in each other; write the objects one after another", list.place, deepest)
	}
	var read struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(list.data, &read); err != nil {
		return fmt.Errorf("%s: items is not an array; write a list of objects there", list.place)
	}
	var inherited schema.GroupVersionKind
	if single := strings.TrimSuffix(kind.Kind, "List"); single != "" {
		inherited = kind.GroupVersion().WithKind(single)
	}
	for i, item := range read.Items {
		entry := value{data: item, place: fmt.Sprintf("%s, items[%d]", list.place, i), origin: list.item(i)}
		if err := s.addWithin(entry, inherited, namespace, depth); err != nil {
			return err
		}
	}
	return nil
}

// Versions and kinds have no other characters. Names may have, and are refused with other fields, but for those that no line of
// a message can have.
var (
	goodVersion = regexp.MustCompile(`^([a-zA-Z0-9.-]{1,253}/)?[a-zA-Z0-9-]{1,63}$`)
	goodKind    = regexp.MustCompile(`^[a-zA-Z0-9]{1,63}$`)
)

const longestName = 253

// kindOf returns what apiVersion and kind say.
func kindOf(content map[string]any, inherited schema.GroupVersionKind) (schema.GroupVersionKind, error) {
	version, kind := "", inherited.Kind
	if kind != "" {
		version = inherited.GroupVersion().String()
	}
	for field, target := range map[string]*string{"apiVersion": &version, "kind": &kind} {
		text, ok := content[field].(string)
		if !ok && content[field] != nil {
			return schema.GroupVersionKind{}, fmt.Errorf("%s is not a text; put it in quotes", field)
		}
		if text != "" {
			*target = text
		}
	}
	if version == "" || kind == "" {
		return schema.GroupVersionKind{}, errors.New("apiVersion or kind is missing")
	}
	if unrendered(version+kind) != "" {
		return schema.GroupVersionKind{}, fmt.Errorf("apiVersion or kind has %s", unrendered(version+kind))
	}
	group, err := schema.ParseGroupVersion(version)
	if err != nil || !goodVersion.MatchString(version) {
		return schema.GroupVersionKind{}, errors.New(
			"apiVersion must be VERSION or GROUP/VERSION, such as v1 or cluster.x-k8s.io/v1beta2")
	}
	if !goodKind.MatchString(kind) {
		return schema.GroupVersionKind{}, errors.New("kind must be letters and digits, such as WindowsMachineTemplate")
	}
	return group.WithKind(kind), nil
}

func keyOf(content map[string]any, namespace string) (types.NamespacedName, error) {
	key := types.NamespacedName{Namespace: namespace}
	metadata, ok := content["metadata"].(map[string]any)
	if !ok && content["metadata"] != nil {
		return key, errors.New("metadata is not an object; write name: NAME in it")
	}
	for field, target := range map[string]*string{"namespace": &key.Namespace, "name": &key.Name} {
		text, ok := metadata[field].(string)
		if !ok && metadata[field] != nil {
			return key, fmt.Errorf("metadata.%s is not a text; put it in quotes", field)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || len(text) > longestName {
			return key, fmt.Errorf("metadata.%s has control characters, or more than %d bytes; "+
				"write lower-case letters, digits and dashes", field, longestName)
		}
		if text != "" {
			*target = text
		}
	}
	return key, nil
}

// nameOf names the kind of a JSON value.
func nameOf(data []byte) string {
	switch data[0] {
	case '{':
		return "an object of a wrong form"
	case '[':
		return "an array"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}
