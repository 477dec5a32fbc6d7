package caches

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// NewInformer makes the informers of a cache. An API server that streams its objects, as from Kubernetes 1.34 on, sends them one
// by one. Others answer a list with all of them at once, and a namespace may have hundreds that are as large as etcd takes: so
// lists come by pages, and of each page stays what the cache keeps, before the next one is asked for.
func NewInformer(
	source cache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	p := &pages{source: cache.ToListerWatcherWithContext(source)}
	return informer{cache.NewSharedIndexInformer(p, kind, resync, indexers), p}
}

// informer gives its pages the transform of the cache.
type informer struct {
	cache.SharedIndexInformer

	pages *pages
}

// SetTransform implements cache.SharedInformer.
func (i informer) SetTransform(transform cache.TransformFunc) error {
	i.pages.transform = transform
	return i.SharedIndexInformer.SetTransform(transform) //nolint:wrapcheck // because the cache looks at the answer itself
}

// pages lists by pages.
type pages struct {
	source    cache.ListerWatcherWithContext
	transform cache.TransformFunc
}

// ListWithContext implements cache.ListerWithContext. An old API server that may answer from its own cache ignores the size of a
// page, so it may not.
func (p *pages) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.Limit, options.ResourceVersion, options.ResourceVersionMatch = PageOfLarge, "", ""
	list := &internalversion.List{}
	for {
		page, err := p.source.ListWithContext(ctx, options)
		if err != nil {
			return nil, err //nolint:wrapcheck // because the reflector looks at the answer itself
		}
		if err := meta.EachListItemWithAlloc(page, func(o runtime.Object) error { return p.take(o, list) }); err != nil {
			return nil, fmt.Errorf("read a page: %w", err)
		}
		read, err := meta.ListAccessor(page)
		if err != nil {
			return nil, fmt.Errorf("read a page: %w", err)
		}
		list.ResourceVersion, options.Continue = read.GetResourceVersion(), read.GetContinue()
		if options.Continue == "" {
			return list, nil
		}
	}
}

// take adds what the cache keeps of an object.
func (p *pages) take(o runtime.Object, list *internalversion.List) error {
	if p.transform != nil {
		kept, err := p.transform(o)
		if err != nil {
			return err
		}
		o, _ = kept.(runtime.Object)
	}
	list.Items = append(list.Items, o)
	return nil
}

// List implements cache.Lister.
func (p *pages) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

// WatchWithContext implements cache.WatcherWithContext.
func (p *pages) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return p.source.WatchWithContext(ctx, options) //nolint:wrapcheck // because the reflector looks at the answer itself
}

// Watch implements cache.Watcher.
func (p *pages) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options)
}
