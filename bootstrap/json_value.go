package bootstrap

import (
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
	w.text("\n")
	return w.value, nil
}

type valueWriter struct{ value plan.Value }

// text joins what stands between two facts to one part.
func (w *valueWriter) text(text string) {
	last := len(w.value) - 1
	if last >= 0 && w.value[last].Fact == "" {
		w.value[last].Text += text
		return
	}
	w.value = append(w.value, plan.Part{Text: text})
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
	w.text(string(data))
	return err
}

func (w *valueWriter) object(fields map[string]any) error {
	between := ""
	w.text("{")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		w.text(between + string(quoted) + ":")
		if err := w.write(fields[name]); err != nil {
			return err
		}
		between = ","
	}
	w.text("}")
	return nil
}

func (w *valueWriter) list(items []any) error {
	between := ""
	w.text("[")
	for _, item := range items {
		w.text(between)
		if err := w.write(item); err != nil {
			return err
		}
		between = ","
	}
	w.text("]")
	return nil
}

func (w *valueWriter) quoted(value plan.Value) error {
	w.text(`"`)
	for _, part := range value {
		if part.Fact != "" {
			w.value = append(w.value, part)
			continue
		}
		quoted, err := json.Marshal(part.Text)
		if err != nil {
			return err
		}
		w.text(string(quoted[1 : len(quoted)-1]))
	}
	w.text(`"`)
	return nil
}
