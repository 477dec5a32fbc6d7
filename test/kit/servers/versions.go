package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// WithOldVersions runs do while one kind of Cluster API, by the name of its definition, has all of its versions, in a cluster
// whose other kinds have one. Nobody else should work meanwhile: those who watch the kind lose the connection. In a cluster that
// others use as well, the kind has them all the time.
func (m *Management) WithOldVersions(ctx context.Context, definition string, do func()) error {
	if m.guest != nil {
		return m.guest.withOldVersions(definition, do)
	}
	whole, found := m.whole[definition]
	if !found {
		return fmt.Errorf("%s is not defined in its newest version only", definition)
	}
	newest := []unstructured.Unstructured{*whole.DeepCopy()}
	if err := forgetOld(newest); err != nil {
		return err
	}
	api, err := m.client()
	if err != nil {
		return err
	}
	if err := apply(ctx, api, []unstructured.Unstructured{whole}); err != nil {
		return err
	}
	if err := served(ctx, api, whole); err != nil {
		return err
	}
	do()
	return apply(ctx, api, newest)
}

// served waits until each version can be read: a definition that was established before says nothing of new ones.
func served(ctx context.Context, api client.Client, definition unstructured.Unstructured) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(definition.Object, crd); err != nil {
		return fmt.Errorf("read definition %s: %w", definition.GetName(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{
			Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.ListKind,
		})
		if err := wait.Poll(ctx, func(ctx context.Context) error { return api.List(ctx, list, client.Limit(1)) }); err != nil {
			return err
		}
	}
	return nil
}

// definitions returns copies of those among the objects, by their names.
func definitions(objects []unstructured.Unstructured) map[string]unstructured.Unstructured {
	found := map[string]unstructured.Unstructured{}
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			found[o.GetName()] = *o.DeepCopy()
		}
	}
	return found
}

// forgetOld leaves the definitions their stored versions, but those of these names, and where the IPAM provider reads older ones.
func forgetOld(objects []unstructured.Unstructured, but ...string) error {
	but = append(but, "clusters.cluster.x-k8s.io")
	for _, o := range objects {
		if name := o.GetName(); slices.Contains(but, name) || strings.HasSuffix(name, ".ipam.cluster.x-k8s.io") {
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
