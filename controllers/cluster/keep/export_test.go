package keep

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// For the tests of this room.
var (
	IsOurs      = isOurs
	LastManager = lastManager
)

// IsRight says whether an object is what a write would make of it.
func IsRight(there, want *unstructured.Unstructured) bool { return isRight(there, merged(there, want)) }

// Wrote is what a write has made of an object.
func (p Past) Wrote(made, want *unstructured.Unstructured, now time.Time) {
	p.get(want).wrote(made, want, now)
}

// IsAccepted says whether an object has the content that the server has made of the wanted one.
func (p Past) IsAccepted(there, want *unstructured.Unstructured) bool {
	return p.get(want).isAccepted(there)
}
