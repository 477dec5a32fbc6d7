package objects

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The sizes that config/policy/object_sizes.yaml allows.
const (
	mostOfConfiguration = 64 << 10
	mostOfSpec          = 96 << 10
)

// checkSizes refuses an object of ours as the policy object-sizes does, in its words.
func checkSizes(object Object, content map[string]any) error {
	configuration, found, err := unstructured.NestedFieldNoCopy(content, "spec", "template", "spec", "kubelet", "configuration")
	if !found || err != nil {
		configuration, _, _ = unstructured.NestedFieldNoCopy(content, "spec", "kubelet", "configuration")
	}
	if size := textBytes(configuration); size > mostOfConfiguration {
		return fmt.Errorf("%s: spec.kubelet.configuration has %d bytes, and at most %d are allowed; remove what is not a field of a "+
			"KubeletConfiguration", object, size, mostOfConfiguration)
	}
	if size := textBytes(content["spec"]); size > mostOfSpec {
		advice := "use fewer or shorter values"
		if strings.HasPrefix(object.Kind, "WindowsBootstrapConfig") {
			advice = "move the contents of files and scripts into Secrets or ConfigMaps, and refer to them with contentFrom"
		}
		return fmt.Errorf("%s: the spec has %d bytes, and at most %d are allowed; %s", object, size, mostOfSpec, advice)
	}
	return nil
}

// textBytes is the length of a value as the policy's expressions format it.
func textBytes(value any) int {
	const separator = len(", ")
	total := 0
	switch value := value.(type) {
	case nil:
		return len("null")
	case map[string]any:
		for key, entry := range value {
			total += len(strconv.Quote(key)) + len(":") + textBytes(entry) + separator
		}
		return len("{}") + max(0, total-separator)
	case []any:
		for _, entry := range value {
			total += textBytes(entry) + separator
		}
		return len("[]") + max(0, total-separator)
	case string:
		return len(strconv.Quote(value))
	case float64:
		return len(strconv.FormatFloat(value, 'f', 6, 64))
	default:
		return len(fmt.Sprint(value))
	}
}
