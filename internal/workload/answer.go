package workload

import "encoding/json"

// What an answer may be made of, whatever its size: each of these takes far more memory when it is decoded than it has bytes. A
// list of 20 Nodes with all that kubelets write has 10,000 objects and 20,000 values, and is 12 deep.
const (
	maxDepth   = 64
	maxObjects = 30_000
	maxValues  = 150_000
)

// sound says whether an answer is JSON that can be decoded without surprise.
func sound(body []byte) bool {
	var depth, objects, values int
	var quoted, escaped bool
	for _, b := range body {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = b == '\\', b != '"'
		case b == '"':
			quoted = true
		case b == '{' || b == '[':
			depth++
			objects++
		case b == '}' || b == ']':
			depth--
		case b == ',':
			values++
		}
		if depth > maxDepth || objects > maxObjects || values > maxValues {
			return false
		}
	}
	return json.Valid(body)
}
