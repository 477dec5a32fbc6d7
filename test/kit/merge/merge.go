// Package merge is JSON merge patch (RFC 7386): lists are replaced, and null takes a field away.
package merge

// Into changes an object by a patch.
func Into(object, patch map[string]any) {
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(object, name)
		case map[string]any:
			below, is := object[name].(map[string]any)
			if !is {
				below = map[string]any{}
				object[name] = below
			}
			Into(below, value)
		default:
			object[name] = value
		}
	}
}
