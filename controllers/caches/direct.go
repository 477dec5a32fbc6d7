package caches

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// PageOfLarge is how many objects a list reads at once from an API server, if each may be large.
const PageOfLarge = 20

// places are for the reads of Direct that are under way in this process: each has an object in memory that fits no cache.
var places = make(chan struct{}, 4)

// Direct is a client that reads from the API server itself what the cache has a stub of.
type Direct struct {
	client.Client

	Live client.Reader
}

// Get implements client.Reader.
func (d Direct) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if err := d.Client.Get(ctx, key, o, options...); err != nil || !IsStub(o) {
		return err //nolint:wrapcheck // because callers look at the answer itself
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
		return d.read(ctx, key, o)
	case <-ctx.Done():
		return fmt.Errorf("wait to read a large object: %w", ctx.Err())
	}
}

// read lists, because our roles may list the objects but not get them.
func (d Direct) read(ctx context.Context, key client.ObjectKey, o client.Object) error {
	kind, err := apiutil.GVKForObject(o, d.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", key.Name, err)
	}
	list, err := d.Scheme().New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return fmt.Errorf("find the list of %s: %w", key.Name, err)
	}
	named := client.MatchingFields{metav1.ObjectNameField: key.Name}
	if err := d.Live.List(ctx, list.(client.ObjectList), client.InNamespace(key.Namespace), named); err != nil {
		return fmt.Errorf("list %s %s: %w", kind.Kind, key.Name, err)
	}
	found, err := meta.ExtractList(list)
	if err != nil || len(found) == 0 {
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(found[0]).Elem())
	o.SetManagedFields(nil)
	mark(o, readDirectly)
	return nil
}

// NewClient makes the client of a manager.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	made, err := client.New(config, options)
	return Patches{made}, err //nolint:wrapcheck // because a manager wraps it
}

// Patches is a client that changes objects by patches alone: what a cache has of them is not all, and an update would remove the
// rest. A stub cannot even be patched, because a patch writes whole lists.
type Patches struct{ client.Client }

// Update implements client.Writer.
func (Patches) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	return fmt.Errorf("%T %s is changed by patches alone", o, o.GetName())
}

// Patch implements client.Writer.
func (p Patches) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	if IsStub(o) {
		return stubError(o)
	}
	return p.Client.Patch(ctx, o, patch, options...) //nolint:wrapcheck // because callers look at the answer itself
}

// Status implements client.StatusClient.
func (p Patches) Status() client.SubResourceWriter { return patchesOfStatus{p.Client.Status()} }

type patchesOfStatus struct{ client.SubResourceWriter }

// Update implements client.SubResourceWriter.
func (patchesOfStatus) Update(_ context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	return fmt.Errorf("the status of %T %s is changed by patches alone", o, o.GetName())
}

// Patch implements client.SubResourceWriter.
func (p patchesOfStatus) Patch(
	ctx context.Context, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
) error {
	if IsStub(o) {
		return stubError(o)
	}
	return p.SubResourceWriter.Patch(ctx, o, patch, options...) //nolint:wrapcheck // because callers look at the answer itself
}

func stubError(o client.Object) error {
	return fmt.Errorf("%T %s is too large for the cache, and must be read from the API server before it is patched", o, o.GetName())
}
