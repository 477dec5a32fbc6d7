package tenants

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
