package placement

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// fieldOwner is whose an object is: one that it has never written is not ours, whatever its name is.
const fieldOwner = "capwin"

// ownKinds are the kinds of our objects, by their resource.
var ownKinds = map[string]string{
	"validatingadmissionpolicies":       "ValidatingAdmissionPolicy",
	"validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
	"mutatingadmissionpolicies":         "MutatingAdmissionPolicy",
	"mutatingadmissionpolicybindings":   "MutatingAdmissionPolicyBinding",
}

// watched is what is watched of each cluster: our own objects, and what decides where pods go.
var watched = func() (all []workload.Resource) {
	for _, name := range slices.Sorted(maps.Keys(ownKinds)) {
		all = append(all, workload.Resource{
			Group: "admissionregistration.k8s.io", Version: "v1", Name: name, Labels: policies.Label + "=" + policies.LabelValue,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, workload.Resource{Group: "apps", Version: "v1", Name: name})
	}
	return append(all, dnsService, workload.Resource{Version: "v1", Name: nodes},
		workload.Resource{Group: "node.k8s.io", Version: "v1", Name: classes})
}()

// ownObject is one that we write, as it should be.
type ownObject struct {
	*unstructured.Unstructured
	resource string
	// key and digest are those of its brief.
	key, digest string
}

func ownObjects(objects ...*unstructured.Unstructured) (all []ownObject) {
	for _, o := range objects {
		one := ownObject{Unstructured: o, key: keyOf(o.GetKind(), o.GetName()), digest: digest(o.Object)}
		for resource, kind := range ownKinds {
			if kind == o.GetKind() {
				one.resource = resource
			}
		}
		all = append(all, one)
	}
	return all
}

func keyOf(kind, name string) string { return kind + " " + name }

// String is what people call it.
func (o ownObject) String() string { return o.key }

// ownBrief is what is kept of an object with one of our names.
type ownBrief struct {
	Ours   bool
	Digest string
}

// briefOwn is for the watch of a kind.
func briefOwn(kind string) func(object []byte) (key string, text []byte, err error) {
	return func(object []byte) (key string, text []byte, err error) {
		var o unstructured.Unstructured
		if err := json.Unmarshal(object, &o.Object); err != nil {
			return "", nil, err
		}
		text, err = json.Marshal(briefOf(&o))
		return keyOf(kind, o.GetName()), text, err
	}
}

// ownBrief is what the watches have told of one of our objects.
func (v *view) ownBrief(o ownObject) (b ownBrief) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if text := v.own[o.resource].objects[o.key].text; text != nil {
		_ = json.Unmarshal(text, &b) // we have written it
	}
	return b
}

// noteOwn keeps what a write has told, before a watch does.
func (v *view) noteOwn(o ownObject, b ownBrief) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.released {
		return
	}
	text, _ := json.Marshal(b) // it always can
	v.own[o.resource].keep(o.key, text)
}

func briefOf(o *unstructured.Unstructured) ownBrief { return ownBrief{isOurs(o), digest(o.Object)} }

// isOurs reads what may be anything, of which the reader of the types' own package would write it into the log.
func isOurs(o *unstructured.Unstructured) bool {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "managedFields") // nil where there are none
	fields, _ := value.([]any)
	return slices.ContainsFunc(fields, func(field any) bool {
		of, _ := field.(map[string]any)
		return of["manager"] == fieldOwner
	})
}

// digest is that of an object without what others may add to it: its labels and annotations, what the API server sets, and its
// status.
func digest(object map[string]any) string {
	content := maps.Clone(object)
	for _, key := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, key)
	}
	label, _, _ := unstructured.NestedString(object, "metadata", "labels", policies.Label) // else it is not as it should be
	text, _ := json.Marshal([]any{label, withoutDefaults(content)})                        // it came from JSON
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// defaults are what an API server sets where we say nothing (kubernetes v1.36.3, pkg/apis/admissionregistration/v1/defaults.go).
// What another one sets beside them is accepted as it answers our write.
var defaults = map[string]any{"matchPolicy": "Equivalent", "scope": "*"}

func withoutDefaults(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, one := range v {
			if one = withoutDefaults(one); one != nil && defaults[key] != one {
				kept[key] = one
			}
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		kept := make([]any, 0, len(v))
		for _, one := range v {
			kept = append(kept, withoutDefaults(one))
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	}
	return value
}

// write brings an object to what it should be, by one write if it is not. It returns what stands there then.
func write(
	ctx context.Context, api client.Client, o ownObject, isRight func(ownBrief) bool,
) (b ownBrief, written bool, err error) {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(o.GroupVersionKind())
	err = api.Get(ctx, client.ObjectKeyFromObject(o), there)
	switch {
	case apierrors.IsNotFound(err):
		made := o.DeepCopy()
		err := api.Apply(ctx, client.ApplyConfigurationFromUnstructured(made), client.FieldOwner(fieldOwner))
		return briefOf(made), err == nil, err
	case err != nil:
		return ownBrief{}, false, err
	case !isOurs(there):
		return briefOf(there), false, &foreignError{o}
	case isRight(briefOf(there)):
		return briefOf(there), false, nil
	}
	// A replacement takes away what others have added. The server refuses it if the object has changed since.
	next := o.DeepCopy()
	next.SetUID(there.GetUID())
	next.SetResourceVersion(there.GetResourceVersion())
	next.SetOwnerReferences(there.GetOwnerReferences())
	next.SetFinalizers(there.GetFinalizers())
	next.SetLabels(merged(there.GetLabels(), o.GetLabels()))
	next.SetAnnotations(there.GetAnnotations())
	err = api.Update(ctx, next, client.FieldOwner(fieldOwner))
	return briefOf(next), err == nil, err
}

func merged(theirs, ours map[string]string) map[string]string {
	all := maps.Clone(theirs)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, ours)
	return all
}

// foreignError says that an object with one of our names is somebody else's.
type foreignError struct{ object ownObject }

// Error is a sentence for people.
func (e *foreignError) Error() string {
	return e.object.String() + " was not made by capwin, so it is left alone; rename or remove it"
}

// remove removes an object, if it is ours.
func remove(ctx context.Context, api client.Client, o ownObject) error {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(o.GroupVersionKind())
	err := api.Get(ctx, client.ObjectKeyFromObject(o), there)
	if err != nil || !isOurs(there) {
		return client.IgnoreNotFound(err)
	}
	uid := there.GetUID()
	return client.IgnoreNotFound(api.Delete(ctx, there, client.Preconditions{UID: &uid}))
}
