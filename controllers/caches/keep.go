// Package caches bounds what the caches of the managers keep. Whoever may write an object chooses its size, up to what etcd
// takes, and a manager keeps all objects of its kinds, of all namespaces. Keep is the transform of all caches. Of an object that
// is still too large it keeps a stub, which IsStub recognizes. Direct reads the object itself where that is needed, and Patches
// refuses to write a whole object, because what a cache has is not all of it.
package caches

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

const (
	// MostBytes is what an object may take in a cache. Specs of our kinds have 96 KiB at most, see config/policy/object_sizes.yaml.
	MostBytes = 128 << 10
	// mostOfAnnotation is what an annotation may have that neither Cluster API nor we read.
	mostOfAnnotation = 1 << 10
	// mostOfSpec is what the spec of a WindowsMachine may have in a stub. People write far shorter ones.
	mostOfSpec = 32 << 10
	// mostNames is how many labels, annotations, owners and finalizers a stub has.
	mostNames = 32
	// largeAnnotation marks an object that is too large: as a stub, or as one that was readDirectly. The API server takes no such
	// key, so that no object brings it along.
	largeAnnotation = "too large for the cache"
	stub            = "stub"
	readDirectly    = "read directly"
)

// Keep is the transform of a cache: it drops what no controller reads, and leaves a stub of an object that is too large.
func Keep(o any) (any, error) {
	object, ok := o.(client.Object)
	if !ok || IsLarge(object) {
		return o, nil
	}
	object.SetManagedFields(nil)
	maps.DeleteFunc(object.GetAnnotations(), func(key, value string) bool {
		return key == corev1.LastAppliedConfigAnnotation || len(value) > mostOfAnnotation && !isOurs(key)
	})
	if left := MostBytes; fits(reflect.ValueOf(object), &left) {
		return object, nil
	}
	return stubOf(object), nil
}

// KeepUnrendered is the transform of a manager that renders nothing. It leaves out of a config what only the rendering reads and
// what may be large: all caches of a manager may have to bear a thousand of 96 KiB.
func KeepUnrendered(o any) (any, error) {
	if config, ok := o.(*bootstrapv1.WindowsBootstrapConfig); ok {
		config.Spec.Kubelet.Configuration = runtime.RawExtension{}
		config.Spec.Containerd = bootstrapv1.Containerd{}
		config.Spec.Windows = bootstrapv1.Windows{}
		config.Spec.Custom = bootstrapv1.Custom{}
	}
	return Keep(o)
}

// isOurs reports whether Cluster API or this provider may read a label, annotation or finalizer.
func isOurs(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == "capwin.io" || strings.HasSuffix("."+domain, ".cluster.x-k8s.io")
}

// fits takes from left what a value has in memory, beside its own fields, and reports whether there was enough. What is not
// exported, as in times, is small.
func fits(v reflect.Value, left *int) bool {
	switch v.Kind() {
	case reflect.String:
		*left -= v.Len()
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || fitsAll(left, int(v.Elem().Type().Size()), v.Elem())
	case reflect.Slice:
		*left -= v.Len() * int(v.Type().Elem().Size())
		for i := 0; i < v.Len() && *left >= 0 && v.Type().Elem().Kind() != reflect.Uint8; i++ {
			fits(v.Index(i), left)
		}
	case reflect.Map:
		fixed := int(v.Type().Key().Size() + v.Type().Elem().Size())
		for entry := v.MapRange(); *left >= 0 && entry.Next(); {
			fitsAll(left, fixed, entry.Key(), entry.Value())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fits(v.Field(i), left)
			}
		}
	}
	return *left >= 0
}

func fitsAll(left *int, fixed int, values ...reflect.Value) bool {
	*left -= fixed
	for _, v := range values {
		fits(v, left)
	}
	return *left >= 0
}

// IsLarge reports whether an object is too large for the cache.
func IsLarge(o metav1.Object) bool { return o.GetAnnotations()[largeAnnotation] != "" }

// IsStub reports whether this is what the cache has of an object that is too large for it.
func IsStub(o metav1.Object) bool { return o.GetAnnotations()[largeAnnotation] == stub }

func mark(o metav1.Object, state string) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[largeAnnotation] = state
	o.SetAnnotations(annotations)
}

// TooLarge is the sentence about an object that Large names.
const TooLarge = "%s is larger than the 128 KiB that the manager keeps of an object, and until it is smaller, nothing but a " +
	"deletion goes on; remove annotations and labels that nobody needs, and shorten the spec"

// Large names the first of these objects that is too large, such as "Cluster prod"; nothing if there is none. Some may be nil.
func Large(objects ...client.Object) string {
	for _, o := range objects {
		if v := reflect.ValueOf(o); o != nil && !v.IsNil() && IsLarge(o) {
			return v.Elem().Type().Name() + " " + o.GetName()
		}
	}
	return ""
}

// stubOf is what stays of an object: its key and version, its owners, whether it is paused, and its finalizers.
func stubOf(o client.Object) client.Object {
	kept, _ := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(o).Elem()))
	kept.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	kept.SetNamespace(o.GetNamespace())
	kept.SetName(o.GetName())
	kept.SetUID(o.GetUID())
	kept.SetResourceVersion(o.GetResourceVersion())
	kept.SetGeneration(o.GetGeneration())
	kept.SetCreationTimestamp(o.GetCreationTimestamp())
	kept.SetDeletionTimestamp(o.GetDeletionTimestamp())
	kept.SetLabels(someOf(o.GetLabels()))
	kept.SetAnnotations(someOf(o.GetAnnotations()))
	kept.SetFinalizers(first(o.GetFinalizers(), isOurs))
	kept.SetOwnerReferences(first(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return isOurs(ref.APIVersion) }))
	mark(kept, stub)
	switch o := o.(type) {
	case *clusterv1.Cluster:
		kept.(*clusterv1.Cluster).Spec.Paused = o.Spec.Paused
	case *infrav1.WindowsMachine:
		keepVM(o, kept.(*infrav1.WindowsMachine))
	}
	return kept
}

// keepVM keeps what other machines and the keepers of logins compare: which VM it is, where, by whose login, with which
// addresses.
func keepVM(o, kept *infrav1.WindowsMachine) {
	kept.Spec.ProviderID, kept.Spec.IdentityRef = o.Spec.ProviderID, o.Spec.IdentityRef
	if left := mostOfSpec; fits(reflect.ValueOf(&o.Spec), &left) {
		kept.Spec = o.Spec
	}
	kept.Status = o.Status.WhereItIs()
}

// someOf are those labels or annotations that Cluster API or we may read.
func someOf(pairs map[string]string) map[string]string {
	kept := map[string]string{}
	for _, key := range first(slices.Sorted(maps.Keys(pairs)), isOurs) {
		if len(pairs[key]) <= mostOfAnnotation {
			kept[key] = pairs[key]
		}
	}
	return kept
}

// first are the first mostNames of the names that serve.
func first[T any](names []T, serves func(T) bool) []T {
	kept := slices.DeleteFunc(slices.Clone(names), func(name T) bool { return !serves(name) })
	return slices.Clone(kept[:min(len(kept), mostNames)])
}
