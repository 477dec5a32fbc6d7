package agent

import (
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// resolve puts the facts into a value. An unknown fact is an error.
func (r *run) resolve(value plan.Value) (string, error) {
	var text strings.Builder
	for _, part := range value {
		if part.Fact == "" {
			text.WriteString(part.Text)
			continue
		}
		found, ok := r.facts[part.Fact]
		if !ok {
			return "", fmt.Errorf("fact '%s' is not known", part.Fact)
		}
		text.WriteString(found)
	}
	return text.String(), nil
}

// resolveTree is a copy of a node of a tree with the facts in the places of its leaves.
func (r *run) resolveTree(node any) (any, error) {
	switch node := node.(type) {
	case map[string]any:
		if name, ok := node["fact"].(string); ok && len(node) == 1 {
			return r.resolve(plan.FromFact(name))
		}
		resolved := make(map[string]any, len(node))
		for key, child := range node {
			var err error
			if resolved[key], err = r.resolveTree(child); err != nil {
				return nil, err
			}
		}
		return resolved, nil
	case []any:
		resolved := make([]any, len(node))
		for i, child := range node {
			var err error
			if resolved[i], err = r.resolveTree(child); err != nil {
				return nil, err
			}
		}
		return resolved, nil
	}
	return node, nil
}
