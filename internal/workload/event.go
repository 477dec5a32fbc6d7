package workload

import (
	"bytes"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/watch"
)

// Event is what a watch tells.
type Event struct {
	// Type is watch.Added, watch.Modified, watch.Deleted, or one of those below.
	Type watch.EventType `json:"type"`
	// Object is JSON, and valid until the callback returns. It is empty for the types below.
	Object json.RawMessage `json:"object"`
	// Of is the NAMESPACE/NAME of what was LeftOut, if its first bytes say so, and Gone says that it was deleted.
	Of   string `json:"-"`
	Gone bool   `json:"-"`
	// Why says why a resource is Hidden.
	Why error `json:"-"`
}

// What a watch tells beside the objects. Begun: all objects that are there follow, as if nothing had been told before. Listed:
// all of them have been told, but for those that were too large. LeftOut: an object was too large, and only its name is
// known. Hidden: the API server does not have the resource, or does not show it.
const (
	Begun   watch.EventType = "BEGUN"
	Listed  watch.EventType = "LISTED"
	LeftOut watch.EventType = "LEFTOUT"
	Hidden  watch.EventType = "HIDDEN"
)

// leftOut is the event of an object that is too large, of which the first bytes are at hand: an API server writes its name and
// its namespace first.
func leftOut(head []byte) Event {
	e := Event{Type: LeftOut}
	var path []string // of objects, by the key of each
	var key, name, namespace string
	isKey := []bool{}
	for decoder := json.NewDecoder(bytes.NewReader(head)); ; {
		token, err := decoder.Token()
		if err != nil {
			return e
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				path, isKey = append(path, key), append(isKey, t == '{')
				key = ""
				continue
			}
			path, isKey = path[:len(path)-1], isKey[:len(isKey)-1]
		case string:
			if len(isKey) > 0 && isKey[len(isKey)-1] && key == "" {
				key = t
				continue
			}
			switch where := strings.Join(append(path, key), "."); where {
			case ".type":
				e.Gone = t == string(watch.Deleted)
			case ".object.metadata.name":
				name = t
			case ".object.metadata.namespace":
				namespace = t
			case ".object.metadata.uid":
				e.Of = namespace + "/" + name
				return e
			}
		}
		key = ""
	}
}
