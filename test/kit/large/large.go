// Package large makes objects that are too large for the cache of a manager, and reads them through one.
package large

import (
	"context"
	"reflect"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
)

// Cached is a client that has of objects what the cache of a manager has.
type Cached struct{ client.Client }

// Get implements client.Reader.
func (c Cached) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, o, options...); err != nil {
		return err
	}
	stub, err := caches.Keep(o.DeepCopyObject())
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(stub).Elem())
	return err
}

// Grow makes an object too large for a cache.
func Grow(o client.Object) {
	o.SetAnnotations(map[string]string{"cluster.x-k8s.io/notes": strings.Repeat("x", caches.MostBytes)})
}
