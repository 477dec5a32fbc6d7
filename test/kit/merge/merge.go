// Package merge writes what is different into an object of a test, as a JSON merge patch does (RFC 7386): lists are replaced, and
// null takes a field away.
package merge

// Into changes an object.
func Into(into, different map[string]any) {
	for name, value := range different {
		below, isObject := value.(map[string]any)
		there, wasObject := into[name].(map[string]any)
		switch {
		case value == nil:
			delete(into, name)
		case isObject && wasObject:
			Into(there, below)
		default:
			into[name] = value
		}
	}
}
