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

// Bytes counts the bytes that are kept of what workload clusters and clouds send, by the namespace of the Clusters and machines.
// A nil one has room for everything.
type Bytes struct {
	Limits Limits

	mu   sync.Mutex
	kept map[string]int
}

// Swap counts what is kept next in place of what was kept previously, or returns false if the namespace has no room for it. The
// caller MUST drop what was kept previously in any case: it does not count any more.
func (b *Bytes) Swap(namespace string, previous, next int) (fits bool) {
	b.Give(namespace, previous)
	return b.Take(namespace, next, 0)
}

// Take counts more, or returns false if the namespace has no room for it. The caller gives the replaced bytes back afterwards, so
// that they do not count here.
func (b *Bytes) Take(namespace string, bytes, replaced int) (fits bool) {
	if b == nil || bytes == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept[namespace]+bytes > b.Bound(namespace)+replaced {
		return false
	}
	if b.kept == nil {
		b.kept = map[string]int{}
	}
	b.kept[namespace] += bytes
	return true
}

// Give counts less.
func (b *Bytes) Give(namespace string, bytes int) {
	if b == nil || bytes == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept[namespace] -= bytes; b.kept[namespace] <= 0 {
		delete(b.kept, namespace)
	}
}

// Bound is how many bytes may be kept for a namespace.
func (b *Bytes) Bound(namespace string) int {
	return b.Limits.Allowed(namespace, Clusters) * bytesOfCluster
}

// Kept is how many bytes are kept for a namespace.
func (b *Bytes) Kept(namespace string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept[namespace]
}

// Fitting returns the first of the items for which a namespace has room, and their bytes, in place of what was kept previously.
func Fitting[T any](b *Bytes, namespace string, previous int, items []T) (fitting []T, bytes int) {
	b.Give(namespace, previous)
	for i, item := range items {
		size := SizeOf(item) + bytesOfPlace
		if !b.Take(namespace, size, 0) {
			return items[:i], bytes
		}
		bytes += size
	}
	return items, bytes
}

// SizeOf is how many bytes a value refers to.
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

// Share is the part of Bytes that a namespace has. The zero value has room for everything.
type Share struct {
	bytes     *Bytes
	namespace string
}

// Share is that of a namespace.
func (b *Bytes) Share(namespace string) Share { return Share{bytes: b, namespace: namespace} }

// Namespace is the one whose share it is.
func (s Share) Namespace() string { return s.namespace }

// Take counts more, or returns false if there is no room for it.
func (s Share) Take(bytes int) (fits bool) { return s.bytes.Take(s.namespace, bytes, 0) }

// Give counts less.
func (s Share) Give(bytes int) { s.bytes.Give(s.namespace, bytes) }

// Fits reports whether there is room for more.
func (s Share) Fits(bytes int) bool {
	fits := s.Take(bytes)
	if fits {
		s.Give(bytes)
	}
	return fits
}
