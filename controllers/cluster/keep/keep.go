// Package keep writes the objects of capwin that belong to a workload cluster as a whole. No other room does. It promises:
//
//   - An object is ours by the label app.kubernetes.io/managed-by=capwin, or without the label by a field that our field manager
//     holds: older versions wrote no label, and our next write adds it. Another value of the label, or neither, as after a
//     restore without managedFields, makes the object somebody else's.
//   - What is somebody else's is neither changed nor removed. Right content is accepted whoever made it: an operator may keep it.
//   - What is as it must be is not written. What is not gets one write, which the API server refuses if the object has changed
//     since it was read; so does a removal.
//   - Who undoes our writes again and again is named once, and is then answered by one write a minute at most.
package keep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster is a workload cluster during one look.
type Cluster struct {
	API client.Client
	Now time.Time
	// Past is that of the same cluster at each look.
	Past Past
	// Contested gets a sentence about an object that others change again and again, once.
	Contested func(sentence string)

	// fetched are objects by their name, and failed why those of a kind were not fetched.
	fetched map[string]*unstructured.Unstructured
	failed  map[schema.GroupVersionKind]error
}

// mostFetched are more objects than there are of a kind with our label.
const mostFetched = 20

// Fetch reads by one call a kind what would else be read by one call an object. What it does not find is asked for by itself.
func (c *Cluster) Fetch(ctx context.Context, objects []*unstructured.Unstructured) {
	c.fetched, c.failed = map[string]*unstructured.Unstructured{}, map[schema.GroupVersionKind]error{}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		if _, ok := c.failed[kind]; ok {
			continue
		}
		var found unstructured.UnstructuredList
		found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := c.API.List(ctx, &found, client.MatchingLabels{Label: Mark}, client.Limit(mostFetched))
		if class := ClassOf(err); class == Forbidden || class == TurnedDown {
			err = nil // each may be shown by itself
		}
		c.failed[kind] = err
		for i := range found.Items {
			found.Items[i].SetGroupVersionKind(kind)
			c.fetched[NameOf(&found.Items[i])] = &found.Items[i]
		}
	}
}

// Write brings an object to what it must be, by one write if it is not. Without an error it is so. Class has what an error means.
func (c *Cluster) Write(ctx context.Context, want *unstructured.Unstructured) error {
	existing, err := c.read(ctx, want)
	if err != nil {
		return err
	}
	past, next := c.Past.get(want), merged(existing, want)
	if existing != nil {
		owned, right := isOurs(existing), isRight(existing, next) || past.isAccepted(existing)
		switch {
		case right && (!owned || maps.Equal(existing.GetLabels(), next.GetLabels())):
			return nil
		case !right && !owned:
			return &ForeignError{NameOf(want)}
		}
	}
	if err := c.note(past, existing, want); err != nil {
		return err
	}
	if next, err = c.put(ctx, existing, want); err != nil {
		return fmt.Errorf("write %s: %w", want.GetKind(), err)
	}
	past.wrote(next, want, c.Now)
	ctrl.LoggerFrom(ctx).Info("Wrote an object in the workload cluster", "object", NameOf(want))
	return nil
}

// WriteAll writes objects in their order, whichever of them fail. After that no other of the same name is written: it would bind
// what is not as it must be.
func (c *Cluster) WriteAll(ctx context.Context, objects []*unstructured.Unstructured) (failures error) {
	failed := map[string]bool{}
	for _, object := range objects {
		if failed[object.GetName()] {
			continue
		}
		err := c.Write(ctx, object)
		failed[object.GetName()], failures = err != nil, errors.Join(failures, err)
	}
	return failures
}

// put returns what the API server has made of an object. A binding that binds another role is made anew: no API server takes a
// change of that (kubernetes v1.36.3, ValidateClusterRoleBindingUpdate of pkg/apis/rbac/validation).
func (c *Cluster) put(ctx context.Context, existing, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	delete(c.fetched, NameOf(want))
	if existing != nil && !reflect.DeepEqual(existing.Object["roleRef"], want.Object["roleRef"]) {
		if err := c.remove(ctx, existing); err != nil {
			return nil, err
		}
		existing = nil
	}
	made := merged(existing, want)
	if existing == nil {
		return made, c.API.Create(ctx, made, client.FieldOwner(manager))
	}
	err := c.API.Update(ctx, made, client.FieldOwner(manager))
	if apierrors.IsNotFound(err) { // which does not mean here that the kind is unknown
		err = errors.New("it was removed meanwhile")
	}
	return made, err
}

// IsThere reports whether one of the objects is there and ours.
func (c *Cluster) IsThere(ctx context.Context, objects ...*unstructured.Unstructured) (bool, error) {
	for _, object := range objects {
		if existing, err := c.read(ctx, object); err != nil || existing != nil && isOurs(existing) {
			return err == nil, err
		}
	}
	return false, nil
}

