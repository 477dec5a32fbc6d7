package guests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// fieldOwner is the field manager of our writes. Releases that wrote no label are known by it.
	fieldOwner = "capwin"
	// markLabel tells our objects from others of their names.
	markLabel, mark = "app.kubernetes.io/managed-by", "capwin"
)

// write creates an object that is missing, and restores one of ours that was changed. The API server refuses both if somebody
// else was faster: then it has an object of that name, of another UID or a newer version.
func write(ctx context.Context, api client.Client, want *unstructured.Unstructured) error {
	there, err := read(ctx, api, want)
	if err != nil {
		return err
	}
	next, err := due(there, want)
	if err != nil || next == nil {
		return err
	}
	if there == nil {
		err = api.Create(ctx, next, client.FieldOwner(fieldOwner))
	} else {
		err = api.Update(ctx, next, client.FieldOwner(fieldOwner))
	}
	if err != nil {
		return fmt.Errorf("write %s for guests: %w", nameOf(want), err)
	}
	ctrl.LoggerFrom(ctx).Info("Wrote an object of guests' rights",
		"kind", want.GetKind(), "object", client.ObjectKeyFromObject(want))
	return nil
}

// due is what to write in place of what is there, if anything. Right content is not written if it has our label, or if it is
// somebody else's: an operator may keep the object.
func due(there, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if there == nil {
		return want.DeepCopy(), nil
	}
	right, ours := isRight(there, want), isOurs(there)
	switch {
	case right && (!ours || there.GetLabels()[markLabel] == mark):
		return nil, nil
	case !ours:
		return nil, &foreignError{want}
	default:
		return restored(there, want), nil
	}
}

// read returns nil if there is no object of this kind and name.
func read(ctx context.Context, api client.Client, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(want.GroupVersionKind())
	err := api.Get(ctx, client.ObjectKeyFromObject(want), there)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s for guests: %w", nameOf(want), err)
	}
	return there, nil
}

// isRight says whether an object has the wanted content and no other. A Namespace has none: each one is right.
func isRight(there, want *unstructured.Unstructured) bool {
	wanted := content(want)
	return len(wanted) == 0 || equality.Semantic.DeepEqual(content(there), wanted)
}

// content is what we decide about an object: all but its metadata, and what the API server sets.
func content(object *unstructured.Unstructured) map[string]any {
	kept := maps.Clone(object.Object)
	for _, key := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(kept, key)
	}
	return kept
}

// isOurs says whether capwin may write an object. A value of the label decides: people set it to give an object to us, or to take
// one from us. Without the label, an object is ours if a field of it has the value that we wrote: the API server takes fields
// from their manager that somebody else changes. The server is not trusted: GetManagedFields would log what it cannot read.
func isOurs(object *unstructured.Unstructured) bool {
	if value, has := object.GetLabels()[markLabel]; has {
		return value == mark
	}
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "managedFields") // nil where there are none
	fields, _ := value.([]any)
	return slices.ContainsFunc(fields, func(field any) bool {
		entry, _ := field.(map[string]any)
		return entry["manager"] == fieldOwner
	})
}

// restored is an object as it was read, with its UID and resourceVersion, but with the wanted content and our label.
func restored(there, want *unstructured.Unstructured) *unstructured.Unstructured {
	next := there.DeepCopy()
	if wanted := content(want); len(wanted) > 0 {
		for key := range content(there) {
			delete(next.Object, key)
		}
		maps.Copy(next.Object, wanted)
	}
	labels := next.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[markLabel] = mark
	next.SetLabels(labels)
	return next
}

// foreignError is about an object that has the name of one of ours and other content, and is somebody else's.
type foreignError struct{ object *unstructured.Unstructured }

// Error implements error.
func (e *foreignError) Error() string { return nameOf(e.object) + " is not capwin's" }

// sentence is for people.
func (e *foreignError) sentence(cluster client.ObjectKey) string {
	return fmt.Sprintf("%s in the workload cluster of Cluster %s is not capwin's and has other content%s; rename or remove it, or "+
		"set its label %s=%s to have capwin replace its content", nameOf(e.object), cluster, alone, markLabel, mark)
}

func nameOf(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}

// refused is the state after an object could not be written. If it is somebody else's, it may not limit guests, or may let them
// do more: our RoleBinding goes until that object is gone.
func (k *rights) refused(ctx context.Context, api client.Client, binding *unstructured.Unstructured, err error) (State, error) {
	foreign, ok := errors.AsType[*foreignError](err)
	if !ok {
		return closed(err)
	}
	k.settled = time.Time{}
	state := State{Why: foreign.sentence(k.cluster), NameTaken: true, Again: keep}
	err = withdraw(ctx, api, binding)
	if workload.OutOfReach(err) || ctx.Err() != nil {
		return State{}, err
	}
	if err != nil {
		state.Why += "; guests keep their RoleBinding: " + cloud.Clean(err.Error(), maxCause)
	}
	return state, nil
}

// withdraw removes our RoleBinding: no other object than the one that it has just read.
func withdraw(ctx context.Context, api client.Client, binding *unstructured.Unstructured) error {
	there, err := read(ctx, api, binding)
	if err != nil || there == nil || !isOurs(there) {
		return err
	}
	uid, version := there.GetUID(), there.GetResourceVersion()
	err = api.Delete(ctx, there, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove %s: %w", nameOf(there), err)
	}
	ctrl.LoggerFrom(ctx).Info("Removed the RoleBinding of guests: an object of their rights is somebody else's",
		"object", client.ObjectKeyFromObject(there))
	return nil
}
