package plan

import (
	"encoding/json"
	"strings"
)

// Registry sets one value. A variable of the machine's environment, which is a String or an ExpandString, counts for the programs
// of later steps, too.
//
// Already so: the value exists with the same type and content.
type Registry struct {
	Common
	// Key in full: HKEY_LOCAL_MACHINE\...
	Key string `json:"key"`
	// ValueName is empty for the key's default value.
	ValueName string `json:"valueName,omitempty"`
	// Type is String when empty.
	Type RegistryType `json:"type,omitempty"`
	// Value of the type: a number is written in digits, a MultiString is a list of values.
	Value Value `json:"value"`
	// Values of a MultiString, instead of Value.
	Values []Value `json:"-"`
}

// RegistryType is the type of a registry value.
type RegistryType string

// The types of registry values.
const (
	RegistryString       RegistryType = "String"
	RegistryExpandString RegistryType = "ExpandString"
	RegistryDWord        RegistryType = "DWord"
	RegistryQWord        RegistryType = "QWord"
	RegistryMultiString  RegistryType = "MultiString"
)

// plainRegistry is a Registry as its tags say.
type plainRegistry Registry

// MarshalJSON writes the value as its type wants it.
func (s *Registry) MarshalJSON() ([]byte, error) {
	if s.Type != RegistryMultiString {
		return json.Marshal((*plainRegistry)(s))
	}
	return json.Marshal(struct {
		plainRegistry
		Values []Value `json:"value"`
	}{plainRegistry(*s), s.Values})
}

// UnmarshalJSON reads the value as its type wants it.
func (s *Registry) UnmarshalJSON(data []byte) error {
	var read struct {
		plainRegistry
		Value json.RawMessage `json:"value"`
	}
	if err := decodeStrict(data, &read); err != nil {
		return err
	}
	*s = Registry(read.plainRegistry)
	if s.Type == RegistryMultiString {
		return decodeStrict(read.Value, &s.Values)
	}
	return decodeStrict(read.Value, &s.Value)
}

// environmentKey is the end of the key with the machine's environment.
const environmentKey = `\session manager\environment`

func (s *Registry) check(c *checker) {
	c.machineKey("key", s.Key)
	c.oneOf("type", string(s.Type), "", string(RegistryString), string(RegistryExpandString), string(RegistryDWord),
		string(RegistryQWord), string(RegistryMultiString))
	if strings.HasSuffix(strings.ToLower(s.Key), environmentKey) {
		c.must(variable.MatchString(s.ValueName), "valueName", "%q is not a valid name of a variable", s.ValueName)
		c.must(s.Type == "" || s.Type == RegistryString || s.Type == RegistryExpandString, "type",
			"%q must be String or ExpandString for a variable", s.Type)
	}
	switch s.Type {
	case RegistryMultiString:
		c.must(s.Value == nil, "value", "must be a list for a MultiString")
		c.values("value", s.Values)
		return
	case RegistryDWord:
		c.number("value", s.Value, -1<<31, 1<<31-1)
	case RegistryQWord:
		c.number("value", s.Value, -1<<63, 1<<63-1)
	}
	c.must(s.Value != nil && s.Values == nil, "value", "must be one value for this type")
	c.value("value", s.Value)
}
