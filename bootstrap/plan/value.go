package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Value is a text that may contain facts, which only the node can measure. In JSON it is a string, or a list of parts, each a
// string or {"fact": name}. Nil means absent, which differs from the empty text.
type Value []Part

// Part is a piece of a Value: literal text, or the name of a fact.
type Part struct {
	Text string
	Fact string
}

// Text is a Value that is the same on every node.
func Text(text string) Value { return Value{{Text: text}} }

// FromFact is a Value that only the node knows.
func FromFact(name string) Value { return Value{{Fact: name}} }

// Parts joins Values into one.
func Parts(values ...Value) Value {
	var joined Value
	for _, value := range values {
		joined = append(joined, value...)
	}
	return joined
}

// Say is a sentence with a measured fact in its place.
func Say(prefix, fact, suffix string) Value { return Parts(Text(prefix), FromFact(fact), Text(suffix)) }

// Texts makes a list of Values.
func Texts(texts ...string) []Value {
	values := make([]Value, 0, len(texts))
	for _, text := range texts {
		values = append(values, Text(text))
	}
	return values
}

// String shows a Value to people, with facts in angle brackets.
func (v Value) String() string { return v.join(func(fact string) string { return "<" + fact + ">" }) }

func (v Value) hasFact() bool {
	return slices.ContainsFunc(v, func(part Part) bool { return part.Fact != "" })
}

// sample is the text with a harmless character in place of every fact.
func (v Value) sample() string { return v.join(func(string) string { return "0" }) }

func (v Value) join(show func(fact string) string) string {
	var text strings.Builder
	for _, part := range v {
		text.WriteString(part.Text)
		if part.Fact != "" {
			text.WriteString(show(part.Fact))
		}
	}
	return text.String()
}

// MarshalJSON writes a string where there is no fact, else the list of parts.
func (v Value) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return []byte("null"), nil
	}
	if len(v) == 1 && v[0].Fact == "" {
		return json.Marshal(v[0].Text)
	}
	return json.Marshal([]Part(v))
}

// UnmarshalJSON also takes a whole number, which stands for its digits: a port is easier to read that way.
func (v *Value) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "null":
		*v = nil
		return nil
	case data[0] == '[':
		var parts []Part
		if err := json.Unmarshal(data, &parts); err != nil {
			return err
		}
		if *v = parts; len(parts) == 0 {
			*v = Text("")
		}
		return nil
	case data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*v = Text(text)
		return nil
	}
	if !valueNumber.Match(data) {
		return fmt.Errorf("a value must be a string, a list of parts or a whole number of at most 18 digits, not %s", data)
	}
	*v = Text(string(data))
	return nil
}

// MarshalJSON writes a string or {"fact": name}.
func (p Part) MarshalJSON() ([]byte, error) {
	if p.Fact == "" {
		return json.Marshal(p.Text)
	}
	return json.Marshal(map[string]string{"fact": p.Fact})
}

// UnmarshalJSON refuses an object that is not exactly {"fact": name}.
func (p *Part) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &p.Text)
	}
	var fact map[string]string
	if err := json.Unmarshal(data, &fact); err != nil || len(fact) != 1 || fact["fact"] == "" {
		return fmt.Errorf(`a part must be a string or {"fact": name}, not %s`, data)
	}
	p.Fact = fact["fact"]
	return nil
}

// Tree is a JSON object in which a leaf {"fact": name} stands for the fact's value.
type Tree map[string]any

// UnmarshalJSON keeps all digits of a number.
func (t *Tree) UnmarshalJSON(data []byte) error { return decodeTree(data, (*map[string]any)(t)) }

// FactLeaf is a leaf of a Tree that only the node knows.
func FactLeaf(name string) map[string]any { return map[string]any{"fact": name} }

// leafFact says whether a node of a tree is {"fact": name}.
func leafFact(node map[string]any) (string, bool) {
	if len(node) != 1 {
		return "", false
	}
	name, ok := node["fact"].(string)
	return name, ok
}
