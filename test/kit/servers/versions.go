package servers

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// forgetOld leaves the definitions their stored versions, but where the IPAM provider reads older ones.
func forgetOld(objects []unstructured.Unstructured) error {
	for _, o := range objects {
		if name := o.GetName(); name == "clusters.cluster.x-k8s.io" || strings.HasSuffix(name, ".ipam.cluster.x-k8s.io") {
			continue
		}
		versions, found, err := unstructured.NestedSlice(o.Object, "spec", "versions")
		if err != nil {
			return fmt.Errorf("read versions of %s: %w", o.GetName(), err)
		}
		if !found {
			continue
		}
		versions = slices.DeleteFunc(versions, func(v any) bool {
			version, ok := v.(map[string]any)
			return ok && version["storage"] != true
		})
		if err := unstructured.SetNestedSlice(o.Object, versions, "spec", "versions"); err != nil {
			return fmt.Errorf("write versions of %s: %w", o.GetName(), err)
		}
		unstructured.RemoveNestedField(o.Object, "spec", "conversion")
	}
	return nil
}
