package kubelet

import (
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

// unreadable says which field of the user's configuration has a value of another type, and what it must be. It shows no value:
// some fields have secrets.
func unreadable(raw []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return step.Invalid(configurationField, "must be an object; use fields of a KubeletConfiguration")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		// All fields at once would give the error of the first, and of a duration without its name.
		one, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err == nil {
			_, err = sigsjson.UnmarshalStrict(one, &kubeletv1.KubeletConfiguration{})
		}
		if err != nil {
			return step.Invalid(configurationField, "%s", mustBe(name, err))
		}
	}
	return step.Invalid(configurationField, "the kubelet cannot read it; use fields of a KubeletConfiguration")
}

func mustBe(name string, err error) string {
	if isDuration(name) {
		return name + ` is not a duration; write one in quotes, such as "5m" or "1h30m"`
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return name + " has a value that the kubelet cannot read; see the KubeletConfiguration of Kubernetes"
	}
	path := name
	if strings.HasPrefix(wrong.Field, name+".") {
		path = wrong.Field
	}
	is, _, _ := strings.Cut(wrong.Value, " ")
	return path + " is " + wordOf[is] + "; write " + kindOf(wrong.Type)
}

// wordOf has the types of JSON as users call them.
var wordOf = map[string]string{
	"string": "a text", "number": "a number", "bool": "true or false", "array": "a list", "object": "an object with fields",
}

func kindOf(wanted reflect.Type) string {
	switch wanted.Kind() {
	case reflect.String:
		return "a text, in quotes"
	case reflect.Bool:
		return "true or false, without quotes"
	case reflect.Slice, reflect.Array:
		return "a list, as in [a, b]"
	case reflect.Map, reflect.Struct, reflect.Pointer:
		return "an object with fields"
	}
	return "a whole number, without quotes and unit"
}

// isDuration says whether a field of the kubelet's configuration is one.
func isDuration(name string) bool {
	configuration := reflect.TypeFor[kubeletv1.KubeletConfiguration]()
	for i := range configuration.NumField() {
		field := configuration.Field(i)
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return field.Type == reflect.TypeFor[metav1.Duration]() || field.Type == reflect.TypeFor[*metav1.Duration]()
		}
	}
	return false
}
