package workload

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/watch"
)

// Event is what a watch tells.
type Event struct {
	// Type is watch.Added, watch.Modified, watch.Deleted, or one of those below.
	Type watch.EventType `json:"type"`
	// Object is JSON, and valid until the callback returns. It is empty for the types below.
	Object json.RawMessage `json:"object"`
	// Why says why a resource is Hidden.
	Why error `json:"-"`
}

// What a watch tells beside the objects. Begun: all objects that are there follow, as if nothing had been told before. Listed:
// all of them have been told, but for those that were too large. LeftOut: an object was too large, and this is all that is
// known of it. Hidden: the API server does not have the resource, or does not show it.
const (
	Begun   watch.EventType = "BEGUN"
	Listed  watch.EventType = "LISTED"
	LeftOut watch.EventType = "LEFTOUT"
	Hidden  watch.EventType = "HIDDEN"
)
