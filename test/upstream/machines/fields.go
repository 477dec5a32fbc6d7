package machines

import (
	"bytes"
	"encoding/json"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// fieldsOf are the fields that a plan uses: of a step with its kind, as run.undo and run.diagnose.match. What is in a tree of
// others, such as a file of the kubelet, is no field of a plan.
func fieldsOf(p *plan.Plan) (map[string]bool, error) {
	data, err := p.Encode()
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	fields := map[string]bool{}
	noteFields(fields, "", tree)
	return fields, nil
}

func noteFields(fields map[string]bool, at string, node any) {
	switch node := node.(type) {
	case map[string]any:
		if kind, ok := node["do"].(string); ok {
			at = kind + "."
		}
		for key, value := range node {
			fields[at+key] = true
			switch key {
			case "body", "patch", "request", "environment", "phases", "everyBoot", "background", "steps", "logs":
				noteFields(fields, map[bool]string{true: "", false: "logs."}[key != "logs"], inner(key, value))
			default:
				noteFields(fields, at+key+".", value)
			}
		}
	case []any:
		for _, value := range node {
			noteFields(fields, at, value)
		}
	}
}

// inner is nil for what is no part of the language.
func inner(key string, value any) any {
	switch key {
	case "body", "patch", "request", "environment":
		return nil
	}
	return value
}
