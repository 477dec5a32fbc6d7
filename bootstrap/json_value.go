package bootstrap

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// jsonValue writes a tree as JSON whose strings may be Values: a fact that only the node knows becomes a part of the
// text. Such a fact must need no quoting, as addresses do not. Equal trees give equal bytes.
func jsonValue(node any) (plan.Value, error) {
	var w valueWriter
	if err := w.write(node); err != nil {
		return nil, err
	}
	w.text.WriteString("\n")
	return append(w.value, plan.Part{Text: w.text.String()}), nil
}

// valueWriter has the parts up to the last fact, and the text behind it.
type valueWriter struct {
	value plan.Value
	text  bytes.Buffer
}

func (w *valueWriter) fact(part plan.Part) {
	w.value = append(w.value, plan.Part{Text: w.text.String()}, part)
	w.text.Reset()
}

func (w *valueWriter) write(node any) error {
	switch node := node.(type) {
	case plan.Tree:
		return w.object(node)
	case map[string]any:
		return w.object(node)
	case []any:
		return w.list(node)
	case plan.Value:
		return w.quoted(node)
	}
	data, err := json.Marshal(node)
	w.text.Write(data)
	return err
}

func (w *valueWriter) object(fields map[string]any) error {
	between := ""
	w.text.WriteString("{")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		w.text.WriteString(between)
		w.text.Write(quoted)
		w.text.WriteString(":")
		if err := w.write(fields[name]); err != nil {
			return err
		}
		between = ","
	}
	w.text.WriteString("}")
	return nil
}

func (w *valueWriter) list(items []any) error {
	between := ""
	w.text.WriteString("[")
	for _, item := range items {
		w.text.WriteString(between)
		if err := w.write(item); err != nil {
			return err
		}
		between = ","
	}
	w.text.WriteString("]")
	return nil
}

func (w *valueWriter) quoted(value plan.Value) error {
	w.text.WriteString(`"`)
	for _, part := range value {
		if part.Fact != "" {
			w.fact(part)
			continue
		}
		quoted, err := json.Marshal(part.Text)
		if err != nil {
			return err
		}
		w.text.Write(quoted[1 : len(quoted)-1])
	}
	w.text.WriteString(`"`)
	return nil
}
