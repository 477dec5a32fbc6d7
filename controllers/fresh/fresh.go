// Package fresh lets a controller see its own writes. A cache is a moment behind: a reconcile right after a write would find the
// object as it was, report the same once more and meet a conflict. Client waits for the cache then, and Own recognizes changes
// that are only the echo of a write and need no reconcile.
package fresh

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	// pause is how long a reader waits between two reads of the cache, and patience how long in all, because it holds a worker.
	pause    = 10 * time.Millisecond
	patience = time.Second

	// memory is how long a write is remembered. A cache that is further behind may belong to an API server that was restored
	// from a backup, where versions go back.
	memory = 30 * time.Second
)

// Client reads from a cache that has what was written through this client, for objects of one kind T. All else is as the client
// does it that it was made of.
type Client[T client.Object] struct {
	client.Client
	mu      sync.Mutex
	written map[client.ObjectKey]*write
	swept   time.Time
}

// write is the last one to an object.
type write struct {
	version string // empty while it is under way, and after a conflict
	begun   time.Time
	// outdated is the version that met a conflict: the API server has a newer one.
	outdated string
	// late is true if a reader has waited for the cache in vain: the echo wakes it.
	late bool
}

// New makes a Client of another one. There must be one for all who write objects of this kind.
func New[T client.Object](base client.Client) *Client[T] {
	return &Client[T]{Client: base, written: map[client.ObjectKey]*write{}}
}

// Get waits a moment for the cache, once after a write. A cache that is late is a conflict, as a write of what it shows would be.
func (c *Client[T]) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(T); !ok {
		return c.Client.Get(ctx, key, o, options...)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err := c.Client.Get(ctx, key, o, options...); err != nil || !c.isNewer(key, o) {
			return err
		}
		if c.isLate(key, ctx.Err() != nil) {
			return apierrors.NewConflict(schema.GroupResource{}, key.Name, errors.New("the cache does not have the last write yet"))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// isLate reports whether no reader waits for the cache: one has waited in vain, or the write met a conflict, which has no echo. A
// cache that is far behind would hold all workers otherwise.
func (c *Client[T]) isLate(key client.ObjectKey, isOver bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.written[key]
	if w == nil {
		return isOver
	}
	w.late = w.late || isOver || w.outdated != ""
	return w.late
}

// isNewer reports whether something newer than what the cache has was written, by us or by whom we met a conflict with.
func (c *Client[T]) isNewer(key client.ObjectKey, o client.Object) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.written[key]
	if w == nil || time.Since(w.begun) > memory {
		return false
	}
	if w.outdated != "" && w.outdated == o.GetResourceVersion() {
		return true
	}
	order, _ := resourceversion.CompareResourceVersion(o.GetResourceVersion(), w.version) // 0 if one is not known
	return order < 0
}

// Own reports whether a change of an object is the echo of a write: the last one or, if it is a change of the status alone, one
// under way. Had another client made such a change meanwhile, the write would meet a conflict, which has its own look.
func (c *Client[T]) Own(old, now client.Object) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.written[client.ObjectKeyFromObject(now)]
	switch {
	case w == nil || w.late || w.outdated != "" || old.GetResourceVersion() == now.GetResourceVersion():
		return false
	case w.version != "":
		return w.version == now.GetResourceVersion()
	default:
		return old.GetGeneration() == now.GetGeneration() && maps.Equal(old.GetAnnotations(), now.GetAnnotations()) &&
			maps.Equal(old.GetLabels(), now.GetLabels()) && len(old.GetFinalizers()) == len(now.GetFinalizers()) &&
			len(old.GetOwnerReferences()) == len(now.GetOwnerReferences())
	}
}

// News passes all events of an object but the echo of what was written: the look that wrote it knew it.
func (c *Client[T]) News() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return !c.Own(e.ObjectOld, e.ObjectNew) }}
}

// Patch notes what was written.
func (c *Client[T]) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.note(o, func() error { return c.Client.Patch(ctx, o, patch, options...) })
}

// Status returns a writer of the status, which notes what was written.
func (c *Client[T]) Status() client.SubResourceWriter {
	return statusWriter[T]{c.Client.Status(), c}
}

type statusWriter[T client.Object] struct {
	client.SubResourceWriter
	parent *Client[T]
}

// Patch notes what was written.
func (s statusWriter[T]) Patch(
	ctx context.Context, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
) error {
	return s.parent.note(o, func() error { return s.SubResourceWriter.Patch(ctx, o, patch, options...) })
}

// note notes that a write begins, and what came of it.
func (c *Client[T]) note(o client.Object, send func() error) error {
	if _, ok := o.(T); !ok {
		return send()
	}
	key, version := client.ObjectKeyFromObject(o), o.GetResourceVersion()
	c.set(key, write{})
	err := send()
	switch {
	case apierrors.IsConflict(err):
		c.set(key, write{outdated: version})
	case err != nil:
		c.forget(key)
	default:
		c.set(key, write{version: o.GetResourceVersion()})
	}
	return err
}

func (c *Client[T]) set(key client.ObjectKey, w write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.swept) > memory {
		maps.DeleteFunc(c.written, func(_ client.ObjectKey, w *write) bool { return now.Sub(w.begun) > memory })
		c.swept = now
	}
	w.begun = now
	c.written[key] = &w
}

func (c *Client[T]) forget(key client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.written, key)
}
