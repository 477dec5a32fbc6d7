package servers

import (
	"fmt"
	"regexp"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::[=-]([^}]*))?\}`)

// substitute fills in ${NAME}, ${NAME:=default} and ${NAME:-default} as clusterctl does. A variable without value and
// default is an error.
func substitute(text string, values map[string]string) (string, error) {
	var missing []string
	filled := variable.ReplaceAllStringFunc(text, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		name, fallback := parts[1], parts[2]
		if value, ok := values[name]; ok {
			return value
		}
		if found == "${"+name+"}" {
			missing = append(missing, name)
		}
		return fallback
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("substitute variables: no value for %v", missing)
	}
	return filled, nil
}