// RevokeAll removes objects, the last one first, whichever of them fail.
func (c *Cluster) RevokeAll(ctx context.Context, objects []*unstructured.Unstructured) (failures error) {
	for _, object := range slices.Backward(objects) {
		failures = errors.Join(failures, c.Revoke(ctx, object))
	}
	return failures
}

// Revoke removes an object, if it is ours: no other object than the one that it has just read. There is none of a kind that the
// API server does not know.
func (c *Cluster) Revoke(ctx context.Context, object *unstructured.Unstructured) error {
	existing, err := c.read(ctx, object)
	if ClassOf(err) == Unserved {
		return nil
	}
	if existing == nil || !isOurs(existing) {
		return err
	}
	if err := c.remove(ctx, existing); err != nil {
		return fmt.Errorf("remove %s: %w", NameOf(object), err)
	}
	delete(c.Past, NameOf(object))
	delete(c.fetched, NameOf(object))
	ctrl.LoggerFrom(ctx).Info("Removed an object from the workload cluster", "object", NameOf(object))
	return nil
}

// Probe has the API server say what it would do with a new object, and make nothing. The object is then what it would be.
func (c *Cluster) Probe(ctx context.Context, object client.Object) error {
	return c.API.Create(ctx, object, client.DryRunAll) //nolint:wrapcheck // because callers look at the answer itself
}

// read returns nil if there is no object of this kind and name.
func (c *Cluster) read(ctx context.Context, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if fetched := c.fetched[NameOf(want)]; fetched != nil {
		return fetched, nil
	}
	if err := c.failed[want.GroupVersionKind()]; err != nil {
		return nil, fmt.Errorf("list %s: %w", want.GetKind(), err)
	}
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(want.GroupVersionKind())
	err := c.API.Get(ctx, client.ObjectKeyFromObject(want), existing)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", want.GetKind(), err)
	}
	// A server may answer with another object, which a later call must not name.
	existing.SetName(want.GetName())
	existing.SetNamespace(want.GetNamespace())
	return existing, nil
}

func (c *Cluster) remove(ctx context.Context, existing *unstructured.Unstructured) error {
	uid, version := existing.GetUID(), existing.GetResourceVersion()
	err := c.API.Delete(ctx, existing, client.Preconditions{UID: &uid, ResourceVersion: &version})
	return client.IgnoreNotFound(err)
}

// merged is what a write makes of an object: its metadata as it was read, with the wanted content and labels. Where no content is
// wanted, as of a Namespace, it stays.
func merged(existing, want *unstructured.Unstructured) *unstructured.Unstructured {
	next := want.DeepCopy()
	if existing == nil {
		return next
	}
	wanted := content(next)
	next = existing.DeepCopy()
	next.SetLabels(labels.Merge(existing.GetLabels(), want.GetLabels()))
	if len(wanted) > 0 {
		maps.DeleteFunc(next.Object, func(key string, _ any) bool { return isContent(key) })
		maps.Copy(next.Object, wanted)
	}
	return next
}

// Class is what an error of this room means.
type Class string

// The classes. All but ForNow last until a person changes something.
const (
	// ForNow: another try may do it.
	ForNow Class = ""
	// Foreign: an object of somebody else has the name and other content.
	Foreign Class = "Foreign"
	// Unserved: the API server knows no such kind.
	Unserved Class = "Unserved"
	// Forbidden: the user of the kubeconfig may not.
	Forbidden Class = "Forbidden"
	// TurnedDown: the API server answers that it does not do it. Other people's admission may refuse by any code.
	TurnedDown Class = "TurnedDown"
)

// ErrSettling is for who waits until objects act that were just written.
var ErrSettling = errors.New("the API servers do not apply the new objects yet")

// ForeignError is for an object that has the kind and name of one of ours, has other content and belongs to somebody else.
type ForeignError struct{ Object string }

// Error implements error.
func (e *ForeignError) Error() string { return e.Object + " is not capwin's" }

// Taken is the kind and name of the object that an error is about; empty if the error is not Foreign.
func Taken(err error) string {
	if foreign, ok := errors.AsType[*ForeignError](err); ok {
		return foreign.Object
	}
	return ""
}

// ClassOf returns the class of an error.
func ClassOf(err error) Class {
	answer, _ := errors.AsType[*apierrors.StatusError](err)
	switch {
	case Taken(err) != "":
		return Foreign
	case apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err):
		return Unserved
	case apierrors.IsForbidden(err):
		return Forbidden
	case answer == nil:
		return ForNow
	}
	if code := answer.Status().Code; code/100 != 4 || slices.Contains(passing, code) {
		return ForNow
	}
	return TurnedDown
}

// passing are the codes of refusals that end by themselves.
var passing = []int32{http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}
