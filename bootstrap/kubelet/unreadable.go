package kubelet

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	sigsjson "sigs.k8s.io/json"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// unreadable names the field of a configuration that the kubelet cannot read, and how it must be written. It reads the fields one
// by one: what a field of a duration returns does not have its name.
func unreadable(fields map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		raw, err := json.Marshal(map[string]any{name: fields[name]})
		if err == nil {
			_, err = sigsjson.UnmarshalStrict(raw, &kubeletv1.KubeletConfiguration{})
		}
		if err != nil {
			path, want := wanted(name, err)
			return step.Invalid(configurationField, "the kubelet cannot read %s: it must be %s", path, want)
		}
	}
	return step.Invalid(configurationField, "the kubelet cannot read the configuration; use fields of a KubeletConfiguration")
}

// wanted is the path of a field, and what belongs there.
func wanted(name string, err error) (path, want string) {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case isDuration(name):
		return name, "a duration in quotes, such as 30s"
	case ok:
		return cmp.Or(wrong.Field, name), inWords(wrong.Type)
	}
	return name, "a quantity, such as 1Gi"
}

// isDuration reports whether a field of the configuration has a time; the decoder's error only has that it wants a text.
func isDuration(name string) bool {
	for field := range reflect.TypeFor[kubeletv1.KubeletConfiguration]().Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name {
			return field.Type == reflect.TypeFor[metav1.Duration]() || field.Type == reflect.TypeFor[*metav1.Duration]()
		}
	}
	return false
}

// inWords is what a value of a type is called in YAML.
func inWords(kind reflect.Type) string {
	switch kind.Kind() {
	case reflect.String:
		return "a text; put it in quotes"
	case reflect.Bool:
		return "true or false, without quotes"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object with fields"
	}
	return "a number, without quotes"
}
