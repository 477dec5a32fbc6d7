package plan

import (
	"encoding/json"
	"strings"
)

// Registry sets one value.
type Registry struct {
	Common
	// Key in full: HKEY_LOCAL_MACHINE\...
	Key string
	// ValueName is empty for the key's default value.
	ValueName string
	// Type is String when empty.
	Type RegistryType
	// Value of all types but MultiString. A number is written in digits.
	Value Value
	// Values of a MultiString.
	Values []Value
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

// registryJSON is how a Registry stands in JSON: value is one Value or a list of them, as the type says.
type registryJSON struct {
	Common
	Key       string          `json:"key"`
	ValueName string          `json:"valueName,omitempty"`
	Type      RegistryType    `json:"type,omitempty"`
	Value     json.RawMessage `json:"value"`
}

// Kind is "registry".
func (*Registry) Kind() Kind { return "registry" }

// MarshalJSON writes the value as its type wants it.
func (s *Registry) MarshalJSON() ([]byte, error) {
	var content any = s.Value
	if s.Type == RegistryMultiString {
		content = s.Values
	}
	value, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return json.Marshal(registryJSON{s.Common, s.Key, s.ValueName, s.Type, value})
}

// UnmarshalJSON reads the value as its type wants it.
func (s *Registry) UnmarshalJSON(data []byte) error {
	var read registryJSON
	if err := decodeStrict(data, &read); err != nil {
		return err
	}
	*s = Registry{Common: read.Common, Key: read.Key, ValueName: read.ValueName, Type: read.Type}
	if s.Type == RegistryMultiString {
		return decodeStrict(read.Value, &s.Values)
	}
	return decodeStrict(read.Value, &s.Value)
}

func (s *Registry) check(c *checker) {
	c.must(strings.HasPrefix(s.Key, `HKEY_LOCAL_MACHINE\`), "key", "%q must begin with HKEY_LOCAL_MACHINE\\", s.Key)
	c.oneOf("type", string(s.Type), "", string(RegistryString), string(RegistryExpandString), string(RegistryDWord),
		string(RegistryQWord), string(RegistryMultiString))
	switch s.Type {
	case RegistryMultiString:
		c.must(s.Value == nil, "value", "must be a list for a MultiString")
		for _, value := range s.Values {
			c.value("value", value)
		}
		return
	case RegistryDWord:
		c.number("value", s.Value, -1<<31, 1<<31-1)
	case RegistryQWord:
		c.number("value", s.Value, -1<<63, 1<<63-1)
	}
	c.must(s.Value != nil && s.Values == nil, "value", "must be one value for this type")
	c.value("value", s.Value)
}
