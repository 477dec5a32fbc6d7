package tenants

import (
	"reflect"
	"sync"
)

const (
	// bytesOfCluster are kept for each workload cluster that a namespace may be connected to: 32 MiB where nothing is lifted.
	bytesOfCluster = 512 << 10
	// bytesOfPlace are what a list or a table takes for an item beside the item itself.
	bytesOfPlace = 512
)

// Bytes counts the bytes that are kept of what workload clusters send, by the namespace of their Clusters. A nil one has room for
// everything.
type Bytes struct {
	Limits Limits

	mu   sync.Mutex
	kept map[string]int
}

// Swap counts what is kept next in place of what was kept previously, or returns false if the namespace has no room for it. What
// was kept previously MUST go in any case: it counts no more.
func (b *Bytes) Swap(namespace string, previous, next int) (fits bool) {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := b.kept[namespace] - previous
	if fits = sum+next <= b.Limits.Allowed(namespace, Clusters)*bytesOfCluster; fits {
		sum += next
	}
	if b.kept == nil {
		b.kept = map[string]int{}
	}
	if b.kept[namespace] = sum; sum == 0 {
		delete(b.kept, namespace)
	}
	return fits
}

// Fitting returns the first of the items for which a namespace has room, and their bytes, in place of what was kept previously.
func Fitting[T any](b *Bytes, namespace string, previous int, items []T) (fitting []T, bytes int) {
	b.Swap(namespace, previous, 0)
	for i, item := range items {
		size := SizeOf(item) + bytesOfPlace
		if !b.Swap(namespace, 0, size) {
			return items[:i], bytes
		}
		bytes += size
	}
	return items, bytes
}

// SizeOf is how many bytes all has that a value refers to.
func SizeOf(value any) int { return sizeOf(reflect.ValueOf(value)) }

func sizeOf(v reflect.Value) (bytes int) {
	width := func(t reflect.Type) int { return int(t.Size()) }
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			bytes = width(v.Elem().Type()) + sizeOf(v.Elem())
		}
	case reflect.Slice:
		bytes = v.Cap() * width(v.Type().Elem())
		for i := range v.Len() {
			bytes += sizeOf(v.Index(i))
		}
	case reflect.Map:
		for key, value := range v.Seq2() { // half of a table may be free
			bytes += 2*(width(key.Type())+width(value.Type())) + sizeOf(key) + sizeOf(value)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			bytes += sizeOf(field)
		}
	default:
	}
	return bytes
}
